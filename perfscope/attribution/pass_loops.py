"""Loops that go round inside a step, before its backward pass, and call a library in each turn."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence

import numpy as np

from perfscope.arrays import Bools, Floats, Ints
from perfscope.attribution.activity_rules import module_of
from perfscope.attribution.call_loops import Place, nested_loops
from perfscope.attribution.focus import Focus
from perfscope.attribution.stack_rules import BUILT_IN, is_user_file
from perfscope.attribution.timeline import Timeline
from perfscope.judging import FEWEST_SAMPLES, MAIN
from perfscope.matching.intervals import Times
from perfscope.schema.enums import PhaseKind
from perfscope.structures import dataclass
from perfscope.trace.loops import counted_loops
from perfscope.trace.model import Frame, Trace

_BEFORE = frozenset((PhaseKind.TRAIN, PhaseKind.FORWARD))


@dataclass(frozen=True)
class Passes:
    """What is known of where backward passes are."""

    kinds: Mapping[int, PhaseKind]  # of phases, by what `Timeline.phases` say of them
    asking: Collection[Frame]  # where the program asks for them: loops around these are the steps
    starts_ns: Times  # of the steps: what follows a pass is not before that of the next one


def pass_loop(
    trace: Trace,
    timelines: Sequence[Timeline],
    focus: Focus,
    passes: Passes,
    package: str,
    turns: int,
) -> Frame | None:
    """Where a loop begins that turns so often before backward passes and has a library work most.

    How often it turns is what a variable that counts in it was seen to be; a loop without one is
    not known to be it.

    Args:
        trace: the trace with its stacks.
        timelines: of the ranks, in their order.
        focus: what is analyzed.
        passes: the backward passes.
        package: the library.
        turns: of the loop, at most; it may have turned half as often where it was looked at.
    """
    nested, turning = nested_loops(trace), _turning(trace, turns)
    if not nested or not turning:
        return None
    stacks = len(trace.stacks)
    numbers = {number for number, one in enumerate(trace.frames) if one in passes.asking}
    around = {
        loop
        for own, loops in zip(trace.stacks, nested, strict=True)
        if not numbers.isdisjoint(own)
        for loop in loops
    }
    inner = [next((one for one in reversed(own) if one not in around), None) for own in nested]
    whole: Floats = sum(
        (one.by_stack(one.work(focus) & _is_ahead(one, passes), stacks) for one in timelines),
        np.zeros(stacks),
    )
    called: Counter[Place] = Counter()
    for stack in np.flatnonzero(whole).tolist():
        loop = inner[stack]
        if loop is not None and loop in turning and _is_in(trace, stack, package):
            called[loop] += int(whole[stack])
    if not called:
        return None
    (function, file), lines = called.most_common(1)[0][0]
    return Frame(function, file, lines[0])


def _is_ahead(timeline: Timeline, passes: Passes) -> Bools:
    """Which stretches are before a step's backward pass, in the forward pass or in no phase."""
    phases: Ints = timeline.phases
    before = [-1, *(number for number, kind in passes.kinds.items() if kind in _BEFORE)]
    backward = [one for one, kind in passes.kinds.items() if kind is PhaseKind.BACKWARD]
    own = np.isin(phases, before)
    places = np.where(own, len(phases), np.arange(len(phases)))
    following = np.minimum.accumulate(places[::-1])[::-1]
    # of each stretch, and of the end
    step = np.searchsorted(passes.starts_ns, timeline.boundaries, side="right")
    is_in_step = step[:-1] == step[following]
    result: Bools = own & np.append(np.isin(phases, backward), False)[following] & is_in_step
    return result


def _turning(trace: Trace, turns: int) -> set[Place]:
    """The loops whose counters were seen to go as far as that, or more than half as far."""
    found = set()
    for rank in trace.ranks:
        for number, place in enumerate(counted_loops(rank)):
            values = rank.loop_turns["value"][rank.loop_turns["loop"] == number]
            if place is None or len(values) < FEWEST_SAMPLES:
                continue
            if MAIN * turns < int(np.ptp(values)) + 1 <= turns:
                found.add(place)
    return found


def _is_in(trace: Trace, stack: int, package: str) -> bool:
    """Whether what a stack's innermost line of the program calls belongs to a library."""
    frame = trace.frames[trace.stacks[stack][-1]]
    if is_user_file(frame.file):
        return False
    name = frame.function if frame.file == BUILT_IN else module_of(frame.file)
    return name.partition(".")[0] == package
