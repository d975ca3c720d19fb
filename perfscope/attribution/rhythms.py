"""Work that recurs every few steps, recognized by its period in the samples rather than by name."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import replace

import numpy as np

from perfscope.arrays import Bools, Ints, neighbors
from perfscope.attribution.activities import ACTIVITIES, stack_activities
from perfscope.attribution.feeding import Fate, Feeding
from perfscope.attribution.recurring import AGREE, LEAST_TIMES, Members, OfRanks, recurring
from perfscope.attribution.stack_rules import (
    EVALUATION_LIKE,
    UNLABELED,
    StackLabels,
    is_user_file,
    most_seen_line,
)
from perfscope.attribution.timeline import MOST_AT_ONCE
from perfscope.judging import MAIN
from perfscope.schema.enums import Activity
from perfscope.structures import dataclass
from perfscope.trace.model import Function, Trace

COMPUTES = frozenset(
    {
        Activity.NUMERIC,
        Activity.COMMUNICATION,
        Activity.DEVICE_WAIT,
        Activity.MEMORY_MANAGEMENT,
        Activity.SLEEP,  # stands in for work where a program simulates it
        Activity.INTERPRETER,
        Activity.UNKNOWN,
    }
)
"""What an evaluation does: checkpoints, output and collections of garbage have other marks."""


@dataclass(frozen=True)
class Rhythm:
    """A function of the user's that one rank runs every few steps.

    `seconds` are those of one time, by samples; `computes`: it does what an evaluation does.
    `is_check`: figures are exchanged after it, or it applies what training applies as well.
    `is_first`: it was seen before the first step was over.
    """

    function: Function
    line: int
    rank: int
    first: int  # step, counted from 0
    every: int  # steps
    times: int
    seconds: float
    computes: bool
    is_check: bool
    is_first: bool = False


def rhythms(trace: Trace, ends: Sequence[Ints]) -> tuple[Rhythm, ...]:
    """All such functions; what they call recurs as they do, and is among them.

    `ends` says when each rank's steps ended; it is empty where no steps are known.
    """
    functions = sorted({f.key for f in trace.frames if _can_recur(f.file)})
    if not functions or not any(len(own) >= LEAST_TIMES * 2 for own in ends):
        return ()
    members, own = Members.of(trace, functions), OfRanks(trace, ends)
    activity = stack_activities(trace)
    computes = np.isin(activity, [ACTIVITIES.index(one) for one in COMPUTES])
    works = activity != ACTIVITIES.index(Activity.COMMUNICATION)
    total, agreed = np.zeros((2, len(functions)), np.int64)
    found: list[tuple[int, Rhythm]] = []
    for group in neighbors([len(rank.stacks) for rank in trace.ranks], MOST_AT_ONCE):
        total += members.seen(np.concatenate([own.stacks(position) for position in group]))
        for position, place, times, samples in recurring(own, members, group):
            stacks, step = own.stacks(position), own.steps(position)
            is_mine = members.have(place)
            mine = np.bincount(stacks, minlength=len(is_mine)) * is_mine
            is_told = own.exchange(position).tells_figures(times)
            if not is_told and _is_purpose(stacks[own.inside(step, position)], works, mine > 0):
                continue
            agreed[place] += int(mine.sum())
            rhythm = Rhythm(
                functions[place],
                line=_line(trace, functions[place], mine),
                rank=trace.ranks[position].number,
                first=int(times[0]),
                every=round(float(np.median(np.diff(times)))),
                times=len(times),
                seconds=own.apart_s(position) * samples / len(times),
                computes=bool((mine * computes).sum() >= AGREE * mine.sum()),
                is_check=is_told or _applies_the_same(trace, functions[place]),
                is_first=bool(is_mine[stacks[step == 0]].any()),
            )
            found.append((place, rhythm))
    return tuple(one for place, one in found if agreed[place] >= AGREE * total[place])


def with_rhythms(
    trace: Trace, labels: StackLabels, found: Sequence[Rhythm], feeding: Feeding
) -> StackLabels:
    """The labels with those stacks as evaluation-like that no name tells.

    The outermost function that recurs names the work: what it calls may belong to training, too.
    """
    on = Counter(rhythm.function for rhythm in found)
    labels = replace(labels, recurring=frozenset(on))
    recurring = {
        rhythm.function
        for rhythm in found
        # all ranks train alike: what one does alone is no part of that
        if rhythm.computes and (rhythm.is_check or on[rhythm.function] < len(trace.ranks))
    }
    if not recurring:
        return labels
    feeds = _feeding(trace, feeding, recurring, {one.function for one in found if one.is_first})
    is_one = [frame.key in recurring for frame in trace.frames]
    is_fed = [frame.key in feeds for frame in trace.frames]
    outer = np.array(
        [
            -1
            if any(is_fed[frame] for frame in stack)
            else next((frame for frame in stack if is_one[frame]), -1)
            for stack in trace.stacks
        ],
        np.int64,
    )
    ids = labels.ids if EVALUATION_LIKE in labels.ids else (*labels.ids, EVALUATION_LIKE)
    new = (outer >= 0) & np.isin(labels.label, [UNLABELED, labels.train])
    return replace(
        labels,
        ids=ids,
        label=np.where(new, ids.index(EVALUATION_LIKE), labels.label),
        label_frame=np.where(new, outer, labels.label_frame),
    )


def _feeding(
    trace: Trace, feeding: Feeding, asked: Collection[Function], first: Collection[Function]
) -> set[Function]:
    """Those whose result training takes; of those that ran `first`, also those of which it may."""
    found = set()
    for function in asked:
        is_in = [
            any(trace.frames[frame].key == function for frame in stack) for stack in trace.stacks
        ]
        fate = feeding.fate(feeding.looks * is_in)
        if fate is Fate.FEEDS or (fate is Fate.KEPT and function in first):
            found.add(function)
    return found


def _can_recur(file: str) -> bool:
    return is_user_file(file) and not file.startswith("<")


def _is_purpose(stacks: Ints, works: Bools, is_mine: Bools) -> bool:
    """Whether a function is most of a rank's own work: what others do is beside it.

    Where each of several exchanges in a round counts as a step, it comes in one of them only.

    Args:
        stacks: of the samples between the steps' ends, shape (samples,).
        works: by stack, whether it is no communication.
        is_mine: by stack, whether the function is in it.
    """
    own = works[stacks]
    return bool((own & is_mine[stacks]).sum() >= MAIN * own.sum())


def _applies_the_same(trace: Trace, function: Function) -> bool:
    """Whether a function calls one of the user's that is called without it as well: the model."""
    names = [frame.key for frame in trace.frames]
    inside: set[Function] = set()
    elsewhere: set[Function] = set()
    for stack in trace.stacks:
        called = [names[frame] for frame in stack if _can_recur(trace.frames[frame].file)]
        if function in called:
            inside.update(called[called.index(function) + 1 :])
        else:
            elsewhere.update(called)
    return bool(inside & elsewhere)


def _line(trace: Trace, function: Function, seen: Ints) -> int:
    """The function's line that was seen most."""
    lines = [
        frame.line
        for number in np.flatnonzero(seen).tolist()
        for frame in (trace.frames[place] for place in trace.stacks[number])
        if frame.key == function
        for _ in range(int(seen[number]))
    ]
    return most_seen_line(lines)
