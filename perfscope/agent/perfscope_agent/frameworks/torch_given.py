"""What ranks give to large collectives of torch.distributed, before some of these begin.

Where all ranks give the same, each of them could compute by itself what comes back.
"""

from __future__ import annotations

import sys
import time

from .. import files, given, recorder
from ..pace import Budget
from ..places import Places
from . import torch_buffers, torch_volumes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .torch_groups import Group

_TAKEN = {
    "all_reduce": "tensor",
    "all_gather": "tensor",
    "all_gather_into_tensor": "input_tensor",
    "broadcast": "tensor",
    "gather": "tensor",
    "reduce": "tensor",
}
"""What all ranks give, or hold already, as much of each."""

_budget = Budget()


def begins(name: str, arguments: dict[str, Any], group: Group) -> None:
    """A collective comes that blocks: counts it, and looks at what it takes where that is due."""
    tensor = arguments.get(_TAKEN.get(name, ""))
    size = torch_volumes.nbytes(tensor)
    if size < given.LEAST_BYTES or len(group.ranks) < 2:
        return
    frame = files.program_frame(sys._getframe(2))
    if frame is None:
        return
    row = given.row("torch.distributed." + name, size, frame.f_code, frame.f_lasti)
    rec = recorder.current
    if row is None or rec is None or not row.is_due() or not _budget.is_left():
        return
    begin_ns = time.thread_time_ns()
    row.place = row.place or recorder.place_text(*Places().where(frame.f_code, frame.f_lasti))
    ordinal = group.next_ordinal
    content = torch_buffers.pieces(rec, tensor, ordinal)
    if content is not None:
        words = memoryview(content[: len(content) // 8 * 8]).cast("Q")
        varies = any(word != words[0] for word in words)
        row.see(group.ranks, len(group.ranks), ordinal, content, varies=varies)
    _budget.spent_ns += time.thread_time_ns() - begin_ns
