"""Loops around what repeats: where several exchanges make up a step, a step is a turn around them.

Calls alone do not tell four rounds of exchange in each sweep from an evaluation in every fourth
step: both have one long stretch in four. The program's own loops do. What makes a stretch long
lies outside the loop that has the exchange in it, or it is a part of that loop's turn that comes
with some turns only. And where calls come from lines of their own, or work between them is that of
functions of its own each time, they are of one turn together.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence

import numpy as np

from perfscope.arrays import Bools, Ints
from perfscope.attribution.cycles import NEAR_BEST, longest_of
from perfscope.attribution.stack_rules import is_user_file
from perfscope.judging import FEWEST_SAMPLES
from perfscope.matching.intervals import Times
from perfscope.structures import dataclass
from perfscope.trace.loops import Lines, innermost, loops_of
from perfscope.trace.model import Function, Rank, Table, Trace
from perfscope.trace.operations import REDUCES

_Place = tuple[Function, int]
_Chain = tuple[_Place, ...]
"""The program's own functions of a stack and their lines, outermost first."""


@dataclass(frozen=True)
class _Loop:
    """A loop of a function, as one way of calls leads to it."""

    callers: _Chain
    function: Function
    lines: Lines

    def has(self, chain: _Chain) -> bool:
        """Whether a stack is inside the loop."""
        level = len(self.callers)
        if len(chain) <= level or chain[:level] != self.callers:
            return False
        function, line = chain[level]
        return function == self.function and self.lines[0] <= line <= self.lines[1]


def around(trace: Trace, ends: Times, ranks: Sequence[int]) -> Times:
    """The ends of the turns of the loop around those given, or these where there is none.

    Work whose results the ranks add up in each turn trains by that: its turns stay the steps.

    Args:
        trace: the run.
        ends: of each turn on each rank, shape (turns, ranks).
        ranks: the places of those that are looked at.
    """
    chains = _chains(trace)
    if (parts := _parts(trace, ends, ranks, chains)) > 1:
        return ends[parts - 1 :: parts]
    lengths = np.diff(ends, axis=0).mean(axis=1)
    every, place = longest_of(lengths)
    if not every:
        return ends
    loops = loops_of(trace.ranks)
    if not loops:
        return ends
    outside = inside = 0.0
    if _have_own_sites([_sites(trace.ranks[one], ends[:, one], every, chains) for one in ranks]):
        return ends[place::every]
    for number in ranks:
        rank, own = trace.ranks[number], ends[:, number]
        loop = _loop_of_calls(rank, own, chains, loops)
        if loop is not None:
            more, less = _extra(rank, own, chains, (every, place), loop)
            outside, inside = outside + more, inside + less
    return ends[place::every] if outside > max(inside, 0.0) else ends


def _chains(trace: Trace) -> list[_Chain]:
    """Of each stack the program's own functions."""
    own = [is_user_file(frame.file) for frame in trace.frames]
    frames = [(frame.key, frame.line) for frame in trace.frames]
    return [tuple(frames[one] for one in stack if own[one]) for stack in trace.stacks]


def _sites(rank: Rank, ends: Ints, every: int, chains: list[_Chain]) -> Counter[tuple[_Chain, int]]:
    """In which calls at which place of the period samples show which lines, and how often."""
    rows, turn = _marking(rank, ends)
    if not len(rows):
        return Counter()
    row, in_call = _in_calls(rank, rows)
    stacks = rank.main_stacks["stack"][in_call].tolist()
    places = (turn[row[in_call]] % every).tolist()
    return Counter((chains[stack], at) for stack, at in zip(stacks, places, strict=True))


def _have_own_sites(seen: Sequence[Counter[tuple[_Chain, int]]]) -> bool:
    """Whether calls at some places of the period are made at lines of their own: of one turn."""
    whole = Counter[tuple[_Chain, int]]()
    for one in seen:
        whole.update(one)
    most: dict[_Chain, tuple[int, int]] = {}
    for (chain, at), count in whole.items():
        most[chain] = max(most.get(chain, (0, 0)), (count, at))
    sure = [(count, at) for count, at in most.values() if count >= FEWEST_SAMPLES]
    agreed = sum(count for count, _ in sure)
    return len({at for _, at in sure}) > 1 and agreed >= NEAR_BEST * whole.total()


def _parts(trace: Trace, ends: Times, ranks: Sequence[int], chains: list[_Chain]) -> int:
    """Of how many turns one is made up in which each does something of its own; 1 where none is.

    As in a step that updates one field after the other, and exchanges each. What is done in each
    turn is in all of its places where an evaluation comes in every fourth.
    """
    stack, turn = np.concatenate([_turns(trace.ranks[n], ends[:, n]) for n in ranks], axis=1)
    called = [(chain[:-1], chain[-1][0]) if chain else None for chain in chains]
    return max(_own_parts(_numbers(seen)[stack], turn, len(ends)) for seen in (chains, called))


