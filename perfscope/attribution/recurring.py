"""Which rank runs which function in which steps again and again, of many ranks in one table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache, cached_property

import numpy as np

from perfscope.arrays import Bools, Floats, Ints
from perfscope.attribution.cycles import LITTLE, NONE, is_steady, surprise
from perfscope.attribution.timeline import MOST_AT_ONCE
from perfscope.judging import FEWEST_SAMPLES, MAIN
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


@dataclass(frozen=True)
class Exchange:
    """What a rank exchanges in each of its steps, and after the last; shape (steps + 1,)."""

    calls: Ints
    exchanged: Ints  # bytes
    reduced: Ints  # bytes, of what is added up over the ranks

    @classmethod
    def of(cls, rank: Rank, ends: Ints) -> Exchange:
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


class OfRanks:
    """What is asked of a rank only where something may recur on it, by its position.

    `ends` says when each rank's steps ended; it is empty where no steps are known.
    """

    def __init__(self, trace: Trace, ends: Sequence[Ints]) -> None:
        self.ends = ends
        self._ranks = trace.ranks
        self.exchange = cache(self._exchange)
        self.apart_s = cache(self._apart_s)

    def stacks(self, position: int) -> Ints:
        """Those of its samples."""
        rows = self._ranks[position].main_stacks
        return np.asarray(rows["stack"], np.int64)

    def steps(self, position: int) -> Ints:
        """The step in which each sample lies, 0 before the first end."""
        return np.searchsorted(self.ends[position], self._times(position))

    def inside(self, steps: Ints, position: int) -> Bools:
        """Which of some steps are between two ends."""
        return (steps > 0) & (steps < len(self.ends[position]))

    def between(self, position: int) -> tuple[Ints, Ints]:
        """Stacks and steps of the samples between two ends of steps."""
        steps = self.steps(position)
        inside = self.inside(steps, position)
        return self.stacks(position)[inside], steps[inside]

    def _times(self, position: int) -> Ints:
        rows = self._ranks[position].main_stacks
        return np.asarray(rows["t"], np.int64)

    def _exchange(self, position: int) -> Exchange:
        return Exchange.of(self._ranks[position], self.ends[position])

    def _apart_s(self, position: int) -> float:
        """From one of these samples to the next."""
        times = self._times(position)[self.inside(self.steps(position), position)]
        return float(np.median(np.diff(times))) / 1e9 if len(times) > 1 else 0.0


@dataclass(frozen=True)
class Members:
    """Which functions each stack has, each once: pairs in order of the stacks."""

    stack: Ints
    function: Ints
    stacks: int
    functions: int

    @classmethod
    def of(cls, trace: Trace, functions: Sequence[Function]) -> Members:
        """The functions are told apart by their place in the list."""
        index = {name: place for place, name in enumerate(functions)}
        of_frame = [index.get(frame.key, -1) for frame in trace.frames]
        pairs = [
            (number, place)
            for number, stack in enumerate(trace.stacks)
            for place in {of_frame[frame] for frame in stack}
            if place >= 0
        ]
        both = np.array(pairs, np.int64).reshape(-1, 2)
        return cls(both[:, 0].copy(), both[:, 1].copy(), len(trace.stacks), len(functions))

    def seen(self, stacks: Ints) -> Ints:
        """In how many samples, whose stacks are told, each function is."""
        samples = np.bincount(stacks, minlength=self.stacks)[self.stack]
        return np.bincount(self.function, samples, self.functions).astype(np.int64)

    def have(self, function: int) -> Bools:
        """Which stacks have a function."""
        found = np.zeros(self.stacks, np.bool_)
        found[self.stack[self.function == function]] = True
        return found

    def those_in(self, stacks: Ints) -> tuple[Ints, Ints]:
        """The functions of some stacks one behind the other, and how many each has."""
        first = np.searchsorted(self.stack, np.arange(self.stacks + 1))
        sizes = (first[1:] - first[:-1])[stacks]
        offset = np.arange(int(sizes.sum())) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        return self.function[np.repeat(first[stacks], sizes) + offset], sizes


@dataclass(frozen=True)
class _Seen:
    """A function that a rank was seen in, in some steps."""

    position: int
    function: int
    steps: Ints
    samples: float
    known: int
    """Steps of the rank."""


def recurring(
    own: OfRanks, members: Members, group: range
) -> Iterator[tuple[int, int, Ints, float]]:
    """What comes back after about as many steps, all the time, on some ranks.

    Position of the rank, function, steps in which it runs, and how many samples show it there.
    """
    seen = [one for one in _seen(own, members, group) if _may_recur(one)]
    for one, times in zip(seen, _times(seen, own), strict=True):
        if _recurs(times, one.known, own, one.position):
            yield one.position, one.function, times, one.samples


def _seen(own: OfRanks, members: Members, group: range) -> Iterator[_Seen]:
    """By rank and function the steps in which it was seen."""
    stacks, steps = zip(*(own.between(position) for position in group), strict=True)
    function, sizes = members.those_in(np.concatenate(stacks))
    if not len(function):
        return
    step = np.repeat(np.concatenate(steps), sizes)
    rank = np.repeat(np.repeat(np.arange(len(group)), [len(part) for part in steps]), sizes)
    span = int(step.max()) + 1
    key, counts = np.unique((rank * members.functions + function) * span + step, return_counts=True)
    ones, first = np.unique(key // span, return_index=True)
    edges = [*first.tolist(), len(key)]
    samples = np.add.reduceat(counts, first).tolist()
    for place, one in enumerate(ones.tolist()):
        position = group[one // members.functions]
        at = key[edges[place] : edges[place + 1]] % span
        known = len(own.ends[position])
        yield _Seen(position, one % members.functions, at, float(samples[place]), known)


def _may_recur(seen: _Seen) -> bool:
    """Whether it may, by the steps in which it was seen, as those in which it runs may be."""
    steps = seen.steps
    if not LEAST_TIMES <= len(steps) <= seen.known // 2:
        return False
    return bool(steps[-1] - steps[0] >= LEAST_SPAN * seen.known)


def _times(every: Sequence[_Seen], own: OfRanks) -> list[Ints]:
    """The steps in which functions run for long, of those in which they were seen; empty: unknown.

    What is long enough to be seen each time runs in these. What is shorter than two samples are
    apart was missed in some: it runs in all steps of the period that those seen agree on, where
    these take longer than the others. Samples that keep time with the steps are a period as well.
    """
    found: list[Ints] = [NONE] * len(every)
    asked: dict[int, list[int]] = {}
    for place, seen in enumerate(every):
        is_long = seen.samples >= FEWEST_SAMPLES * len(seen.steps)
        if is_long and is_steady(np.diff(seen.steps)):
            found[place] = seen.steps
        else:
            asked.setdefault(len(seen.steps), []).append(place)
    for places in asked.values():
        for place, times in zip(places, _periodic([every[at] for at in places]), strict=True):
            if len(times) and _take_longer(every[place], times, own):
                found[place] = times
    return found


def _take_longer(seen: _Seen, times: Ints, own: OfRanks) -> bool:
    """Whether the steps in which a function runs take longer than the others."""
    own_s = own.apart_s(seen.position) * seen.samples / len(times)
    lengths = np.diff(own.ends[seen.position])
    longer_s = _above(lengths, times - 1) * NS  # of the first step no beginning is known
    return longer_s >= MAIN * own_s


def _periodic(every: Sequence[_Seen]) -> Iterator[Ints]:
    """All steps of the longest period that most of a function's steps agree on; empty: none is.

    All have been seen in as many steps. All periods are looked at in one table: most numbers of a
    row are alike only where the one in its middle is what they are.
    """
    count = len(every[0].steps)
    most = max(seen.known for seen in every) // count
    periods = np.arange(2, most + 1)
    at_once = max(1, MOST_AT_ONCE // (most * count))
    for first in range(0, len(every), at_once):
        some = every[first : first + at_once]
        steps = np.array([seen.steps for seen in some])
        places = np.sort(steps[:, None] % periods[:, None], axis=2)
        usual = places[:, :, count // 2]
        shares = np.count_nonzero(places == usual[:, :, None], axis=2) / count
        for seen, own_shares, own_usual in zip(some, shares, usual, strict=True):
            yield _longest(seen, own_shares, own_usual)


def _longest(seen: _Seen, shares: Floats, usual: Ints) -> Ints:
    """All steps of the longest period; by period, from 2 on, who agrees and on which place."""
    steps, known = seen.steps, seen.known
    agree = np.flatnonzero(shares[: known // len(steps) - 1] >= AGREE)
    for row in agree[::-1].tolist():
        share, every = float(shares[row]), row + 2
        if len(steps) * surprise(share, 1.0 / every) > np.log(known):
            first = int(steps[0]) + (int(usual[row]) - int(steps[0])) % every
            return np.arange(first, int(steps[-1]) + 1, every)
    return NONE


def _above(values: Ints, steps: Ints) -> float:
    """By how much the median of some steps is above that of all others."""
    here = np.zeros(len(values), np.bool_)
    here[steps] = True
    return float(np.median(values[here]) - np.median(values[~here])) if not here.all() else 0.0


def _recurs(times: Ints, known: int, own: OfRanks, position: int) -> bool:
    """Whether what runs in some steps comes back after about as many, all the time."""
    if len(times) < LEAST_TIMES or times[-1] - times[0] < LEAST_SPAN * known:
        return False
    least = own.exchange(position).least_every(times)
    apart = np.median(np.diff(times))
    return bool(least is not None and apart >= least and least * len(times) <= known)
