"""Reads the memory over time that memory_profiler's `mprof run` writes, with its function marks.

A line is `MEM MiB TIME`, `CHLD NUMBER MiB TIME` of a child process, `FUNC NAME MiB TIME MiB TIME
LEVEL` of one call of a function with @profile, or `CMDLINE WORDS`. Times are seconds since 1970.
"""

import math
import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import field
from pathlib import Path

import numpy as np

from perfscope.arrays import Ints
from perfscope.errors import UnreadableInputError
from perfscope.readers.common import texts
from perfscope.readers.common.blocks import blocks
from perfscope.readers.common.tool_reports import not_told_of_memory
from perfscope.readers.detect import Reader, ReadOptions, Tells
from perfscope.schema.enums import EndKind, PhaseKind
from perfscope.structures import dataclass
from perfscope.trace.model import (
    PHASE_DTYPE,
    Communicator,
    Ending,
    Format,
    Rank,
    Trace,
)
from perfscope.trace.samples import CALL_SAMPLE_DTYPE, PROCESS_SAMPLE_DTYPE, TREE_SAMPLE_DTYPE
from perfscope.units import counted

FIRST_LINE = re.compile(rb"CMDLINE |(MEM|FUNC \S+|CHLD \d+) [\d.]+ \d+\.\d+\s")
MIB = 1 << 20
MOST_MIB, LATEST_S = 1e9, 4e9
LONGEST_LINE = 1 << 16
MOST_LINES, MOST_BYTES = 5_000_000, 1 << 28
"""Five days of ten samples a second; each line is kept in Python."""
NOT_RECORDED = not_told_of_memory("memory_profiler")


@dataclass
class _Contents:
    """What the lines say; times in ns since 1970, memory in bytes."""

    command: tuple[str, ...] = ()
    memory: list[tuple[int, int]] = field(default_factory=list)
    children: dict[int, list[int]] = field(default_factory=lambda: defaultdict(list))
    calls: list[tuple[int, int, str, int, int]] = field(default_factory=list)
    left_out: int = 0


def _open(paths: Sequence[Path], _: ReadOptions) -> Trace:
    """The process that a file tells of.

    Raises:
        UnreadableInputError: it holds no memory at any time.
    """
    path = paths[0]
    notes: list[str] = []
    contents = _contents(path, notes)
    if not contents.memory:
        raise UnreadableInputError(
            f"{path} holds no memory at any time.",
            why="Lines of memory begin with MEM and tell MiB and seconds since 1970.",
            action="Record again: mprof run python program.py",
        )
    if contents.left_out:
        notes.append(
            f"{path.name}: left out {counted(contents.left_out, 'line')} that memory_profiler does "
            "not write so."
        )
    moments = [moment for moment, _ in contents.memory]
    moments += [moment for call in contents.calls for moment in call[:2]]
    origin, end = min(moments), max(moments)
    names: dict[str, int] = {"": 0}
    rank = _rank(contents, origin, end, names)
    return Trace(
        command=contents.command,
        origin_unix_ns=origin,
        wall_ns=end - origin,
        world_size=1,
        ranks=[rank],
        names=list(names),
        communicators=[Communicator(0, (0,), -1)],
        notes=notes,
        source=str(path),
        format=Format.MPROF,
        not_recorded=NOT_RECORDED,
    )


def _contents(path: Path, notes: list[str]) -> _Contents:
    found, rest = _Contents(), b""
    read = taken = 0
    for block in blocks(path, notes.append):
        *lines, rest = (rest + block).split(b"\n")
        read, taken = read + len(block), taken + len(lines)
        if read > MOST_BYTES or taken > MOST_LINES:
            raise UnreadableInputError(
                f"{path} is too long.",
                why=f"At most {MOST_LINES:,} lines and {MOST_BYTES:,} bytes are read.",
                action="Record with fewer samples: mprof run --interval 1 python program.py",
            )
        for line in lines:
            _take(found, line)
        if len(rest) > LONGEST_LINE:
            found.left_out += 1
            rest = b""
    if rest:  # half a number is another number
        notes.append(f"{path.name} ends in the middle of a line, which is left out.")
    return found


