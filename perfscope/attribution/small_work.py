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
    for number in np.flatnonzero(may_compute).tolist():
        stack = trace.stacks[number]
        own = next((place for place in reversed(stack) if is_user[place]), None)
        is_other = _is_other(trace.frames[stack[-1]]) if stack else True
        is_other = is_other or any(of_models[one] for one in stack)
        found[number] = own is not None and is_small[own] and not is_other
    return found


def _is_of_models(frame: Frame) -> bool:
    module = module_of(frame.file)
    if module.partition(".")[0] != _TENSORS:
        return bool(module) and is_trainer(frame)
    return any(module == one or module.startswith(f"{one}.") for one in _OF_MODELS)


def _is_other(frame: Frame) -> bool:
    """Whether a thread waits in the kernel, or is in Python's own library."""
    if frame.file == SYSTEM_CALL:
        return True
    name = frame.function if frame.file in NATIVE_FILES else module_of(frame.file)
    return name.partition(".")[0] in sys.stdlib_module_names
