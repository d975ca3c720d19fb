"""Work that recurs every few steps, recognized by its period in the samples rather than by name."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from perfscope.arrays import Bools, Ints
from perfscope.attribution.activities import ACTIVITIES, stack_activities
from perfscope.attribution.cycles import LITTLE, NONE, is_steady, surprise
from perfscope.attribution.feeding import Fate, Feeding
from perfscope.attribution.stack_rules import (
    EVALUATION_LIKE,
    UNLABELED,
    StackLabels,
    is_user_file,
    most_seen_line,
)
from perfscope.judging import FEWEST_SAMPLES, MAIN
from perfscope.schema.enums import Activity
from perfscope.structures import dataclass
from perfscope.trace.model import Function, Rank, Trace
from perfscope.trace.operations import REDUCES
from perfscope.units import NS

LEAST_TIMES = 3
"""Fewer occurrences have no rhythm."""

LEAST_EVERY = 4
"""Steps from one occurrence to the next: what comes more often may be a part of the training."""

LEAST_SPAN = 0.4
"""Of the steps, from the first occurrence to the last: what is done for a while is no rhythm."""

AGREE = 0.8
"""Of a function's samples, those of ranks on which it recurs; the same of stretches of its kind."""

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


@dataclass(frozen=True)
class _Exchange:
    """What a rank exchanges in each of its steps, and after the last; shape (steps + 1,)."""

    calls: Ints
    exchanged: Ints  # bytes
    reduced: Ints  # bytes, of what is added up over the ranks

    @classmethod
    def of(cls, rank: Rank, ends: Ints) -> _Exchange:
        """That of its main location."""
        calls = rank.operations[rank.operations["tid"] == rank.main_tid]
        step, count = np.searchsorted(ends, calls["t1"]), len(ends) + 1
        moved = (calls["sent"] + calls["received"]).astype(np.float64)
        return cls(
            np.bincount(step, minlength=count),
            np.bincount(step, moved, count).astype(np.int64),
            np.bincount(step, moved * REDUCES[calls["op"]], count).astype(np.int64),
        )

    def least_every(self, steps: Ints) -> int | None:
        """How rarely work must come, in steps, to be no part of the training; None: it is one.

        Work that has gradients of its own added up trains something. Work after which no more than
        figures are exchanged comes as often as every second step.
        """
        if self._little and _above(self.reduced, steps) >= self._little:
            return None
        return 2 if self._little and self.tells_figures(steps) else LEAST_EVERY

    def tells_figures(self, steps: Ints) -> bool:
        """Whether no more than figures are exchanged in some steps alone; so where nothing is."""
        more, bytes_more = _above(self.calls, steps), _above(self.exchanged, steps)
        return (more > 0 and bytes_more < self._little) or not self.exchanged.any()

    @cached_property
    def _little(self) -> float:
        """Bytes that are only figures, beside what a step exchanges."""
        return LITTLE * float(np.median(self.exchanged))


