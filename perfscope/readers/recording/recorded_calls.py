"""The calls and completions in the records of a process, without those that cannot be true."""

from enum import Enum
from functools import cache, cached_property
from typing import cast

import numpy as np

from perfscope.engine import engine
from perfscope.readers.common.amounts import MAX_AMOUNT
from perfscope.readers.recording.interning import Numbering
from perfscope.readers.recording.layout import RECORD_DTYPE, RecordKind
from perfscope.readers.recording.record_file import MAX_LIFE_NS
from perfscope.structures import dataclass
from perfscope.trace import model
from perfscope.trace.columns import Columns
from perfscope.trace.model import Table
from perfscope.trace.operations import IS_COLLECTIVE, KNOWN, OperationClass, codes_mask

POLLING = codes_mask([OperationClass.TEST, OperationClass.CONTROL])
EXCHANGING = codes_mask([OperationClass.SENDRECV])

_BITS = ((1, KNOWN), (2, IS_COLLECTIVE), (4, POLLING), (8, EXCHANGING))
"""What the engine has to know of an operation code."""


@cache
def _codes() -> bytes:
    return np.asarray(sum(bit * mask.astype(np.uint8) for bit, mask in _BITS), np.uint8).tobytes()


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


LONG_ROWS = 1 << 12
"""From so many calls on their columns are kept apart; of many short ranks that costs more."""


def _bound(header: np.void, start_ns: int, latest_unix_ns: int | None) -> int:
    """A moment on the process's clock after which it cannot have lived."""
    bound_ns = start_ns + MAX_LIFE_NS
    if latest_unix_ns is None:
        return bound_ns
    latest_ns = latest_unix_ns - int(header["real0_ns"]) + int(header["mono0_ns"])
    return min(bound_ns, latest_ns) if latest_ns > start_ns else bound_ns


class RecordedCalls:
    """The records of a process, which the engine sorts as they are read.

    Calls and completions become columns and rows at once, so that a long run is never held as
    records; what their ids stand for is asked when all files are known.
    """

    def __init__(self, latest_unix_ns: int | None) -> None:
        """Those of a process that was surely over by that time."""
        self._latest_unix_ns = latest_unix_ns
        self.start_ns = self.bound_ns = 0  # nothing of the process is earlier or later

    def begin(self, header: np.void, slots: int) -> None:
        """The header is known, and that so many slots follow at most."""
        self.start_ns = int(header["process_start_ns"])
        self.bound_ns = _bound(header, self.start_ns, self._latest_unix_ns)
        self._found = engine.RecordedCalls(
            {
                "first_ns": self.start_ns,
                "bound_ns": self.bound_ns,
                "amounts_below": MAX_AMOUNT,
                "last_kind": int(max(RecordKind)),
                "operations": _codes(),
            }
        )
        told = int(np.minimum(header["totals"]["count"], np.uint64(slots)).sum())
        calls = min(told, slots)
        self._found.expect(calls, slots - calls)

    def take(self, records: Table) -> int:
        """Takes some records, and tells the number of slots up to the last used one."""
        return self._found.take(np.ascontiguousarray(records).view(np.uint8))

    @property
    def last_ns(self) -> int:
        """The latest moment of a record that can be true, 0 without one."""
        return self._found.last_ns()

    @property
    def last_told_ns(self) -> int:
        """The latest moment in the life of the process that any record tells, 0 without one."""
        return self._found.last_told_ns()

    @cached_property
    def others(self) -> Table:
        """The records that are neither calls nor completions."""
        return cast("Table", self._found.others().view(RECORD_DTYPE))

    @cached_property
    def possible_others(self) -> Table:
        """Those of them that can be true."""
        places = self._found.possible()
        return self.others if len(places) == len(self.others) else self.others[places]

    def closed(self, end_ns: int, numbering: Numbering) -> Closed:
        """The tables, when the process ended at that moment and its ids stand for these.

        The calls are given away: there are none in those of another time.
        """
        self._found.close(end_ns, numbering.world_size, dict(numbering.communicators))
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
