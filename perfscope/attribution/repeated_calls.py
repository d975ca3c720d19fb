"""The calls that end the steps of a rank: a turn of the loop, of those in its calls, that is one.

Of loops inside each other, the outermost is the step that turns at least as often as those in it
do in each of its turns: few parts in each of many steps, or few epochs of many steps each. What is
rare may come now and then, or mark the turns of an outer loop: calls are looked at with the rare
ones first, then without. Where an inner loop adds up arrays over the ranks, and the one around it
hardly does, the inner one trains: its turns are the steps, however many epochs are around them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from perfscope.arrays import Bools, Ints
from perfscope.attribution.cycles import (
    LIKE_ITSELF,
    LITTLE,
    MIN_PERIODS,
    NO_WORK,
    NONE,
    OFTEN,
    are_by_lot,
    by_chance,
    longest_of,
    outer_is_step,
)
from perfscope.attribution.nesting import MOST_EVENTS, Loop, Nest, like
from perfscope.judging import AT_THE_DOOR_NS, MAIN
from perfscope.structures import dataclass

FIGURES = 64
"""Bytes of some numbers: a reduction of more adds up an array, such as gradients."""


@dataclass(frozen=True)
class Calls:
    """A rank's calls in order."""

    token: Ints
    """Equal for calls that are alike."""
    moved: Ints  # bytes
    reduced: Ints  # bytes that are added up
    work: Ints  # nanoseconds before each
    is_common: Bools  # all ranks come together in it
    loops: Ints  # of the program that it is in, by token; negative where that is not known

    def of(self, rows: Ints) -> Calls:
        """Some of them; work between calls that are left out is before the next one that is not."""
        worked = np.cumsum(self.work)[rows]
        return replace(
            self,
            token=self.token[rows],
            moved=self.moved[rows],
            reduced=self.reduced[rows],
            work=np.diff(worked, prepend=0),
            is_common=self.is_common[rows],
        )


def step_marks(calls: Calls) -> Ints:
    """The calls that end the steps, in order; empty where nothing repeats."""
    counts = np.bincount(calls.token, minlength=1)
    for least in _frequencies(counts):
        rows = np.flatnonzero(counts[calls.token] >= least)
        begin = max(0, len(rows) - MOST_EVENTS) // 2
        seen = rows[begin : begin + MOST_EVENTS]
        if by_chance(calls.token[seen]):
            continue
        found = _marks(calls.of(seen), len(rows) / len(seen))
        if len(found):
            of_all = like(calls.token[rows], begin + np.arange(len(seen)), begin + found)
            return rows[of_all] if len(rows) > len(seen) else rows[found]
    return NONE


def _frequencies(counts: Ints) -> Iterator[int]:
    """How often calls must come to be looked at, the least first; calls of a loop have as many."""
    levels, left = list[int](), counts[counts >= MIN_PERIODS]
    while len(left):
        levels.append(max(MIN_PERIODS, int(MAIN * left.max())))
        left = left[left < levels[-1]]
    return reversed(levels)


def _marks(calls: Calls, whole: float) -> Ints:
    """The calls that mark the turns of the loop that is a step, in so many times as many calls."""
    nest = Nest(calls.token)
    outermost, share = nest.main
    if outermost is None or share < LIKE_ITSELF:
        return NONE
    loop = _step_of(nest, outermost, calls, whole)
    if loop is None:
        return NONE
    found = _of_loop(nest, loop, calls)
    if len(loop.body) > 1:
        return found
    worked = np.append(np.cumsum(calls.work), calls.work.sum())
    return found[_ends_of_groups(np.diff(worked[found], append=worked[-1]))]


def _step_of(nest: Nest, loop: Loop, calls: Calls, whole: float) -> Loop | None:
    """Of a loop and those in it, the one whose turns are steps."""
    times, inside = int(loop.turns.sum()), nest.inside(loop)
    often = loop if times >= MIN_PERIODS else None
    if not inside:
        return often
    trains = [inner for inner in inside if _trains(loop, inner, calls)]
    inner = (trains or inside)[0]
    found = _step_of(nest, inner, calls, whole)
    if found is None or (often and _share(loop, inner, calls.work) < LITTLE):
        return often
    is_outer = (
        outer_is_step(round(whole * times), int(found.turns.sum()) / times)
        and not trains
        and not _is_now_and_then(nest, loop, inner)
        and _is_nested(nest, inner, calls)
    )
    return loop if is_outer else found


def _is_now_and_then(nest: Nest, loop: Loop, inner: Loop) -> bool:
    """Whether what is around an inner loop may only be something that some of its turns have.

    So it is where it holds such a turn, with more in it; and where other calls come as if by lot.
    """
    if _holds(loop.body, inner.body):
        return True
    turns, own = inner.turns, {one for one in loop.body if one not in nest.loops}
    is_constant = not np.ptp(turns) or not own.isdisjoint(nest.tokens(inner))
    return not is_constant and are_by_lot(np.cumsum(turns))


