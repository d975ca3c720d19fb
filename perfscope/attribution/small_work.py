"""Which stacks compute in calls of a library that are over as soon as empty ones."""

import sys

import numpy as np

from perfscope.arrays import Bools
from perfscope.attribution.activity_rules import is_trainer, module_of
from perfscope.attribution.stack_rules import NATIVE_FILES, SYSTEM_CALL, is_user_file
from perfscope.trace.model import Frame, Trace
from perfscope.trace.small_calls import small_calls

_TENSORS = "torch"
_OF_MODELS = "torch.nn", "torch.optim", "torch.autograd", "torch._dynamo"
"""Parts of PyTorch in which models compute: their calls do more with larger batches."""


def is_small_work(trace: Trace, may_compute: Bools) -> Bools:
    """Which of the stacks that may compute do so in a loop of the program's over small calls.

    What a model computes is not told: each of its layers depends on the one before it. Python's own
    library computes with one number at a time, and does not take longer for that.
    """
    found = np.zeros(len(trace.stacks), np.bool_)
    small = small_calls(trace) if may_compute.any() else {}
    if not small:
        return found
    is_small = [frame in small for frame in trace.frames]
    is_user = [is_user_file(frame.file) for frame in trace.frames]
    of_models = [_is_of_models(frame) for frame in trace.frames]
    of_libraries = [_is_of_library(frame) for frame in trace.frames]
    for number in np.flatnonzero(may_compute).tolist():
        stack = trace.stacks[number]
        own = next((at for at, one in reversed(list(enumerate(stack))) if is_user[one]), None)
        if own is not None and is_small[stack[own]] and not any(of_models[one] for one in stack):
            inside = stack[own + 1 :]
            waits = trace.frames[stack[-1]].file == SYSTEM_CALL
            found[number] = any(of_libraries[one] for one in inside) and not waits
    return found


def _is_of_models(frame: Frame) -> bool:
    module = module_of(frame.file)
    if module.partition(".")[0] != _TENSORS:
        return bool(module) and is_trainer(frame)
    return any(module == one or module.startswith(f"{one}.") for one in _OF_MODELS)


def _is_of_library(frame: Frame) -> bool:
    """Whether a frame is of no part of Python's own library, as far as it has a name."""
    name = frame.function if frame.file in NATIVE_FILES else module_of(frame.file)
    return name.partition(".")[0] not in sys.stdlib_module_names