def _take(found: _Contents, line: bytes) -> None:
    kind, _, told = line.decode("utf-8", "replace").strip().partition(" ")
    words = told.split()
    try:
        if kind == "MEM" and len(words) == 2:
            found.memory.append((_ns(words[1]), _bytes(words[0])))
        elif kind == "CHLD" and len(words) == 3:
            _ns(words[2])
            # children are looked at right after their parent
            if found.memory:
                found.children[len(found.memory) - 1].append(_bytes(words[1]))
        elif kind == "FUNC" and len(words) == 6:
            name, before, began, after, ended, _ = words
            call = (_ns(began), _ns(ended), name, _bytes(before), _bytes(after))
            if call[0] > call[1]:
                raise ValueError(told)
            found.calls.append(call)
        elif kind == "CMDLINE":
            found.command = texts.words(told)
        elif line.strip():
            found.left_out += 1
    except ValueError:
        found.left_out += 1


def _ns(text: str) -> int:
    """Raises ValueError where it is no time."""
    seconds = float(text)
    if not 0 < seconds < LATEST_S:
        raise ValueError(text)
    return round(seconds * 1e6) * 1000


def _bytes(text: str) -> int:
    """Raises ValueError where it is no amount of memory."""
    size = float(text)
    if not (math.isfinite(size) and 0 <= size < MOST_MIB):
        raise ValueError(text)
    return round(size * MIB)


def _rank(contents: _Contents, origin: int, end: int, names: dict[str, int]) -> Rank:
    ending = Ending(EndKind.EXITED, source="the end of the file")
    rank = Rank(0, "", 0, 0, end - origin, main_tid=0, ending=ending)
    rank.process_samples = np.zeros(len(contents.memory), PROCESS_SAMPLE_DTYPE)
    rank.process_samples["t"] = [moment - origin for moment, _ in contents.memory]
    rank.process_samples["rss_bytes"] = [size for _, size in contents.memory]
    rank.process_samples["blocked"] = -1
    rank.tree_samples = np.zeros(len(contents.children), TREE_SAMPLE_DTYPE)
    for row, (place, sizes) in zip(rank.tree_samples, contents.children.items(), strict=True):
        moment, size = contents.memory[place]
        row["t"], row["own_bytes"] = moment - origin, size
        row["descendants_bytes"], row["descendants"] = sum(sizes), len(sizes)
    for table in ("process_samples", "tree_samples"):
        getattr(rank, table).sort(order="t", kind="stable")
    _add_calls(rank, contents, origin, names)
    return rank


def _add_calls(rank: Rank, contents: _Contents, origin: int, names: dict[str, int]) -> None:
    """Marked functions as phases, and what their calls kept as sums over them."""
    calls = sorted(contents.calls)
    began, ended, called, before, after = zip(*calls, strict=True) if calls else ((),) * 5
    for name in called:
        names.setdefault(name, len(names))
    numbers = np.array([names[name] for name in called], np.int64)
    count, kept = _sums_by_name(numbers, np.array(after, np.int64) - np.array(before, np.int64))
    rank.phases = np.zeros(len(calls), PHASE_DTYPE)
    rank.phases["kind"], rank.phases["step"], rank.phases["epoch"] = PhaseKind.USER, -1, -1
    rank.phases["t0"], rank.phases["t1"] = np.array(began) - origin, np.array(ended) - origin
    rank.phases["name"] = numbers
    rows = rank.call_samples = np.zeros(len(calls), CALL_SAMPLE_DTYPE)
    rows["t"], rows["name"], rows["private_bytes"] = rank.phases["t1"], numbers, after
    rows["calls"] = rows["measured"] = count
    rows["kept_bytes"] = kept
    rank.call_samples.sort(order="t", kind="stable")


def _sums_by_name(numbers: Ints, kept: Ints) -> tuple[Ints, Ints]:
    """How many calls of its name there were up to each call, and what they kept."""
    order = np.argsort(numbers, kind="stable")
    is_first = np.diff(numbers[order], prepend=-1) != 0
    begins = np.flatnonzero(is_first)[np.cumsum(is_first) - 1]
    total = np.cumsum(kept[order])
    count, sums = np.empty_like(numbers), np.empty_like(numbers)
    count[order] = np.arange(len(order)) - begins + 1
    sums[order] = total - total[begins] + kept[order][begins]
    return count, sums


READER = Reader(
    format=Format.MPROF,
    description="memory over time from memory_profiler (mprof run, .dat)",
    recognizes=lambda place: not place.is_directory and FIRST_LINE.match(place.head) is not None,
    open=_open,
    tells=Tells(
        phases="functions with @profile",
        resources="memory of a process and its children, by call",
        clock="yes",
    ),
)
