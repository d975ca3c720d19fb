"""Which stacks compute in calls of a library that are over as soon as empty ones."""

from collections.abc import Iterator

import numpy as np

from perfscope.arrays import Bools
from perfscope.attribution.activity_rules import is_trainer, module_of
from perfscope.attribution.stack_rules import NATIVE_FILES, SYSTEM_CALL, is_user_file
from perfscope.trace.model import Frame, Function, Trace
from perfscope.trace.small_calls import empty_calls, small_calls

_TENSORS = "torch"
_OF_MODELS = "torch.nn", "torch.optim", "torch.autograd", "torch._dynamo"
"""Parts of PyTorch in which models compute: their calls do more with larger batches."""

UNNAMED = ""
"""The library of a method of an object whose type nobody named: `.item`."""


def is_small_work(trace: Trace, may_compute: Bools) -> Bools:
    """Which of the stacks that may compute do so in a loop of the program's over small calls.

    What a model computes is not told: each of its layers depends on the one before it. Only calls
    of libraries count of which it was timed what one on a single value takes, and methods of
    objects that nobody named where the same function calls such a library.
    """
    found = np.zeros(len(trace.stacks), np.bool_)
    small = small_calls(trace) if may_compute.any() else {}
    if not small:
        return found
    calling = callers(trace)
    libraries = {*empty_calls(trace.ranks), UNNAMED}
    of_models = [_is_of_models(frame) for frame in trace.frames]
    for number, (own, inside) in _called(trace):
        is_small = may_compute[number] and own in small and own.key in calling
        if is_small and not any(of_models[one] for one in trace.stacks[number]):
            waits = bool(inside) and inside[-1].file == SYSTEM_CALL
            found[number] = any(_library(one) in libraries for one in inside) and not waits
    return found


def callers(trace: Trace) -> set[Function]:
    """The functions of the program that call libraries of which that was timed."""
    libraries = empty_calls(trace.ranks)
    return {
        own.key
        for _, (own, inside) in _called(trace)
        if any(_library(one) in libraries for one in inside)
    }


def _called(trace: Trace) -> Iterator[tuple[int, tuple[Frame, list[Frame]]]]:
    """By stack the innermost frame of the program, and what it calls, the innermost last."""
    is_user = [is_user_file(frame.file) for frame in trace.frames]
    for number, stack in enumerate(trace.stacks):
        own = next((at for at in reversed(range(len(stack))) if is_user[stack[at]]), None)
        if own is not None:
            inside = [trace.frames[one] for one in stack[own + 1 :]]
            yield number, (trace.frames[stack[own]], inside)


def _is_of_models(frame: Frame) -> bool:
    module = module_of(frame.file)
    if module.partition(".")[0] != _TENSORS:
        return bool(module) and is_trainer(frame)
    return any(module == one or module.startswith(f"{one}.") for one in _OF_MODELS)


def _library(frame: Frame) -> str:
    """The library that a frame is of, by the first part of its name."""
    name = frame.function if frame.file in NATIVE_FILES else module_of(frame.file)
    return name.partition(".")[0]
