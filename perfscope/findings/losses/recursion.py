"""Functions of the program that call themselves: they may compute the same many times."""

from collections.abc import Sequence
from collections.abc import Set as AbstractSet

import numpy as np

from perfscope.attribution.feeding import looks
from perfscope.attribution.stack_rules import NATIVE_FILES
from perfscope.findings.facts.facts import Facts
from perfscope.findings.losses.changes import OF_RECURSION
from perfscope.findings.losses.groups import Group
from perfscope.judging import MAIN
from perfscope.schema.enums import Activity


def change(run: Facts, group: Group) -> str:
    """What to change about Python code of a function that calls itself; "" of anything else."""
    first, trace = group.entries[0], run.results.trace
    if first.cause.activity is not Activity.INTERPRETER or first.frame is None:
        return ""
    own = {n for n, frame in enumerate(trace.frames) if frame.key == first.frame.key}
    native = {n for n, frame in enumerate(trace.frames) if frame.file in NATIVE_FILES}
    met, seen, within = looks(trace), 0, 0
    for number in np.flatnonzero(met).tolist():
        stack = trace.stacks[number]
        seen += int(met[number]) * (not own.isdisjoint(stack))
        within += int(met[number]) * _calls_itself(stack, own, native)
    return OF_RECURSION if within > MAIN * seen else ""


def _calls_itself(stack: Sequence[int], own: AbstractSet[int], native: AbstractSet[int]) -> bool:
    """Whether one of some frames is twice in a stack, with code of Python alone in between.

    Other functions may have the same name: one that calls itself does so at one line. What a
    library calls back, as a generator that is added up, is a part of the function that it is in.
    """
    met = set[int]()
    for number in stack:
        if number in met:
            return True
        if number in native:
            met.clear()
        elif number in own:
            met.add(number)
    return False
