"""What optimizers of PyTorch keep from step to step, such as momentum: values that decay.

Only the place of a tensor's memory is asked for; what is there is copied by the kernel, as for all
operands. It is taken note of at the line of the program that has the optimizer step.
"""

from __future__ import annotations

import sys
import time

from .. import files, notes, operand_arrays, operands
from ..pace import Budget

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Iterator

_EVERY_NS = 200000000
_MOST = 4
"""Tensors that are looked at each time, the largest."""

_MOST_FRAMES = 32

_budget = Budget()
next_ns = 0
"""When a look is due again."""


def look(optimizer: Any) -> None:
    """Looks at what an optimizer keeps, if that is due, where the program had it step."""
    global next_ns
    now_ns, looker = time.monotonic_ns(), operands.looker
    if now_ns < next_ns:
        return
    next_ns = now_ns + _EVERY_NS
    if looker is None or not _budget.is_left():
        return
    try:
        frame = _program_frame()
        if frame is not None:
            for name, tensor in _largest(optimizer):
                array = array_of(tensor)
                if array is not None:
                    looker.sees(frame.f_code, frame.f_lasti, "optimizer.state." + name, array)
    except Exception as error:
        next_ns = sys.maxsize
        notes.failure("states of optimizers are not looked at", error)
    _budget.spent_ns += time.monotonic_ns() - now_ns


def _program_frame() -> Any:
    """The frame of the program that has it step; None where it is in none that is near."""
    frame: Any = sys._getframe(2)
    for _ in range(_MOST_FRAMES):
        if frame is None or files.is_program(frame.f_code.co_filename):
            return frame
        frame = frame.f_back
    return None


def _largest(optimizer: Any) -> list[tuple[str, Any]]:
    return sorted(_kept(optimizer), key=lambda one: -one[1].numel())[:_MOST]


def _kept(optimizer: Any) -> Iterator[tuple[str, Any]]:
    """The dense tensors that an optimizer keeps, with the names that it keeps them by."""
    tensor = sys.modules["torch"].Tensor
    for state in list(optimizer.state.values()):
        if isinstance(state, dict):
            for name, value in state.items():
                if type(value) is tensor and value.dim() and not value.is_sparse:
                    yield str(name), value


def array_of(tensor: Any) -> operand_arrays.Array | None:
    """Where the values of a tensor lie; None of one that is not dense, or elsewhere."""
    form = tensor.dtype, tensor.device, tensor.layout, tensor.requires_grad, tensor.shape
    return operand_arrays.of_torch([*form, tensor.stride(), address_of(tensor)])


def address_of(tensor: Any) -> int:
    """Where a tensor begins; `data_ptr` would give one memory of its own that shares another's."""
    of_storage = getattr(sys.modules["torch._C"], "_data_address", None)
    if of_storage is None:
        return int(tensor.data_ptr())
    begin = int(of_storage(tensor))
    return begin and begin + int(tensor.storage_offset()) * int(tensor.element_size())
