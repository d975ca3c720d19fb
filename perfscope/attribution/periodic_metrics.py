"""Functions that compute an error or a score for progress output, but not in every step.

Names do not tell `compute_accuracy` after an epoch from `compute_accuracy` in each step, which is
training work. How long it goes on without a break, and how often, does.
"""

from collections.abc import Sequence

import numpy as np

from perfscope.arrays import Ints
from perfscope.attribution.focus import focus_of_analysis
from perfscope.attribution.patterns import find_periods
from perfscope.attribution.stack_rules import computes_figure
from perfscope.judging import ALONE, FEWEST_SAMPLES
from perfscope.matching.waits import Waits
from perfscope.trace.model import Function, Rank, Trace

RARE_SHARE = 0.25
"""Of the steps that were sampled: what is done in more of them may belong to the step."""


NONE = -1


def rare_figures(trace: Trace, ends: Sequence[Ints]) -> frozenset[Function]:
    """The functions that compute a figure far more rarely than once a step.

    A time shorter than three samples, and a program of which no steps are known, tell nothing: such
    a function stays with the work that it is called by. `ends` are those of each rank's steps.
    """
    names = sorted({f.key for f in trace.frames if computes_figure(f)})
    if not names:
        return frozenset()
    of_stack = _innermost(trace, names)
    samples = np.zeros((len(trace.ranks), len(names)), np.int64)
    steps = np.zeros(len(names), np.int64)
    seen = 0
    for place, (rank, step_ends) in enumerate(zip(trace.ranks, ends, strict=True)):
        times, found = _of_main(rank, of_stack)
        step = np.searchsorted(step_ends, times)
        seen += len(np.unique(step)) if len(step_ends) else 0
        is_figure = found != NONE
        if not is_figure.any():
            continue
        samples[place] = np.bincount(found[is_figure], minlength=len(names))
        both = np.unique(np.stack([found[is_figure], step[is_figure]]), axis=1)
        steps += np.bincount(both[0], minlength=len(names))
    total = samples.sum(axis=0)
    is_rare = (steps > 0) & (total >= FEWEST_SAMPLES * steps) & (steps <= RARE_SHARE * seen)
    if len(trace.ranks) > 1:  # what one rank does alone is told by that
        is_rare &= samples.max(axis=0) < ALONE * total
    return frozenset(name for name, rare in zip(names, is_rare, strict=True) if rare)


def step_ends(trace: Trace, waits: Waits) -> list[Ints]:
    """When each rank's steps ended, told or by the pattern of its collectives; empty: not known."""
    if any(len(rank.steps) for rank in trace.ranks):
        return [np.sort(rank.steps["t1"].astype(np.int64)) for rank in trace.ranks]
    periods = find_periods(trace, waits, focus_of_analysis(trace))
    if periods is None:
        return [np.empty(0, np.int64)] * len(trace.ranks)
    return [np.sort(periods.ends[:, place]) for place in range(len(trace.ranks))]


def _innermost(trace: Trace, names: list[Function]) -> Ints:
    """Of each stack the innermost of the functions, NONE where it has none."""
    place = {name: index for index, name in enumerate(names)}
    frames = [place.get(frame.key, NONE) for frame in trace.frames]
    found = (
        next((frames[level] for level in reversed(stack) if frames[level] != NONE), NONE)
        for stack in trace.stacks
    )
    return np.fromiter(found, np.int64, len(trace.stacks))


def _of_main(rank: Rank, of_stack: Ints) -> tuple[Ints, Ints]:
    """When the main location was sampled, and what these samples say."""
    mine = rank.main_stacks
    return mine["t"].astype(np.int64), of_stack[mine["stack"].astype(np.int64)]