def _turns(rank: Rank, ends: Ints) -> Ints:
    """Stack and turn of each sample in a turn that has a beginning and an end."""
    samples = rank.main_stacks
    turn = np.searchsorted(ends, samples["t"].astype(np.int64))
    known = (turn > 0) & (turn < len(ends))
    return np.stack([samples["stack"][known].astype(np.int64), turn[known]])


def _numbers(seen: Sequence[Hashable]) -> Ints:
    """The same number for what is equal."""
    numbers = {one: number for number, one in enumerate(dict.fromkeys(seen))}
    return np.array([numbers[one] for one in seen], np.int64)


def _own_parts(what: Ints, turn: Ints, turns: int) -> int:
    """The longest period in which what samples show tells the place; 1 where none does."""
    often = np.flatnonzero(np.bincount(what) >= FEWEST_SAMPLES)
    count, whole, found = len(often), len(what), 1
    is_seen = np.isin(what, often)
    kind, turn = np.searchsorted(often, what[is_seen]), turn[is_seen]
    for every in range(2, min(int(np.sqrt(turns)), count) + 1):  # each place has one of its own
        cells = np.bincount(kind * every + turn % every, minlength=count * every)
        most = cells.reshape(-1, every)
        is_own = most.max(axis=1).sum() >= NEAR_BEST * whole
        if is_own and len(np.unique(most.argmax(axis=1))) == every:
            found = every
    return found


def _marking(rank: Rank, ends: Ints) -> tuple[Table, Ints]:
    """The calls of the main thread at which turns end, and the turn of each."""
    here = np.flatnonzero(rank.operations["tid"] == rank.main_tid)
    left = rank.operations["t1"][here]
    turn = np.searchsorted(ends, left)
    is_mark = (turn < len(ends)) & (ends[np.minimum(turn, len(ends) - 1)] == left)
    return rank.operations[here[is_mark]], turn[is_mark]


def _in_calls(rank: Rank, rows: Table) -> tuple[Ints, Bools]:
    """For each sample of the main thread the last of some calls, and whether it is inside that."""
    samples = rank.main_stacks
    row = np.searchsorted(rows["t0"], samples["t"], side="left") - 1
    return row, (row >= 0) & (samples["t"] < rows["t1"][np.maximum(row, 0)])


def _loop_of_calls(
    rank: Rank, ends: Ints, chains: list[_Chain], loops: Mapping[Function, frozenset[Lines]]
) -> _Loop | None:
    """The innermost loop that has the calls in it at which turns end; None where none is seen."""
    rows = rank.operations[rank.operations["tid"] == rank.main_tid]
    marking = np.unique(_marking(rank, ends)[0]["op"])
    if len(marking) != 1 or REDUCES[marking[0]]:
        return None
    _, in_call = _in_calls(rank, rows[rows["op"] == marking[0]])
    seen = Counter(rank.main_stacks["stack"][in_call].tolist())
    found: Counter[_Loop] = Counter()
    for stack, count in seen.items():
        loop = _innermost(chains[stack], loops)
        if loop is not None:
            found[loop] += count
    return max(found, key=lambda one: (found[one], one.lines), default=None)


def _innermost(chain: _Chain, loops: Mapping[Function, frozenset[Lines]]) -> _Loop | None:
    for level in range(len(chain) - 1, -1, -1):
        function, line = chain[level]
        lines = innermost(loops.get(function, ()), line)
        if lines is not None:
            return _Loop(chain[:level], function, lines)
    return None


def _extra(
    rank: Rank, ends: Ints, chains: list[_Chain], period: tuple[int, int], loop: _Loop
) -> tuple[float, float]:
    """Samples of long turns beyond those of others: outside a loop, and inside it.

    Where there are too few outside they are none.
    """
    every, place = period
    samples = rank.main_stacks
    turn = np.searchsorted(ends, samples["t"].astype(np.int64)) - 1
    known = (turn >= 0) & (turn < len(ends) - 1)
    is_long = turn[known] % every == place
    stacks, size = samples["stack"][known].astype(np.int64), len(chains)
    long = np.bincount(stacks[is_long], minlength=size)
    other = np.bincount(stacks[~is_long], minlength=size) / (every - 1)
    is_inside = np.array([loop.has(chain) for chain in chains], np.bool_)
    more = long - other
    outside = float(more[~is_inside].sum())
    return outside if outside >= FEWEST_SAMPLES else 0.0, float(more[is_inside].sum())
