"""The calls and completions in the records of a process, without those that cannot be true.

The engine finds them in one pass; numpy does where the engine could not be built.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from perfscope.engine import engine, is_built
from perfscope.readers.common.amounts import MAX_AMOUNT
from perfscope.readers.recording.layout import RecordKind
from perfscope.readers.recording.numbering import Numbering
from perfscope.readers.recording.plain_calls import (
    EXCHANGING,
    POLLING,
    Closed,
    Fault,
    PlainCalls,
    add_counts,
)
from perfscope.readers.recording.process_file import ProcessFile
from perfscope.trace import model
from perfscope.trace.model import Table
from perfscope.trace.operations import IS_COLLECTIVE, KNOWN

_BITS = ((1, KNOWN), (2, IS_COLLECTIVE), (4, POLLING), (8, EXCHANGING))
"""What the engine has to know of an operation code."""


class Calls(Protocol):
    """The records of a process, looked at once."""

    @property
    def last_ns(self) -> int:
        """The latest moment of a record that can be true, 0 without one."""

    @property
    def others(self) -> Table:
        """The records that can be true and are neither calls nor completions."""

    def closed(self, end_ns: int) -> Closed:
        """The tables, when the process ended at that moment."""


def calls_of(process: ProcessFile, numbering: Numbering) -> Calls:
    """The calls of a process: found by the engine where there is one."""
    return CompiledCalls(process, numbering) if is_built else PlainCalls(process, numbering)


_KEPT = {Fault.UNKNOWN_COMMUNICATOR, Fault.UNKNOWN_PEER}
"""What costs a record a field and not its place: its time is known."""


class CompiledCalls:
    """The calls of a process as the engine finds them."""

    def __init__(self, process: ProcessFile, numbering: Numbering) -> None:
        codes = sum(bit * mask.astype(np.uint8) for bit, mask in _BITS)
        rules = {
            "first_ns": process.start_ns,
            "bound_ns": process.bound_ns,
            "amounts_below": MAX_AMOUNT,
            "last_kind": int(max(RecordKind)),
            "world_size": numbering.world_size,
            "operations": np.asarray(codes, np.uint8).tobytes(),
            "communicators": dict(numbering.communicators),
        }
        records = np.ascontiguousarray(process.records)
        self._found = engine.RecordedCalls(records.view(np.uint8), rules)
        self.last_ns = self._found.last_ns()
        self.others: Table = records[self._found.others()]

    def closed(self, end_ns: int) -> Closed:
        """The tables, when the process ended at that moment."""
        self._found.close(end_ns)
        left_out: dict[str, int] = {}
        incomplete: dict[str, int] = {}
        for name, number in self._found.faults().items():
            fault = Fault[name]
            add_counts(incomplete if fault in _KEPT else left_out, {fault.value: number})
        return Closed(
            self._found.operations().view(model.OPERATION_DTYPE),
            self._found.completions().view(model.COMPLETION_DTYPE),
            left_out,
            incomplete,
        )
