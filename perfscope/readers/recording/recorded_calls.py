"""The calls and completions in the records of a process, without those that cannot be true."""

from enum import Enum
from typing import cast

import numpy as np

from perfscope.engine import engine
from perfscope.readers.common.amounts import MAX_AMOUNT
from perfscope.readers.recording.layout import RecordKind
from perfscope.readers.recording.numbering import Numbering
from perfscope.readers.recording.process_file import ProcessFile
from perfscope.structures import dataclass
from perfscope.trace import model
from perfscope.trace.columns import Columns
from perfscope.trace.model import Table
from perfscope.trace.operations import IS_COLLECTIVE, KNOWN, OperationClass, codes_mask

POLLING = codes_mask([OperationClass.TEST, OperationClass.CONTROL])
EXCHANGING = codes_mask([OperationClass.SENDRECV])

_BITS = ((1, KNOWN), (2, IS_COLLECTIVE), (4, POLLING), (8, EXCHANGING))
"""What the engine has to know of an operation code."""


class Fault(Enum):
    """What is wrong with a record, as notes say it."""

    UNFINISHED = "slots that were never completed"
    UNKNOWN_KIND = "of an unknown kind"
    IMPOSSIBLE_TIME = "with impossible times"
    IMPOSSIBLE_AMOUNT = "with impossible amounts"
    UNKNOWN_OPERATION = "of an unknown operation"
    COMPLETES_NOTHING = "completions of nothing"
    OVERLAPS = "that overlap the next call of their thread"
    UNKNOWN_COMMUNICATOR = "with an unknown communicator"
    UNKNOWN_PEER = "with an unknown peer"


@dataclass(frozen=True)
class Closed:
    """Calls and completions by time, and how many records are not among them, or incomplete."""

    operations: Table
    completions: Table
    left_out: dict[str, int]
    incomplete: dict[str, int]


def add_counts(counts: dict[str, int], more: dict[str, int]) -> None:
    """Adds numbers by reason to those that are there; none adds no reason."""
    for reason, number in more.items():
        if number:
            counts[reason] = counts.get(reason, 0) + number


_KEPT = {Fault.UNKNOWN_COMMUNICATOR, Fault.UNKNOWN_PEER}
"""What costs a record a field and not its place: its time is known."""


LONG_ROWS = 1 << 14
"""From so many calls on their columns are kept apart; of many short ranks that costs more."""


class RecordedCalls:
    """The records of a process, looked at once by the engine.

    Attributes:
        last_ns: the latest moment of a record that can be true, 0 without one.
        others: the records that can be true and are neither calls nor completions.
    """

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
            self._operations(),
            self._found.completions().view(model.COMPLETION_DTYPE),
            left_out,
            incomplete,
        )

    def _operations(self) -> Table:
        if self._found.operation_count() < LONG_ROWS:
            return self._found.operations().view(model.OPERATION_DTYPE)
        columns = self._found.operation_columns()
        return cast("Table", Columns(model.OPERATION_DTYPE, columns))
