"""What Horovod's coordinator recorded about each tensor: readiness, negotiation and operations.

Times are those of the trace: int64 nanoseconds since its origin.
"""

from collections.abc import Sequence
from dataclasses import field

import numpy as np
import numpy.typing as npt

from perfscope.structures import dataclass

Table = npt.NDArray[np.void]

READINESS_DTYPE = np.dtype(
    [
        ("t0", "i8"),  # when the rank had the tensors ready
        ("t1", "i8"),  # when all ranks had told
        ("tid", "u4"),
        ("comm", "i4"),  # index in Trace.communicators, -1 none
        ("arrived", "i8"),  # tensors that became ready on this rank since the row before
        ("agreed", "i8"),  # tensors that all ranks have ready
        ("uncached", "?"),  # a tensor that Horovod had not met before was among them
    ]
)
"""When tensors became ready on a rank, for Horovod to reduce."""
NEGOTIATION_DTYPE = np.dtype(
    [
        ("t0", "i8"),  # the first rank had it ready, or the coordinator had where ranks are unknown
        ("t1", "i8"),  # all ranks had it ready
        ("first_tick", "i8"),  # 0 without ticks
        ("last_tick", "i8"),
        ("tensor", "i4"),  # index in TensorTimeline.tensors
        ("operation", "i4"),  # index in TensorTimeline.names
        ("first_rank", "i4"),  # -1 without ticks
        ("last_rank", "i4"),
        ("ticks", "i4"),  # ranks of which the moment is known
        ("flags", "u4"),  # RowFlag
    ]
)
"""Ranks agree that a tensor is ready on all of them."""

TICK_DTYPE = np.dtype([("t", "i8"), ("negotiation", "i4"), ("rank", "i4")])
"""The coordinator learnt that a rank has a tensor ready; negotiation is a row of that table."""

TENSOR_ACTIVITY_DTYPE = np.dtype(
    [
        ("t0", "i8"),
        ("t1", "i8"),
        ("bytes", "i8"),  # of the tensor, -1 unknown; known of activities that are not nested
        ("tensor", "i4"),
        ("name", "i4"),  # index in TensorTimeline.names
        ("parent", "i4"),  # row in which it is nested, -1 none
        ("depth", "u2"),
        ("flags", "u2"),  # RowFlag
    ]
)
"""What was done with one tensor; of fused tensors each carries the whole operation."""


def _none(dtype: np.dtype[np.void]) -> Table:
    return np.empty(0, dtype=dtype)


@dataclass
class TensorTimeline:
    """The tables of a HOROVOD_TIMELINE."""

    tensors: Sequence[str] = ()
    names: Sequence[str] = ()
    negotiations: Table = field(default_factory=lambda: _none(NEGOTIATION_DTYPE))
    ticks: Table = field(default_factory=lambda: _none(TICK_DTYPE))
    activities: Table = field(default_factory=lambda: _none(TENSOR_ACTIVITY_DTYPE))
    ranks: tuple[int, ...] = ()  # ranks that are named in it, in order
    cycles: int = 0  # cycles of Horovod's thread that are marked, with HOROVOD_TIMELINE_MARK_CYCLES
    start_ns: int = 0
    end_ns: int = 0

    def shift(self, by_ns: int) -> None:
        """Moves all times."""
        for table, columns in (
            (self.activities, ("t0", "t1")),
            (self.negotiations, ("t0", "t1", "first_tick", "last_tick")),
            (self.ticks, ("t",)),
        ):
            for column in columns:
                table[column] += by_ns
        self.start_ns += by_ns
        self.end_ns += by_ns
