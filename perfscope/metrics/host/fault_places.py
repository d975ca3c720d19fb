"""Which lines of the user's program touch new memory, from how page faults go with its stacks."""

from collections import Counter
from collections.abc import Sequence

import numpy as np

from perfscope.arrays import Floats, Ints
from perfscope.attribution.ledger import IS_COMMUNICATION
from perfscope.attribution.preparation import Prepared
from perfscope.attribution.timeline import Timeline
from perfscope.judging import MAIN
from perfscope.matching.intervals import distinct
from perfscope.trace.model import Frame

MOST_LINES = 40
"""Lines that are told apart, those with most time; all others count as one."""

ROUNDS = 60
"""Of the fit: by then, rates that differ by a tenth have come apart."""


def fault_place(prepared: Prepared, position: int, times: Ints, faults: Floats) -> Frame | None:
    """The function with most of a rank's page faults, at the line with most of them.

    Between two samples several lines may have run. A line that touches new memory ran for longer
    where more pages were touched, so that its rate shows over all windows. A place is told where
    every other window tells the same one as those between them.

    `times` are those of the samples, shape (windows + 1,), and `faults` the pages that were first
    touched between them, shape (windows,).

    Returns:
        None where no function has most of them, or where the windows do not agree.
    """
    lines, spent = _spent(prepared, position, times)
    if not lines:
        return None
    frames = prepared.trace.frames
    halves = [_by_line(spent[half::2], faults[half::2]) for half in (0, 1)]
    told = {_main(frames, lines, touched) for touched in halves}
    if len(told) != 1 or None in told:
        return None
    function = told.pop()
    touched = halves[0] + halves[1]
    own = [
        (count, -frames[line].line, frames[line])
        for line, count in zip(lines, touched, strict=False)
        if (frames[line].function, frames[line].file) == function
    ]
    return max(own, key=lambda one: one[:2])[2]


def _spent(prepared: Prepared, position: int, times: Ints) -> tuple[list[int], Floats]:
    """Lines, and seconds of work of each between the samples; the last column is all others."""
    timeline: Timeline = prepared.timelines[position]
    if not len(prepared.labels.user_frame):
        return [], np.zeros((len(times) - 1, 0))
    inside = timeline.boundaries[
        (timeline.boundaries > times[0]) & (timeline.boundaries < times[-1])
    ]
    cuts = distinct(np.concatenate([inside, times]))
    segment = np.searchsorted(timeline.boundaries, cuts[:-1], "right") - 1
    stack = timeline.stacks[segment].astype(np.int64)
    known = (stack >= 0) & ~IS_COMMUNICATION[timeline.accounts[segment]]
    seconds = np.diff(cuts)[known] / 1e9
    window = np.searchsorted(times, cuts[:-1][known], "right") - 1
    line = prepared.labels.user_frame[stack[known]].astype(np.int64)
    by_line = np.bincount(line, seconds)
    order = np.argsort(-by_line, kind="stable")[:MOST_LINES]
    lines = [place for place in order.tolist() if by_line[place] > 0]
    column = np.full(len(by_line), len(lines), np.int64)
    column[lines] = np.arange(len(lines))
    spent = np.zeros((len(times) - 1, len(lines) + 1))
    np.add.at(spent, (window, column[line]), seconds)
    return lines, spent


def _by_line(spent: Floats, faults: Floats) -> Floats:
    """Page faults of each line: the rates under which the counted ones are most likely.

    Counts that happen at a rate of its own in each line are sums of Poisson variables; expectation
    and maximization in turn find the rates, none of them below zero.
    """
    whole: Floats = spent.sum(axis=0)
    if not whole.sum() or not faults.sum():
        return np.zeros(len(whole))
    rates = np.full(len(whole), faults.sum() / whole.sum())
    for _ in range(ROUNDS):
        expected = spent @ rates
        ratio = np.divide(faults, expected, out=np.zeros_like(expected), where=expected > 0)
        found = spent.T @ ratio
        rates *= np.divide(found, whole, out=np.zeros_like(found), where=whole > 0)
    touched: Floats = rates * whole
    return touched


def _main(frames: Sequence[Frame], lines: list[int], touched: Floats) -> tuple[str, str] | None:
    """Name and file of the function with most page faults; None where none has most of them."""
    by_function: Counter[tuple[str, str]] = Counter()
    for line, count in zip(lines, touched.tolist(), strict=False):
        by_function[frames[line].function, frames[line].file] += count
    function, most = by_function.most_common(1)[0]
    return function if most > MAIN * float(touched.sum()) else None
