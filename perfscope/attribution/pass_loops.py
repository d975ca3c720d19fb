"""Loops that go round inside a step, before its backward pass, and call a library in each turn."""

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from perfscope.arrays import Floats
from perfscope.attribution.activity_rules import module_of
from perfscope.attribution.call_loops import Place, nested_loops
from perfscope.attribution.focus import Focus
from perfscope.attribution.stack_rules import BUILT_IN, is_user_file
from perfscope.attribution.timeline import Timeline
from perfscope.structures import dataclass
from perfscope.trace.model import Frame, Trace


@dataclass(frozen=True)
class PassLoop:
    """The loop of a program in whose turns a library works longest, outside of backward passes."""

    frame: Frame  # where it begins
    ns: Mapping[int, int]  # work in the loop by rank


def pass_loop(
    trace: Trace,
    timelines: Sequence[Timeline],
    focus: Focus,
    backward: Mapping[int, Frame],
    package: str,
) -> PassLoop | None:
    """The loop whose turns have most of a library's work that is not around the backward passes.

    Args:
        trace: the trace with its stacks.
        timelines: of the ranks, in their order.
        focus: what is analyzed.
        backward: by what `Timeline.phases` say of backward passes where the program asks for them.
        package: the library.
    """
    nested = nested_loops(trace)
    if not nested:
        return None
    stacks = len(trace.stacks)
    asking = {number for number, one in enumerate(trace.frames) if one in backward.values()}
    around = {
        loop
        for own, loops in zip(trace.stacks, nested, strict=True)
        if not asking.isdisjoint(own)
        for loop in loops
    }
    inner = [next((one for one in reversed(own) if one not in around), None) for own in nested]
    spent = [
        one.by_stack(one.work(focus) & ~np.isin(one.phases, list(backward)), stacks)
        for one in timelines
    ]
    whole: Floats = sum(spent, np.zeros(stacks))
    called: Counter[Place] = Counter()
    for stack in np.flatnonzero(whole).tolist():
        loop = inner[stack]
        if loop is not None and _is_in(trace, stack, package):
            called[loop] += int(whole[stack])
    if not called:
        return None
    chosen = (function, file), lines = called.most_common(1)[0][0]
    inside = [stack for stack in np.flatnonzero(whole).tolist() if inner[stack] == chosen]
    return PassLoop(
        frame=Frame(function, file, lines[0]),
        ns={
            rank.number: int(ns[inside].sum()) for rank, ns in zip(trace.ranks, spent, strict=True)
        },
    )


def _is_in(trace: Trace, stack: int, package: str) -> bool:
    """Whether what a stack's innermost line of the program calls belongs to a library."""
    frame = trace.frames[trace.stacks[stack][-1]]
    if is_user_file(frame.file):
        return False
    name = frame.function if frame.file == BUILT_IN else module_of(frame.file)
    return name.partition(".")[0] == package