def rhythms(trace: Trace, ends: Sequence[Ints]) -> tuple[Rhythm, ...]:
    """All such functions; what they call recurs as they do, and is among them.

    `ends` says when each rank's steps ended; it is empty where no steps are known.
    """
    functions = sorted({f.key for f in trace.frames if _can_recur(f.file)})
    if not functions or not any(len(own) >= LEAST_TIMES * 2 for own in ends):
        return ()
    (stack, function), count = _members(trace, functions), len(functions)
    activity = stack_activities(trace)
    computes = np.isin(activity, [ACTIVITIES.index(one) for one in COMPUTES])
    works = activity != ACTIVITIES.index(Activity.COMMUNICATION)
    total, agreed = np.zeros((2, count), np.int64)
    found: list[tuple[int, Rhythm]] = []
    for rank, own in zip(trace.ranks, ends, strict=True):
        rows, exchange = rank.main_stacks, _Exchange.of(rank, own)
        step = np.searchsorted(own, rows["t"].astype(np.int64))
        seen = np.bincount(rows["stack"].astype(np.int64), minlength=len(trace.stacks))
        total += np.bincount(function, seen[stack], count).astype(np.int64)
        inside, first = (step > 0) & (step < len(own)), np.unique(rows["stack"][step == 0])
        rows, step = rows[inside], step[inside]
        apart = float(np.median(np.diff(rows["t"]))) / 1e9 if len(rows) > 1 else 0.0
        for place, (steps, counts) in _by_function(rows, step, stack, function).items():
            times = _times(steps, counts, own, apart)
            if not _recurs(times, len(own), exchange):
                continue
            mine = seen * np.isin(np.arange(len(seen)), stack[function == place])
            is_told = exchange.tells_figures(times)
            if not is_told and _is_purpose(rows["stack"], works, mine > 0):
                continue
            agreed[place] += int(mine.sum())
            rhythm = Rhythm(
                functions[place],
                line=_line(trace, functions[place], mine),
                rank=rank.number,
                first=int(times[0]),
                every=round(float(np.median(np.diff(times)))),
                times=len(times),
                seconds=apart * float(counts.sum()) / len(times),
                computes=bool((mine * computes).sum() >= AGREE * mine.sum()),
                is_check=is_told or _applies_the_same(trace, functions[place]),
                is_first=bool(np.isin(stack[function == place], first).any()),
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


def _members(trace: Trace, functions: Sequence[Function]) -> tuple[Ints, Ints]:
    """Which functions each stack has, each once: (stack, function) pairs."""
    index = {name: place for place, name in enumerate(functions)}
    of_frame = [index.get(frame.key, -1) for frame in trace.frames]
    pairs = [
        (number, place)
        for number, stack in enumerate(trace.stacks)
        for place in {of_frame[frame] for frame in stack}
        if place >= 0
    ]
    both = np.array(pairs, np.int64).reshape(-1, 2)
    return both[:, 0], both[:, 1]


def _by_function(
    rows: npt.NDArray[np.void], step: Ints, stack: Ints, function: Ints
) -> dict[int, tuple[Ints, Ints]]:
    """By function the steps in which it was seen, and how often in each."""
    if not len(rows) or not len(stack):
        return {}
    starts = np.searchsorted(stack, np.arange(int(stack.max()) + 2))
    own = np.minimum(rows["stack"].astype(np.int64), len(starts) - 2)
    sizes = np.where(rows["stack"] <= stack.max(), starts[own + 1] - starts[own], 0)
    if not sizes.any():
        return {}
    offset = np.arange(int(sizes.sum())) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    place = function[np.repeat(starts[own], sizes) + offset]
    span = int(step.max()) + 1
    pair, counts = np.unique(place * span + np.repeat(step, sizes), return_counts=True)
    of, at = pair // span, pair % span
    ones, first = np.unique(of, return_index=True)
    parts = zip(np.split(at, first[1:]), np.split(counts, first[1:]), strict=True)
    return dict(zip(ones.tolist(), parts, strict=True))


def _times(steps: Ints, counts: Ints, ends: Ints, apart_s: float) -> Ints:
    """The steps in which a function runs for long, of those in which it was seen; empty: unknown.

    What is long enough to be seen each time runs in these. What is shorter than two samples are
    apart was missed in some: it runs in all steps of the period that those seen agree on, where
    these take longer than the others. Samples that keep time with the steps are a period as well.
    """
    if len(steps) < LEAST_TIMES:
        return NONE
    if counts.sum() >= FEWEST_SAMPLES * len(steps) and is_steady(np.diff(steps)):
        return steps
    found = _periodic(steps, len(ends))
    if not len(found):
        return NONE
    own_s = apart_s * float(counts.sum()) / len(found)
    longer_s = _above(np.diff(ends), found - 1) * NS  # of the first step no beginning is known
    return found if longer_s >= MAIN * own_s else NONE


def _periodic(steps: Ints, known: int) -> Ints:
    """All steps of the longest period that most of some steps agree on; empty where none is.

    All periods are looked at in one table: most numbers of a row are alike only where the one in
    its middle is what they are.
    """
    periods = np.arange(2, known // len(steps) + 1)
    places = np.sort(steps % periods[:, None], axis=1)
    usual = places[:, len(steps) // 2]
    shares = np.count_nonzero(places == usual[:, None], axis=1) / len(steps)
    for row in np.flatnonzero(shares >= AGREE)[::-1].tolist():
        share, every = float(shares[row]), int(periods[row])
        if len(steps) * surprise(share, 1.0 / every) > np.log(known):
            first = int(steps[0]) + (int(usual[row]) - int(steps[0])) % every
            return np.arange(first, int(steps[-1]) + 1, every)
    return NONE


def _above(values: Ints, steps: Ints) -> float:
    """By how much the median of some steps is above that of all others."""
    here = np.zeros(len(values), np.bool_)
    here[steps] = True
    return float(np.median(values[here]) - np.median(values[~here])) if not here.all() else 0.0


def _recurs(times: Ints, known: int, exchange: _Exchange) -> bool:
    """Whether what runs in some steps comes back after about as many, all the time."""
    if len(times) < LEAST_TIMES or times[-1] - times[0] < LEAST_SPAN * known:
        return False
    least = exchange.least_every(times)
    apart = np.median(np.diff(times))
    return bool(least is not None and apart >= least and least * len(times) <= known)


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
