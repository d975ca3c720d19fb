"""Finds the step of a program that tells none: the repeating pattern of its collectives."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from perfscope.matching.collectives import N_TO_N_CODES
from perfscope.matching.intervals import Times
from perfscope.matching.pool import Bools, dense

if TYPE_CHECKING:
    from perfscope.attribution.focus import Focus
    from perfscope.matching.waits import Waits
    from perfscope.trace.model import Trace

MIN_PERIODS = 5
"""Fewer repetitions are no pattern."""

FREQUENT_SHARE = 0.5
"""The step's mark occurs at least half as often as the most frequent run of collectives."""

BETWEEN_SHARE = 0.2
"""Equal calls in a row are steps if the work between them has this share of that before them."""


def period_ends(trace: Trace, waits: Waits, focus: Focus) -> Times | None:
    """When each rank finished each period, shape (periods, ranks); None when nothing repeats.

    The collectives of the busiest communicator over all ranks are written as a row of
    (operation, bytes); equal neighbors are one run. Of the runs that occur often, the one that
    carries most bytes marks the step, or each of its calls does where work lies between them.
    """
    calls = _sequence(trace, waits, focus)
    if len(calls.token) < MIN_PERIODS:
        return None
    ends = np.flatnonzero(np.append(calls.token[1:] != calls.token[:-1], [True]))
    lengths = np.diff(ends, prepend=-1)
    longest = int(np.argmax(lengths))
    if 2 * lengths[longest] >= len(calls.token):
        behind = int(ends[longest]) + 1
        run_exits: Times = calls.exits[behind - int(lengths[longest]) : behind]
        return run_exits
    run = dense(calls.token[ends], lengths)
    counts = np.bincount(run)
    carried = np.zeros(len(counts), np.int64)
    carried[run] = calls.sent[ends] * lengths
    frequent = counts >= max(MIN_PERIODS, FREQUENT_SHARE * counts.max())
    if not np.any(frequent):
        return None
    marked = run == int(np.argmax(np.where(frequent, carried, -1)))
    members = np.repeat(marked, lengths)
    between = _works_between(calls, ends[marked], lengths[marked], members)
    exits: Times = calls.exits[members if between else ends[marked]]
    return exits


def _works_between(
    calls: _Calls, ends: npt.NDArray[np.int64], lengths: npt.NDArray[np.int64], members: Bools
) -> bool:
    """Whether the calls of a run are steps of their own, not the parts of one."""
    firsts = ends - lengths + 1
    inner = members.copy()
    inner[firsts] = False
    before = firsts[firsts > 0]
    if not np.any(inner) or not len(before):
        return False
    return bool(np.median(calls.work[inner]) >= BETWEEN_SHARE * np.median(calls.work[before]))


@dataclass(frozen=True)
class _Calls:
    """Collectives in order: exits by (call, rank), token, bytes, longest work before each."""

    exits: Times
    token: npt.NDArray[np.int64]
    sent: npt.NDArray[np.int64]
    work: npt.NDArray[np.int64]


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
