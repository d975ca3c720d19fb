"""Functions that compute an error, a score or the like for progress output, and not in each step.

Names do not tell `compute_accuracy` after an epoch from `compute_accuracy` in each step, which is
training work. How long it goes on without a break, and how often, does.
"""

from __future__ import annotations

from collections import Counter

import numpy as np
import numpy.typing as npt

from perfscope.metrics.focus import focus_of_analysis
from perfscope.metrics.patterns import period_ends
from perfscope.metrics.stack_rules import Function, computes_figure
from perfscope.metrics.waits import Waits
from perfscope.trace.model import Rank, Trace

RUN_SAMPLES = 3
"""Samples in a row, on average: of what takes so long each single time is seen."""

RARE_SHARE = 0.25
"""Of the steps: what is done in more of them may belong to the step."""

NONE = -1

Ints = npt.NDArray[np.int64]


def rare_figures(trace: Trace, waits: Waits) -> frozenset[Function]:
    """The functions that compute a figure far more rarely than once a step.

    A time shorter than three samples, and a program of which no steps are known, tell nothing: such
    a function stays with the work that it is called by.
    """
    names = sorted({(f.function, f.file) for f in trace.frames if computes_figure(f)})
    if not names:
        return frozenset()
    steps = _steps(trace, waits)
    of_stack = _innermost(trace, names)
    samples: Counter[int] = Counter()
    runs: Counter[int] = Counter()
    most: Counter[int] = Counter()
    for rank in trace.ranks:
        seen = _of_main(rank, of_stack)
        begins = np.append([True], seen[1:] != seen[:-1]) if len(seen) else seen.astype(np.bool_)
        samples.update(seen.tolist())
        times = Counter(seen[begins].tolist())
        runs.update(times)
        most |= times
    return frozenset(
        name
        for index, name in enumerate(names)
        if runs[index]
        and samples[index] >= RUN_SAMPLES * runs[index]
        and most[index] <= RARE_SHARE * steps
    )


def _steps(trace: Trace, waits: Waits) -> int:
    """Steps of the run, told or by the pattern of its collectives; 0 where none are known."""
    told = max((len(rank.steps) for rank in trace.ranks), default=0)
    if told:
        return told
    ends = period_ends(trace, waits, focus_of_analysis(trace))
    return 0 if ends is None else len(ends)


def _innermost(trace: Trace, names: list[Function]) -> Ints:
    """Of each stack the innermost of the functions, NONE where it has none."""
    place = {name: index for index, name in enumerate(names)}
    frames = [place.get((frame.function, frame.file), NONE) for frame in trace.frames]
    found = (
        next((frames[level] for level in reversed(stack) if frames[level] != NONE), NONE)
        for stack in trace.stacks
    )
    return np.fromiter(found, np.int64, len(trace.stacks))


def _of_main(rank: Rank, of_stack: Ints) -> Ints:
    """What the samples of the main location say, in order."""
    mine = rank.stacks[rank.stacks["tid"] == rank.main_tid]
    seen: Ints = of_stack[mine["stack"][np.argsort(mine["t"], kind="stable")].astype(np.int64)]
    return seen