def _is_nested(nest: Nest, inner: Loop, calls: Calls) -> bool:
    """Whether the program's own loops allow for an inner one to be in another: two are around it.

    If there is one only, what comes rarely is done in some of its turns.
    """
    return int(calls.loops[list(nest.tokens(inner))].max()) != 1


def _trains(loop: Loop, inner: Loop, calls: Calls) -> bool:
    """Whether an inner loop adds up arrays in each turn, and what is around it hardly does."""
    added = _in_turn(inner, calls.reduced)
    return added > FIGURES and _share(loop, inner, calls.reduced) > 1.0 - LITTLE


def _share(loop: Loop, inner: Loop, amount: Ints) -> float:
    """Of what the calls of a loop have of something, what those of a loop in it have."""
    whole = _in_turn(loop, amount)
    return _in_turn(inner, amount) * float(np.mean(inner.turns)) / whole if whole else 0.0


def _in_turn(loop: Loop, amount: Ints) -> float:
    """How much of something the calls of a turn have, mean; of first turns it is not known."""
    summed = np.cumsum(amount)
    turns: list[Ints] = [np.diff(summed[one[:, -1]]) for one in loop.entries]
    return float(np.mean(np.concatenate(turns)))


def _of_loop(nest: Nest, loop: Loop, calls: Calls) -> Ints:
    """The calls that mark the turns of a loop, also of those that have something else in them.

    Calls of all ranks before others, so that ranks agree, and of these the one that carries most;
    else the one after which most work follows. An inner loop may not turn at all.
    """
    ends = np.concatenate(loop.entries)
    leaves = [place for place, one in enumerate(loop.body) if one not in nest.loops]
    wanted = np.array(leaves or range(len(loop.body)), np.int64)
    common = wanted[calls.is_common[ends[0, wanted]]]
    if len(common):
        carried = np.median(calls.moved[ends[:, common]], axis=0)
        place = int(common[np.flatnonzero(carried == carried.max())[-1]])
    else:
        follows = np.median(np.append(calls.work, 0)[ends[:, wanted] + 1], axis=0)
        place = int(wanted[np.argmax(follows)])
    found, symbol = [ends[:, place]], loop.body[place]
    if leaves and loop.body.count(symbol) == 1:
        found += _elsewhere(nest, loop, symbol)
    return np.sort(np.concatenate(found))


def _elsewhere(nest: Nest, loop: Loop, symbol: int) -> list[Ints]:
    """Where a symbol of a loop's body stands in turns that have something else in them as well."""
    around, found = {loop.symbol}, list[Ints]()
    for outer in nest.loops.values():
        if around.isdisjoint(outer.body):
            continue
        around.add(outer.symbol)
        if _holds(outer.body, loop.body):
            place = outer.body.index(symbol)
            found += [entry[:, place] for entry in outer.entries]
    return [*found, nest.ends[nest.symbols == symbol]]


def _holds(whole: tuple[int, ...], parts: tuple[int, ...]) -> bool:
    """Whether parts come in a body in this order, with others between them: a turn with more."""
    left, size = iter(whole), len(parts)
    is_alone = any(whole[place : place + size] == parts for place in range(len(whole)))
    return all(part in left for part in parts) and not is_alone


def _ends_of_groups(behind: Ints) -> Ints:
    """Of equal events the last one of each group; each is one where work follows all alike.

    A group has no work inside: one exchange that sends there and back.
    """
    every, place = longest_of(behind)
    if not every:
        every, place = _few_groups(behind[:-1])  # what is behind the last one is not known
    if not every:
        return np.arange(len(behind))
    at = np.arange(len(behind)) % every == place
    most = min(AT_THE_DOOR_NS, NO_WORK * float(np.median(behind[at])))
    is_group = np.median(behind[~at]) < most
    return np.flatnonzero(at) if is_group else np.arange(len(behind))


def _few_groups(behind: Ints) -> tuple[int, int]:
    """How many events each group has, and where the first one ends; (0, 0): there are none.

    Of events that are too few for statistics all must agree: behind the last of each group there is
    more work than behind any other.
    """
    order = np.argsort(-behind, kind="stable")
    for count in range(min(OFTEN, len(behind) // 2 + 1), 1, -1):
        longest = np.sort(order[:count])
        place, every = int(longest[0]), int(longest[1] - longest[0])
        is_regular = np.all(np.diff(longest) == every) and every > 1
        if is_regular and place < every and longest[-1] + every >= len(behind):
            return every, place
    return 0, 0
