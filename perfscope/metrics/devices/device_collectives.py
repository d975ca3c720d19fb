"""Collectives that run as kernels: who came last, and how much of the kernels was waiting."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from perfscope.arrays import Bools, Ints
from perfscope.attribution.preparation import Prepared
from perfscope.attribution.soundness import why_of_unknown_size
from perfscope.matching.pool import dense
from perfscope.structures import dataclass
from perfscope.trace.elsewhere import communication_of
from perfscope.trace.meeting_kernels import meeting_rows
from perfscope.trace.model import Communicator, Table
from perfscope.units import NS_PER_S

MOST_SPREAD = 0.25
"""Of a mean kernel: by so much ends may be apart; beyond it nobody knows who came last.

Kernels of one collective end together, up to the last message. What their ends are apart after
the clocks were brought together is what is left of the clocks' error.
"""

Times = Ints


@dataclass(frozen=True)
class DeviceCommunication:
    """Communication kernels of the focus, matched over ranks by (process group, ordinal).

    Lists follow `Trace.ranks`. Where `reason` is set, waiting and transfer are not known.
    """

    reason: str | None
    matched: int  # collectives that wait for all, and that all members took part in
    unmatched: int  # all other kernels: one-way, of an unknown call, or without their partners
    seconds: tuple[float, ...]  # sum of the kernels of each rank
    wait_s: tuple[float, ...]
    transfer_s: tuple[float, ...]
    last: tuple[int, ...]  # collectives in which the rank was the last to begin
    longest_wait_s: tuple[float, ...]
    end_spread_s: float | None = None
    """By how much the ends of one collective's kernels differ, 99th percentile."""


def device_communication(prepared: Prepared) -> DeviceCommunication:
    """Splits the communication kernels that begin in the focus."""
    ranks, focus = prepared.trace.ranks, prepared.focus
    tables = [
        rows[(rows["t0"] >= focus.start_ns) & (rows["t0"] < focus.end_ns)]
        for rows in communication_of(ranks)
    ]
    owner = np.repeat(np.arange(len(ranks)), [len(table) for table in tables])
    rows = np.concatenate(tables)
    seconds = _seconds(owner, rows["t1"] - rows["t0"], len(ranks))
    whole = _matched(rows, owner, prepared.trace.communicators, prepared.trace.names)
    unknown = why_of_unknown_size(prepared.damage)
    if unknown is not None:  # ranks of the files are all of a collective only where it says so
        whole &= rows["members"] > 0
    spread, reason = _ends(rows[whole], any_kernel=len(rows) > 0)
    if unknown is not None and len(rows) and not whole.any():
        reason = unknown
    if reason is not None:
        nothing = (0.0,) * len(ranks)
        return DeviceCommunication(
            reason=reason,
            matched=0,
            unmatched=len(rows),
            seconds=seconds,
            wait_s=nothing,
            transfer_s=nothing,
            last=(0,) * len(ranks),
            longest_wait_s=nothing,
            end_spread_s=spread,
        )
    split = _split(rows[whole], owner[whole], len(ranks), seconds, len(rows))
    return replace(split, end_spread_s=spread)


def _seconds(owner: Times, ns: Times, count: int) -> tuple[float, ...]:
    return tuple((np.bincount(owner, ns, count) / NS_PER_S).tolist())


def _matched(
    rows: Table, owner: Times, communicators: Sequence[Communicator], names: Sequence[str]
) -> Bools:
    """Which rows belong to a collective that waits for all, and that all members took part in."""
    sizes = np.array([communicator.size for communicator in communicators] + [0], np.int64)
    known = (rows["comm"] >= 0) & (rows["seq"] >= 0) & meeting_rows(rows, names)
    place = np.flatnonzero(known)
    group = dense(rows["comm"][place], rows["seq"][place])
    count = np.bincount(group)
    ranks = int(owner.max(initial=0)) + 1
    pairs = np.unique(group * ranks + owner[place])
    distinct = np.bincount(pairs // ranks, minlength=len(count))
    complete = (count == distinct)[group] & (count[group] == sizes[rows["comm"][place]])
    result = np.zeros(len(rows), np.bool_)
    result[place[complete & (count[group] > 1)]] = True
    return result


def _ends(rows: Table, *, any_kernel: bool) -> tuple[float | None, str | None]:
    """How far apart the ends of matched kernels are, and why no one can tell who came last."""
    if not any_kernel:
        return None, "no kernel communicated in the focus of analysis"
    if not len(rows):
        return None, "no collective that waits for all has kernels of all its ranks in these files"
    order = np.lexsort((rows["t1"], rows["seq"], rows["comm"]))
    rows = rows[order]
    starts = _group_starts(rows)
    ends = np.append(starts[1:], len(rows)) - 1
    spread = float(np.quantile(rows["t1"][ends] - rows["t1"][starts], 0.99))
    lengths: Ints = rows["t1"] - rows["t0"]
    mean = float(lengths.mean())
    if spread <= MOST_SPREAD * mean:
        return spread / NS_PER_S, None
    return spread / NS_PER_S, (
        f"kernels of one collective end up to {spread * 1e-6:.3g} ms apart, and take "
        f"{mean * 1e-6:.3g} ms on average: the clocks of the ranks do not agree well enough"
    )


def _group_starts(rows: Table) -> Times:
    """Where each collective begins in rows that are ordered by it."""
    first = np.ones(len(rows), np.bool_)
    first[1:] = (rows["comm"][1:] != rows["comm"][:-1]) | (rows["seq"][1:] != rows["seq"][:-1])
    return np.flatnonzero(first)


def _split(
    rows: Table, owner: Times, count: int, seconds: tuple[float, ...], of: int
) -> DeviceCommunication:
    order = np.lexsort((rows["t0"], rows["seq"], rows["comm"]))
    rows, owner = rows[order], owner[order]
    starts = _group_starts(rows)
    ends = np.append(starts[1:], len(rows)) - 1
    need = np.repeat(rows["t0"][ends], ends - starts + 1)
    wait = np.clip(need, rows["t0"], rows["t1"]) - rows["t0"]
    transfer = rows["t1"] - rows["t0"] - wait
    longest = np.zeros(count, np.int64)
    np.maximum.at(longest, owner, wait)
    return DeviceCommunication(
        reason=None,
        matched=len(starts),
        unmatched=of - len(rows),
        seconds=seconds,
        wait_s=_seconds(owner, wait, count),
        transfer_s=_seconds(owner, transfer, count),
        last=tuple(np.bincount(owner[ends], minlength=count).tolist()),
        longest_wait_s=tuple((longest / NS_PER_S).tolist()),
    )
