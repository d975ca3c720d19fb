"""Work whose result training takes: acting that feeds each update is no evaluation."""

from collections import Counter, defaultdict
from collections.abc import Collection, Sequence

import numpy as np

from perfscope.attribution.stack_rules import is_user_file
from perfscope.judging import MAIN
from perfscope.places import named_function
from perfscope.trace.loops import passed_on
from perfscope.trace.model import Frame, Function, Trace


def feeding(trace: Trace, asked: Collection[Function]) -> frozenset[Function]:
    """Those whose result is mostly passed to a call that applies what they apply: the model.

    A policy acts, and what came of it updates the policy. The result of an evaluation is a figure:
    what it is passed to writes it down, compares it, or adds it up over the ranks.
    """
    passed = passed_on(trace.ranks)
    if not passed:
        return frozenset()
    looks = np.zeros(len(trace.stacks), np.int64)
    for rank in trace.ranks:
        looks += np.bincount(rank.main_stacks["stack"], minlength=len(looks))[: len(looks)]
    applied: defaultdict[Function, set[Function]] = defaultdict(set)
    callers: defaultdict[Function, Counter[Frame]] = defaultdict(Counter)
    under: defaultdict[Frame, list[Sequence[Function]]] = defaultdict(list)
    for number, stack in enumerate(trace.stacks):
        frames = [trace.frames[one] for one in stack]
        users = [one for one in frames if is_user_file(one.file) and _is_named(one)]
        names = [one.key for one in users]
        for place, frame in enumerate(users):
            if frame.key in passed:
                under[frame].append(names[place + 1 :])
            if place and frame.key in asked:
                applied[frame.key].update(names[place + 1 :])
                callers[frame.key][users[place - 1]] += int(looks[number])

    def feeds(one: Function, caller: Frame) -> bool:
        return any(
            one not in called and applied[one].intersection(called)
            for taker in _takers(caller, passed)
            for called in under[taker]
        )

    return frozenset(
        one
        for one in asked
        if sum(count for caller, count in callers[one].items() if feeds(one, caller))
        > MAIN * callers[one].total()
    )


def _takers(caller: Frame, passed: dict[Function, frozenset[tuple[int, int]]]) -> set[Frame]:
    """The places to which a function passes what a call at one of its lines returns."""
    lines = passed.get(caller.key, frozenset())
    return {Frame(*caller.key, taken) for made, taken in lines if made == caller.line}


def _is_named(frame: Frame) -> bool:
    """Whether it is no comprehension: these belong to the function that they stand in."""
    return named_function(frame.function) == frame.function
