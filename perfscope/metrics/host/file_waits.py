"""Time in which a rank stands still because a thread of it waits for a device."""

import numpy as np

from perfscope.arrays import Bools, Ints
from perfscope.attribution.ledger import ACCOUNTS, INDEX, IS_COMMUNICATION
from perfscope.attribution.preparation import Prepared
from perfscope.metrics.host.resources import RankFiles
from perfscope.schema.enums import Account
from perfscope.trace.model import Rank, Table
from perfscope.units import NS


def files(prepared: Prepared) -> tuple[RankFiles, ...]:
    """Files of each rank that was sampled, over the focus of analysis.

    A sample counts as standing still where a thread is in the state D (waits for a device), none
    is running or ready, and the rank is not communicating. Each sample stands for an equal part of
    the focus: the estimate of a share p from n samples is off by sqrt(p (1 - p) / n).
    """
    return tuple(
        _files(prepared, place, rank)
        for place, rank in enumerate(prepared.trace.ranks)
        if len(rank.process_samples)
    )


def _files(prepared: Prepared, place: int, rank: Rank) -> RankFiles:
    focus, system = prepared.focus, rank.system_samples
    known, accounts, stalled = _states(prepared, place)
    each_s = focus.length_ns * NS / len(known) if len(known) else 0.0
    counts = np.bincount(accounts[stalled], minlength=len(ACCOUNTS)).tolist()
    seen = [index for index, count in enumerate(counts) if count]
    order = sorted(seen, key=lambda index: -counts[index])
    waits = known["t"][stalled | (accounts == INDEX[Account.IO])]
    return RankFiles(
        rank=rank.number,
        read_bytes=_last(system, "read_bytes"),
        written_bytes=_last(system, "written_bytes"),
        major_faults=_last(system, "major_faults"),
        stalled_s=float(np.count_nonzero(stalled)) * each_s if len(known) else None,
        last_stalled_s=_last_s(known["t"][stalled], focus.start_ns),
        stalled_by_account=tuple((ACCOUNTS[i], float(counts[i]) * each_s) for i in order),
        waited_read_bytes=_grown_around(waits, system, "read_bytes"),
        waited_written_bytes=_grown_around(waits, system, "written_bytes"),
    )


def stalled_moments(prepared: Prepared, place: int) -> Ints:
    """When a rank was seen standing still in the focus, in ns."""
    known, _, stalled = _states(prepared, place)
    return known["t"][stalled].astype(np.int64)


def _states(prepared: Prepared, place: int) -> tuple[Table, Ints, Bools]:
    """Samples of a rank in the focus whose states are known, their accounts, which stand still."""
    samples, focus = prepared.trace.ranks[place].process_samples, prepared.focus
    inside = focus.within(samples)
    known = inside[inside["blocked"] >= 0]
    timeline = prepared.timelines[place]
    accounts = timeline.accounts[timeline.at(known["t"])].astype(np.int64)
    stalled = (known["blocked"] > 0) & (known["runnable"] == 0) & ~IS_COMMUNICATION[accounts]
    return known, accounts, stalled


def _grown_around(moments: Ints, rows: Table, column: str) -> int:
    """How much a counter grew between the readings around each of some moments, each pair once."""
    after = np.unique(np.searchsorted(rows["t"], moments, side="right"))
    after = after[(after > 0) & (after < len(rows))]
    values: Ints = rows[column]
    return int(np.sum(values[after] - values[after - 1]))


def _last_s(times: Ints, start_ns: int) -> float:
    """Seconds from the start of the focus to the last of some samples; 0 of none."""
    return float(times[-1] - start_ns) * NS if len(times) else 0.0


def _last(table: Table, column: str) -> int:
    return int(table[column][-1]) if len(table) else 0
