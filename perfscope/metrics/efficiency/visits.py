"""How often a rank was in a phase: one visit may be seen in several pieces."""

from __future__ import annotations

import numpy as np

from perfscope.arrays import Bools, Ints
from perfscope.attribution.preparation import Prepared
from perfscope.attribution.timeline import RankParts
from perfscope.matching.intervals import Times


def visits(
    prepared: Prepared, part: RankParts, index: int, starts: Times, ends: Times, is_marked: Bools
) -> int:
    """How often a rank was in a phase, from the pieces of time in which it is known to have been.

    Each mark is a visit. What samples show belongs to the visit before it where no step begins
    between them and no sample between them shows anything else: calls for communication, and a mark
    of the save inside a function that saves, cut what is one visit into pieces.
    """
    if is_marked.all():
        return len(starts)
    order = np.lexsort((-ends, starts))
    starts, ends, is_marked = starts[order], ends[order], is_marked[order]
    begun, others = part.rank.steps["t0"].astype(np.int64), _elsewhere(prepared, part, index)
    if not len(starts) or not len(begun):
        return len(starts)
    reach = np.maximum.accumulate(ends)
    joins = _nothing_between(np.sort(begun), reach[:-1], starts[1:])
    joins &= _nothing_between(others, reach[:-1], starts[1:])
    visit = np.concatenate([[0], np.cumsum(~joins)])
    return int(np.maximum(np.bincount(visit, is_marked), 1).sum())


def _elsewhere(prepared: Prepared, part: RankParts, index: int) -> Ints:
    """When samples show the rank's own thread in something else than a phase."""
    rows, labels, name = part.rank.main_stacks, prepared.labels, prepared.catalog.ids[index]
    rows = rows[rows["stack"] >= 0]
    if name in labels.ids:
        rows = rows[labels.label[rows["stack"]] != labels.ids.index(name)]
    return np.sort(rows["t"].astype(np.int64))


def _nothing_between(moments: Ints, ends: Times, starts: Times) -> Bools:
    """Whether none of some moments, in order, lies from each end to the start behind it."""
    before = np.searchsorted(moments, ends, side="left")
    return np.asarray(np.searchsorted(moments, starts, side="right") <= before)
