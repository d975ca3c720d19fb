"""How often a rank was in a phase: one visit may be seen in several pieces."""

from __future__ import annotations

import numpy as np

from perfscope.arrays import Bools, Ints
from perfscope.attribution.preparation import Prepared
from perfscope.attribution.timeline import RankParts
from perfscope.matching.intervals import Times
from perfscope.schema.enums import PhaseKind

_CALLED = (PhaseKind.EVALUATE, PhaseKind.TRAIN)
"""What programs that compile their functions have told call by call; of the first, samples may
show what is done between the calls."""


def visits(
    prepared: Prepared, part: RankParts, index: int, starts: Times, ends: Times, is_marked: Bools
) -> int:
    """How often a rank was in a phase, from the pieces of time in which it is known to have been.

    Each mark is a visit, but calls that train or evaluate are one visit where no step begins
    between them. What samples show belongs to the visit before it where no step begins between them
    and no sample between them shows anything else: calls for communication, and a mark of the save
    inside a function that saves, cut what is one visit into pieces.
    """
    kind, begun = prepared.catalog.kind(index), part.rank.steps["t0"].astype(np.int64)
    is_called = kind in (_CALLED if is_marked.all() else _CALLED[:1]) and is_marked.any()
    if is_called and len(begun):
        return _between_steps(starts, ends, begun, kind)
    if is_marked.all():
        return len(starts)
    order = np.lexsort((-ends, starts))
    starts, ends, is_marked = starts[order], ends[order], is_marked[order]
    others = _elsewhere(prepared, part, index)
    if not len(starts) or not len(begun):
        return len(starts)
    reach = np.maximum.accumulate(ends)
    joins = nothing_between(np.sort(begun), reach[:-1], starts[1:])
    joins &= nothing_between(others, reach[:-1], starts[1:])
    visit = np.concatenate([[0], np.cumsum(~joins)])
    return int(np.maximum(np.bincount(visit, is_marked), 1).sum())


def _between_steps(starts: Times, ends: Times, begun: Times, kind: PhaseKind) -> int:
    """How many groups pieces of time form that the begin of a step parts.

    Training inside of training, as a step inside of an epoch, is apart.
    """
    order = np.argsort(starts, kind="stable")
    starts, reach = starts[order][1:], np.maximum.accumulate(ends[order])[:-1]
    joins = nothing_between(np.sort(begun), reach, starts)
    if kind is PhaseKind.TRAIN:
        joins &= starts >= reach
    return int((~joins).sum()) + 1


def _elsewhere(prepared: Prepared, part: RankParts, index: int) -> Ints:
    """When samples show the rank's own thread in something else than a phase."""
    rows, labels, name = part.rank.main_stacks, prepared.labels, prepared.catalog.ids[index]
    rows = rows[rows["stack"] >= 0]
    if name in labels.ids:
        rows = rows[labels.label[rows["stack"]] != labels.ids.index(name)]
    return np.sort(rows["t"].astype(np.int64))


def nothing_between(moments: Ints, ends: Times, starts: Times) -> Bools:
    """Whether none of some moments, in order, lies from each end to the start behind it."""
    before = np.searchsorted(moments, ends, side="left")
    return np.asarray(np.searchsorted(moments, starts, side="right") <= before)
