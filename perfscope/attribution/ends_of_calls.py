"""Samples of what a call does last, which were taken at the function of C behind it on the line.

The interpreter lets another thread look behind functions of C and at the start of functions of
Python, but not where one of these returns. What that takes there, such as giving back the memory
of its arrays, is seen at the next function of C: at the `float` of `scores.append((fit(x),
float(y)))`. Python's own functions hold the lock while they run, so that nobody sees into them.
"""

from collections import defaultdict
from dataclasses import replace

import numpy as np

from perfscope.arrays import Ints
from perfscope.attribution.stack_rules import BUILT_IN, NATIVE_FILES
from perfscope.trace.model import Frame, Rank, Trace

HOLDS_THE_LOCK = "builtins."


def with_ends_of_calls(trace: Trace) -> Trace:
    """The trace, in which such samples are of the call that the line has made before.

    They are where one of Python's own functions is mostly seen right after a call of the same line
    that itself is seen more often. Otherwise it is that function that takes the time.
    """
    behind = _behind(trace)
    if not behind:
        return trace
    return replace(trace, ranks=[_with_ends(rank, behind) for rank in trace.ranks])


def _behind(trace: Trace) -> dict[int, set[int]]:
    """By stack that ends in a function that holds the lock, the stacks of calls on its line."""
    ends: defaultdict[tuple[int, ...], list[int]] = defaultdict(list)
    for number, stack in enumerate(trace.stacks):
        if len(stack) > 1 and _holds(trace.frames[stack[-1]]):
            ends[tuple(stack[:-1])].append(number)
    found: defaultdict[int, set[int]] = defaultdict(set)
    depths = sorted({len(stack) for stack in ends})
    for number, stack in enumerate(trace.stacks) if ends else ():
        for depth in [one for one in depths if one < len(stack)]:
            here = ends.get(tuple(stack[:depth]))
            if here and trace.frames[stack[depth]].file not in NATIVE_FILES:
                for end in here:
                    found[end].add(number)
    return found


def _holds(frame: Frame) -> bool:
    return frame.file == BUILT_IN and frame.function.startswith(HOLDS_THE_LOCK)


def _with_ends(rank: Rank, behind: dict[int, set[int]]) -> Rank:
    rows = rank.stacks
    main = np.flatnonzero(rows["tid"] == rank.main_tid)
    main = main[np.argsort(rows["t"][main], kind="stable")]
    seen: Ints = rows["stack"][main].astype(np.int64)
    changed = seen.copy()
    for end, calls in behind.items():
        here, called = np.flatnonzero(seen == end), np.flatnonzero(np.isin(seen, list(calls)))
        if not len(here) or len(called) <= len(here):
            continue
        begins = here[np.diff(here, prepend=-2) > 1]
        follows = np.isin(begins - 1, called)
        if 2 * np.count_nonzero(follows) <= len(begins):
            continue
        last = np.searchsorted(called, here) - 1
        changed[here[last >= 0]] = seen[called[last[last >= 0]]]
    if np.array_equal(changed, seen):
        return rank
    table = rows.copy()
    table["stack"][main] = changed
    return replace(rank, stacks=table)
