"""Finds the step of a program that tells none: what repeats in its calls, else in its samples."""

from __future__ import annotations

import numpy as np

from perfscope.arrays import Ints
from perfscope.attribution.cycles import heaviest_marks
from perfscope.attribution.focus import Focus
from perfscope.attribution.own_patterns import Periods, of_calls, of_samples
from perfscope.matching.codes import N_TO_N_CODES
from perfscope.matching.intervals import Times
from perfscope.matching.pool import dense
from perfscope.matching.waits import Waits
from perfscope.structures import dataclass
from perfscope.trace.model import Trace


def find_periods(trace: Trace, waits: Waits, focus: Focus) -> Periods | None:
    """When each rank finished each period; None when nothing repeats.

    Collectives of all ranks tell it best. Without them each rank's own calls do: stages of a
    pipeline have communicators or messages of their own. Programs that never communicate are told
    by the lines that their stack samples show.
    """
    calls = _sequence(trace, waits, focus)
    if not _mostly_of_parts(trace, waits, focus) and (ends := _common_ends(calls)) is not None:
        return Periods(ends, "collectives")
    return of_calls(trace, focus) or of_samples(trace, focus)


def _mostly_of_parts(trace: Trace, waits: Waits, focus: Focus) -> bool:
    """Whether the ranks meet in parts, which move more bytes than all of them do together."""
    pool, instances = waits.pool, waits.instances
    if not len(instances):
        return False
    first = instances.members[instances.starts[:-1]]
    sizes = np.diff(instances.starts)
    usable = N_TO_N_CODES[instances.op] & (pool.enter[first] >= focus.start_ns) & (sizes > 1)
    whole = usable & (sizes == len(trace.ranks))
    parts = usable & ~whole
    busiest = np.bincount(instances.comm[parts]).max(initial=0)
    carried = pool.sent[first] * sizes
    is_more = carried[parts].sum() > carried[whole].sum()
    return bool(is_more and busiest > np.count_nonzero(whole))


def _common_ends(calls: _Calls) -> Times | None:
    """When each rank finished each period of what all ranks do together."""
    found = heaviest_marks(calls.token, calls.sent, calls.work)
    ends: Times = calls.exits[found]
    return ends if len(found) else None


@dataclass(frozen=True)
class _Calls:
    """Collectives in order: exits by (call, rank), token, bytes, longest work before each."""

    exits: Times
    token: Ints
    sent: Ints
    work: Ints


def _sequence(trace: Trace, waits: Waits, focus: Focus) -> _Calls:
    """The collectives of the busiest communicator over all ranks in the focus."""
    pool, instances = waits.pool, waits.instances
    numbers = {rank.number for rank in trace.ranks}
    whole = np.array([set(c.members) == numbers for c in trace.communicators], np.bool_)
    none = np.empty(0, np.int64)
    if not len(instances):
        return _Calls(none, none, none, none)
    first = instances.members[instances.starts[:-1]]
    last_exit = np.maximum.reduceat(pool.exit[instances.members], instances.starts[:-1])
    usable = whole[instances.comm] & N_TO_N_CODES[instances.op]
    usable &= pool.enter[first] >= focus.start_ns
    usable &= last_exit <= focus.end_ns
    if not np.any(usable):
        return _Calls(none, none, none, none)
    busiest = int(np.argmax(np.bincount(instances.comm[usable])))
    chosen = np.flatnonzero(usable & (instances.comm == busiest))  # in order of their sequence
    rows = instances.members[instances.starts[chosen][:, None] + np.arange(len(numbers))]
    sent = pool.sent[first[chosen]]
    work = np.zeros(len(chosen), np.int64)
    work[1:] = (pool.enter[rows][1:] - pool.exit[rows][:-1]).max(axis=1)
    return _Calls(pool.exit[rows], dense(instances.op[chosen], sent), sent, work)
