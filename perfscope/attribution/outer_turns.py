"""Loops around what repeats: where several exchanges make up a step, a step is a turn around them.

Calls alone do not tell four rounds of exchange in each sweep from an evaluation in every fourth
step: both have one long stretch in four. The program's own loops do. What makes a stretch long
lies outside the loop that has the exchange in it, or it is a part of that loop's turn that comes
with some turns only.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from perfscope.arrays import Ints
from perfscope.attribution.cycles import longest_of
from perfscope.attribution.stack_rules import is_user_file
from perfscope.judging import FEWEST_SAMPLES
from perfscope.matching.intervals import Times
from perfscope.structures import dataclass
from perfscope.trace.loops import Lines, innermost, loops_of
from perfscope.trace.model import Function, Rank, Trace
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
    lengths = np.diff(ends, axis=0).mean(axis=1)
    every, place = longest_of(lengths)
    if not every:
        return ends
    loops = loops_of(trace.ranks)
    if not loops:
        return ends
    outside = inside = 0.0
    chains = _chains(trace)
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


def _loop_of_calls(
    rank: Rank, ends: Ints, chains: list[_Chain], loops: Mapping[Function, frozenset[Lines]]
) -> _Loop | None:
    """The innermost loop that has the calls in it at which turns end; None where none is seen."""
    rows = rank.operations[rank.operations["tid"] == rank.main_tid]
    marking = np.unique(rows["op"][np.isin(rows["t1"], ends)])
    if len(marking) != 1 or REDUCES[marking[0]]:
        return None
    rows = rows[rows["op"] == marking[0]]
    samples = rank.main_stacks
    row = np.searchsorted(rows["t0"], samples["t"], side="right") - 1
    in_call = (row >= 0) & (samples["t"] <= rows["t1"][np.maximum(row, 0)])
    seen = Counter(samples["stack"][in_call].tolist())
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
