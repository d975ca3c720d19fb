"""Workers of loaders that stay from epoch to epoch: what is left of the waits for input.

An epoch begins with the first wait inside its first step and ends with those between its last step
and the next one's first: a loader that sees that it has no more batches ends its workers there.
"""

import numpy as np

from perfscope.arrays import Bools, Floats, Ints
from perfscope.attribution.ledger import INDEX
from perfscope.replay.occurrences import Marks, by_rank, outermost
from perfscope.schema.enums import Account

STEP = -1  # in place of a phase
INPUT, EVALUATION = INDEX[Account.INPUT_WAIT], INDEX[Account.EVALUATION]


def with_kept_workers(marks: Marks, steps_more: float, column: Ints, at: Ints) -> Floats:
    """What is left of pieces of waiting for input, as factors, shape (pieces,).

    The first batch of each epoch but the first takes as long as the usual one of a rank; nothing
    ends workers between two epochs, and nothing starts them.

    Args:
        marks: those of the run.
        steps_more: so many usual steps first batches take longer than others.
        column: rank of each piece.
        at: when it began.
    """
    result = np.ones(len(at))
    of_rank = dict(by_rank(marks.column))
    for rank, here in by_rank(column):
        mine = of_rank.get(rank, np.empty(0, np.int64))
        begin, end, left = _waits(marks, mine, steps_more)
        if len(begin):
            place = np.searchsorted(begin, at[here], side="right") - 1
            inside = (place >= 0) & (at[here] < end[place])
            result[here[inside]] = left[place[inside]]
    return result


def _waits(marks: Marks, mine: Ints, steps_more: float) -> tuple[Ints, Ints, Floats]:
    """When each wait of a rank for input began and ended, in order, and the share that is left."""
    steps = mine[marks.phase[mine] == STEP]
    steps = steps[np.argsort(marks.begin[steps], kind="stable")]
    rows = mine[(marks.account[mine] == INPUT) & ~_evaluates(marks, mine)]
    begin, end = outermost(marks.begin[rows], marks.end[rows])
    left = np.ones(len(begin))
    epoch = marks.epoch[steps]
    opens = np.flatnonzero(epoch[1:] > epoch[:-1]) + 1  # the first steps of later epochs
    if not len(begin) or not len(opens):
        return begin, end, left
    step = np.searchsorted(marks.begin[steps], begin, side="right") - 1
    is_between = (step < 0) | (begin >= marks.end[steps][step])
    is_first = ~is_between & np.append(True, (step[1:] != step[:-1]) | is_between[:-1])
    first, usual = is_first & np.isin(step, opens), ~is_between & ~np.isin(step, [0, *opens])
    if not np.any(usual):
        return begin, end, left  # one batch an epoch: nothing tells how long others would take
    ns = (end - begin).astype(np.float64)
    step_ns = float(np.median((marks.end - marks.begin)[steps]))
    taken_ns = float(ns[usual].mean()) + steps_more * step_ns
    left[first] = np.minimum(1.0, taken_ns / np.maximum(ns[first], 1.0))
    is_turn = np.isin(step + 1, opens)  # behind the last step of an epoch, before the next one's
    left[is_between & is_turn] = 0.0
    return begin, end, left


def _evaluates(marks: Marks, mine: Ints) -> Bools:
    """Which marks of a rank lie in an evaluation, whose loader is another one."""
    rows = mine[marks.account[mine] == EVALUATION]
    begin, end = outermost(marks.begin[rows], marks.end[rows])
    place = np.searchsorted(begin, marks.begin[mine], side="right") - 1
    inside = np.append(end, 0)[place] > marks.begin[mine]
    return np.asarray((place >= 0) & inside)
