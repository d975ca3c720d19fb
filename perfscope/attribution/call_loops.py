"""In how many of the program's loops its calls are made, as far as samples inside them show it."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from perfscope.arrays import Ints
from perfscope.attribution.stack_rules import is_user_file
from perfscope.judging import FEWEST_SAMPLES
from perfscope.matching.intervals import Times
from perfscope.trace.loops import Lines, loops_of
from perfscope.trace.model import Function, Rank, Trace

Place = tuple[Function, Lines]
"""A loop: its function, and its lines."""


def loops_around(trace: Trace) -> Ints:
    """For each stack the number of loops that its functions are in; -1 where one may be hid.

    Between two functions of the program may be some of a library, with loops that nobody knows.
    """
    found = np.full(len(trace.stacks), -1, np.int64)
    for number, loops in enumerate(nested_loops(trace)):
        stack = enumerate(trace.stacks[number])
        own = [place for place, frame in stack if is_user_file(trace.frames[frame].file)]
        if own and len(own) == own[-1] - own[0] + 1:
            found[number] = len(loops)
    return found


def nested_loops(trace: Trace) -> list[tuple[Place, ...]]:
    """For each stack the loops that its functions are in, outermost first; empty: none is told."""
    loops = loops_of(trace.ranks)
    around = [
        [(frame.key, lines) for lines in _around(loops.get(frame.key, ()), frame.line)]
        for frame in trace.frames
    ]
    stacks = trace.stacks if loops else ()
    return [tuple(one for frame in stack for one in around[frame]) for stack in stacks]


def _around(loops: Iterable[Lines], line: int) -> list[Lines]:
    return sorted(
        (lines for lines in loops if lines[0] <= line <= lines[1]),
        key=lambda lines: (lines[0], -lines[1]),
    )


def depths(rank: Rank, around: Ints, token: Ints, enter: Times, leave: Times) -> Ints:
    """For each kind of call the loops that it usually is in; -1 where too few samples tell.

    Args:
        rank: the rank whose calls they are.
        around: of `loops_around`.
        token: the kind of each call.
        enter: when it began, ascending.
        leave: when it ended.
    """
    samples = rank.main_stacks
    at, stack = samples["t"].astype(np.int64), samples["stack"].astype(np.int64)
    call = np.searchsorted(enter, at, side="right") - 1
    inside = (call >= 0) & (at <= leave[np.maximum(call, 0)]) & (around[stack] >= 0)
    kinds, depth = token[call[inside]], around[stack[inside]]
    seen = np.zeros((int(token.max(initial=-1)) + 1, int(depth.max(initial=0)) + 1), np.int64)
    np.add.at(seen, (kinds, depth), 1)
    return np.where(seen.sum(axis=1) >= FEWEST_SAMPLES, seen.argmax(axis=1), -1)
