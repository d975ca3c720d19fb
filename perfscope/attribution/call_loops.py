"""In how many of the program's loops its calls are made, as far as samples inside them show it."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from perfscope.arrays import Ints
from perfscope.attribution.stack_rules import is_user_file
from perfscope.judging import FEWEST_SAMPLES
from perfscope.matching.intervals import Times
from perfscope.trace.loops import Lines, loops_of
from perfscope.trace.model import Function, Rank, Trace


def loops_around(trace: Trace) -> Ints:
    """For each stack the number of loops that its functions are in; -1 where one may be hid.

    Between two functions of the program may be some of a library, with loops that nobody knows.
    """
    loops = loops_of(trace.ranks)
    is_own = [is_user_file(frame.file) for frame in trace.frames]
    count = [_loops_with(loops, frame.key, frame.line) for frame in trace.frames]
    found = np.full(len(trace.stacks), -1, np.int64)
    for number, stack in enumerate(trace.stacks) if loops else ():
        own = [place for place, frame in enumerate(stack) if is_own[frame]]
        if own and len(own) == own[-1] - own[0] + 1:
            found[number] = sum(count[stack[place]] for place in own)
    return found


def _loops_with(loops: Mapping[Function, frozenset[Lines]], function: Function, line: int) -> int:
    return sum(first <= line <= last for first, last in loops.get(function, ()))


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
