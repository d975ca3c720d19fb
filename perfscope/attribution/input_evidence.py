"""Whether data that are sorted, parsed or put together are input of what follows.

The same calls are the work itself in one program and its preparation in another: a regular
expression may be all that a job is for. So who calls them has to show that they work on input.
"""

from collections.abc import Sequence

import numpy as np

from perfscope.attribution.activity_rules import Told, is_trainer
from perfscope.attribution.stack_rules import TRAINING_KINDS
from perfscope.schema.enums import Activity
from perfscope.trace.model import Function, Trace

_READS = frozenset({Activity.FILES, Activity.NETWORK, Activity.DATA_PREPARATION})
_MEETS = frozenset({Activity.COMMUNICATION, Activity.SERIALIZATION})


def is_input(
    trace: Trace, told: Sequence[Told | None], is_user: Sequence[bool], found: Sequence[Told]
) -> list[bool]:
    """For each stack whether what it shows, of those that may prepare data, does so.

    In a program that trains a model it does, outside of the model: there it ends in a batch. In any
    other one a function, or what calls it, has to read files or a data set at other times; who
    communicates is no reader but the loop around everything.

    Args:
        trace: the trace with its stacks and frames.
        told: by frame what it tells.
        is_user: by frame whether it is of the user's code.
        found: by stack what it shows, before it is known what is input.
    """
    if not any(one.prepares for one in found):
        return [False] * len(found)
    callers = [_callers(trace, is_user, stack) for stack in trace.stacks]
    seen = list(zip(callers, found, strict=True))
    meeting = {mine[0] for mine, one in seen if mine and one.activity in _MEETS}
    reading = {
        caller
        for mine, one in seen
        if one.activity in _READS
        for caller in mine
        if caller not in meeting
    }
    trains = _trains(trace)
    return [
        one.prepares
        and ((trains and not _in_model(trace, told, is_user, stack)) or bool(reading & set(mine)))
        for stack, mine, one in zip(trace.stacks, callers, found, strict=True)
    ]


def _callers(trace: Trace, is_user: Sequence[bool], stack: Sequence[int]) -> list[Function]:
    """The user's innermost function of a stack and the one that calls it; no code of a module."""
    frames = (trace.frames[place] for place in reversed(stack) if is_user[place])
    named = (frame.key for frame in frames if frame.function != "<module>")
    return list(dict.fromkeys(named))[:2]


def _trains(trace: Trace) -> bool:
    """Whether marks or libraries tell that a model is trained."""
    return any(is_trainer(frame) for frame in trace.frames) or any(
        np.any(np.isin(rank.phases["kind"], TRAINING_KINDS)) for rank in trace.ranks
    )


def _in_model(
    trace: Trace, told: Sequence[Told | None], is_user: Sequence[bool], stack: Sequence[int]
) -> bool:
    """Whether a library that trains calls the user's function, as a model calls its layers."""
    frames = trace.frames
    inside = [place for place in stack if is_user[place]]
    outer = stack[: stack.index(inside[-1])] if inside else ()
    numeric = (one for place in outer if is_trainer(frames[place]) and (one := told[place]))
    return any(one.activity is Activity.NUMERIC for one in numeric)
