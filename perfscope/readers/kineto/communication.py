"""Kernels that communicate and are in no list: those that the user names, or that look so."""

import re
from collections.abc import Sequence
from dataclasses import replace
from fnmatch import fnmatchcase

import numpy as np

from perfscope.arrays import Floats
from perfscope.readers.kineto.file import GroupArguments, KinetoContents
from perfscope.trace.devices import DeviceKind
from perfscope.trace.elsewhere import ask
from perfscope.trace.model import Rank, Table
from perfscope.units import format_share

_WORDS = re.compile(
    r"(reduce|gather|scatter|all.?2.?all|all.?to.?all|a2a|dispatch|combine|exchange|broadcast|send|"
    r"recv|put|barrier|notify)",
    re.IGNORECASE,
)
"""What kernels that communicate are called after; many that compute are, too."""
LARGE_SHARE = 0.02
"""Of the time of all kernels: a kernel below this changes no verdict."""
TOGETHER_SHARE = 0.1
"""Of a kernel's length: so close do the ends of one lie on all ranks that they waited."""
ENOUGH_KERNELS = 5
MOST_SHOWN = 3


def named_by_user(contents: KinetoContents, globs: Sequence[str]) -> KinetoContents:
    """The file with kernels of names that match a glob as communication of all ranks."""
    if not globs or not len(contents.device):
        return contents
    names = np.zeros(len(contents.names), np.bool_)
    for place in np.unique(contents.device["name"]).tolist():
        names[place] = any(fnmatchcase(contents.names[place], glob) for glob in globs)
    device = contents.device.copy()
    chosen = names[device["name"]] & (device["kind"] == DeviceKind.COMPUTE)
    device["kind"][chosen] = DeviceKind.COMMUNICATION
    device["comm"][chosen] = len(contents.groups)
    return replace(
        contents, device=device, groups=[*contents.groups, GroupArguments("", "", -1, -1, 0)]
    )


def look_like_communication(ranks: Sequence[Rank], names: Sequence[str]) -> list[str]:
    """A note on large kernels that are called like communication and end together on all ranks."""
    activities = [rank.devices for rank in ranks if rank.devices is not None]
    if len(activities) < 2:
        return []
    sums = ask(_computing, activities, [len(names)] * len(activities))
    lengths = np.sum(sums, axis=0)
    spent = float(lengths.sum())
    found = []
    for name in np.flatnonzero((sums[0] > 0) & (lengths >= LARGE_SHARE * spent)).tolist():
        if not _WORDS.search(_function(names[name])):
            continue
        if _end_together(ask(_computing_as, activities, [name] * len(activities))):
            found.append((float(lengths[name]) / spent, names[name]))
    if not found:
        return []
    shown = ", ".join(f"`{name[:60]}`" for _, name in sorted(found, reverse=True)[:MOST_SHOWN])
    share = sum(part for part, _ in found)
    note = (
        f"{len(found)} kernels, {format_share(share)} of all kernel time, count as computation, "
        f"but are called like communication and end together on all ranks: {shown}. If they "
        "communicate, say so: --communication 'GLOB'."
    )
    return [note]


def _computing(rows: Table, names: int) -> Floats:
    """How long kernels of each name computed together, in ns; whole numbers."""
    computing = rows[rows["kind"] == DeviceKind.COMPUTE]
    lengths = computing["t1"] - computing["t0"]
    return np.bincount(computing["name"], lengths, names).astype(np.float64)


def _computing_as(rows: Table, name: int) -> Table:
    """The rows of kernels of one name that compute."""
    found: Table = rows[(rows["name"] == name) & (rows["kind"] == DeviceKind.COMPUTE)]
    return found


def _function(kernel: str) -> str:
    """The name of a kernel without the parameters of its template."""
    return re.split(r"[<(]", kernel.replace("(anonymous namespace)", ""), maxsplit=1)[0]


def _end_together(tables: Sequence[Table]) -> bool:
    """Whether a kernel ends on all ranks at one time, though it does not begin so."""
    count = len(tables[0])
    if count < ENOUGH_KERNELS or any(len(rows) != count for rows in tables):
        return False
    ends = np.stack([rows["t1"] for rows in tables])
    starts = np.stack([rows["t0"] for rows in tables])
    apart = float(np.median(np.ptp(ends, axis=0)))
    length = float(np.median(ends - starts))
    return apart <= TOGETHER_SHARE * length and apart < float(np.median(np.ptp(starts, axis=0)))
