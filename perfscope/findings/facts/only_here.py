"""Whether one rank alone runs something: no sample shows another rank at the same lines."""

from collections.abc import Set as AbstractSet
from statistics import NormalDist

import numpy as np

from perfscope.attribution.not_training import IS_TRAINING
from perfscope.judging import ALONE, SURE
from perfscope.metrics.results import Results
from perfscope.trace.model import Frame, Function
from perfscope.units import NS


def shared_frames(results: Results, *numbers: int) -> frozenset[Frame]:
    """Functions and their lines at which ranks other than these were seen, also in calls."""
    trace = results.trace
    seen: set[int] = set()
    for rank in trace.ranks:
        if rank.number not in numbers:
            stacks = np.unique(results.focus.within(rank.main_stacks)["stack"])
            seen.update(place for stack in stacks.tolist() for place in trace.stacks[stack])
    return frozenset(trace.frames[place] for place in seen)


def is_only_here(
    results: Results, number: int, function: Function, shared: AbstractSet[Frame]
) -> bool:
    """Whether nearly all of a rank's work in a function is at lines that no other rank runs.

    A main program is run by all ranks, and may have lines for one of them. A rank that takes longer
    at a line that all run does not work alone, and few samples of such a line may all be one's.
    """
    alone_s, whole_s = spent_alone(results, number, function, shared)
    if not alone_s >= ALONE * whole_s > 0:
        return False
    return not _is_chance(results, _samples_alone(results, number, function, shared))


def _is_chance(results: Results, samples: int) -> bool:
    """Whether so many samples of a line that all ranks run may all be of one rank.

    Of all lines that were seen, it may be any (Bonferroni).
    """
    ranks = len(results.trace.ranks)
    lines = np.unique(results.labels.user_frame) if results.labels is not None else ()
    by_chance = float(ranks) ** (1 - samples)
    return len(lines) * by_chance > NormalDist().cdf(-SURE)


def _samples_alone(
    results: Results, number: int, function: Function, shared: AbstractSet[Frame]
) -> int:
    """How often a rank was seen in a function at lines that no other rank runs."""
    trace, labels = results.trace, results.labels
    if labels is None:
        return 0
    rank = next(one for one in trace.ranks if one.number == number)
    stacks = results.focus.within(rank.main_stacks)["stack"]
    is_alone = np.array([one.key == function and one not in shared for one in trace.frames])
    return int(np.append(is_alone, False)[labels.user_frame[stacks]].sum())


def spent_alone(
    results: Results, number: int, function: Function, shared: AbstractSet[Frame]
) -> tuple[float, float]:
    """Seconds of a rank's work in a function at lines that no other rank runs, and at all."""
    labels, trace = results.labels, results.trace
    if labels is None:
        return 0.0, 0.0
    position = next(place for place, rank in enumerate(trace.ranks) if rank.number == number)
    timeline = results.timelines[position]
    here = timeline.inside(results.focus) & IS_TRAINING[timeline.accounts] & (timeline.stacks >= 0)
    frames = labels.user_frame[timeline.stacks[here]]
    spent = np.bincount(frames[frames >= 0], timeline.lengths[here][frames >= 0], len(trace.frames))
    mine = [place for place, frame in enumerate(trace.frames) if frame.key == function]
    alone = [place for place in mine if trace.frames[place] not in shared]
    return NS * float(spent[alone].sum()), NS * float(spent[mine].sum())
