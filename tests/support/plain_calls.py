"""The calls and completions in the records of a process as numpy finds them: an oracle."""

import numpy as np
import numpy.typing as npt

from perfscope.arrays import Bools
from perfscope.readers.common.amounts import MAX_AMOUNT
from perfscope.readers.recording.interning import Numbering, translated
from perfscope.readers.recording.layout import NO_ID, RecordKind
from perfscope.readers.recording.process_file import ProcessFile
from perfscope.readers.recording.recorded_calls import (
    EXCHANGING,
    POLLING,
    Closed,
    Fault,
    add_counts,
)
from perfscope.trace import model
from perfscope.trace.model import PEER_PROC_NULL, PEER_UNKNOWN, RowFlag, Table
from perfscope.trace.operations import IS_COLLECTIVE, KNOWN


class PlainCalls:
    """The calls of a process as numpy finds them: what the engine must find too."""

    def __init__(self, process: ProcessFile, records: Table, numbering: Numbering) -> None:
        self._process, self._numbering = process, numbering
        self._left_out: dict[str, int] = {}
        self._incomplete: dict[str, int] = {}
        self._raw = self._plausible(records[records["kind"] != RecordKind.THINNED])
        kinds = self._raw["kind"]
        is_call = (kinds == RecordKind.OPERATION) | (kinds == RecordKind.COMPLETION)
        self.others: Table = self._raw[~is_call]
        self.last_ns = max(_latest(self._raw["t0_ns"]), _latest(self._raw["t1_ns"]))

    def closed(self, end_ns: int) -> Closed:
        """The tables, when the process ended at that moment."""
        kinds = self._raw["kind"]
        operations = self._operations(self._raw[kinds == RecordKind.OPERATION], end_ns)
        completions = self._completions(self._raw[kinds == RecordKind.COMPLETION])
        return Closed(operations, completions, self._left_out, self._incomplete)

    def _plausible(self, records: Table) -> Table:
        """Completed records of a known kind, at possible times and with possible amounts."""
        kinds, begin, end = records["kind"], records["t0_ns"], records["t1_ns"]
        first, bound = np.uint64(self._process.start_ns), np.uint64(self._process.bound_ns)
        used = kinds != RecordKind.NONE
        unfinished = ~used & (begin != 0)
        self._count(Fault.UNFINISHED, unfinished)
        known = used & (kinds <= max(RecordKind))
        self._count(Fault.UNKNOWN_KIND, used & ~known)
        in_life = (begin >= first) & (begin <= bound)
        ordered = (end == 0) | ((end >= begin) & (end <= bound))
        self._count(Fault.IMPOSSIBLE_TIME, known & ~(in_life & ordered))
        metric = kinds == RecordKind.METRIC
        possible = (records["received"] < MAX_AMOUNT) & (records["request"] < MAX_AMOUNT)
        possible &= metric | (records["sent"] < MAX_AMOUNT)
        keep = known & in_life & ordered
        self._count(Fault.IMPOSSIBLE_AMOUNT, keep & ~possible)
        return chosen(records, keep & possible)

    def _count(self, fault: Fault, rows: Bools, *, is_kept: bool = False) -> None:
        counts = self._incomplete if is_kept else self._left_out
        add_counts(counts, {fault.value: int(np.count_nonzero(rows))})

    def _operations(self, raw: Table, end_ns: int) -> Table:
        known = (raw["op"] < len(KNOWN)) & KNOWN[np.minimum(raw["op"], len(KNOWN) - 1)]
        self._count(Fault.UNKNOWN_OPERATION, ~known)
        rows = self._operation_rows(chosen(raw, known))
        opened = rows["t1"] == 0
        rows["t1"][opened] = end_ns
        rows["flags"][opened] |= np.uint16(RowFlag.OPEN)
        coalesced = POLLING[rows["op"]] & (rows["request"] > 1)
        rows["flags"][coalesced] |= np.uint16(RowFlag.COALESCED)
        rows = _by_begin_and_end(rows)
        crossing = overlapping(rows)
        self._count(Fault.OVERLAPS, crossing)
        return chosen(rows, ~crossing)

    def _operation_rows(self, raw: Table) -> Table:
        rows = np.zeros(len(raw), model.OPERATION_DTYPE)
        rows["t0"], rows["t1"] = raw["t0_ns"], raw["t1_ns"]
        for name in ("op", "tid", "tag", "sent", "received", "request"):
            rows[name] = raw[name]
        rows["comm"], unknown = translated(raw["comm"], self._numbering.communicators)
        self._count(Fault.UNKNOWN_COMMUNICATOR, unknown, is_kept=True)
        rows["seq"] = self._sequence(raw, rows)
        peer = raw["peer"]
        outside = (peer < PEER_PROC_NULL) | (peer >= self._numbering.world_size)
        self._count(Fault.UNKNOWN_PEER, outside, is_kept=True)
        rows["peer"] = np.where(outside, PEER_UNKNOWN, peer)
        return rows

    def _sequence(self, raw: Table, rows: Table) -> npt.NDArray[np.int64]:
        """Ordinals of collectives, and the world ranks that combined calls received from."""
        numbered = (rows["comm"] >= 0) & (raw["seq"] != NO_ID) & IS_COLLECTIVE[rows["op"]]
        result = np.where(numbered, raw["seq"].astype(np.int64), -1)
        exchanges = EXCHANGING[rows["op"]]
        source = raw["seq"][exchanges].view(np.int32)
        inside = (source >= 0) & (source < self._numbering.world_size)
        outside = np.where(source == PEER_PROC_NULL, PEER_PROC_NULL, PEER_UNKNOWN)
        result[exchanges] = np.where(inside, source, outside)
        return result

    def _completions(self, raw: Table) -> Table:
        known = (raw["op"] < len(KNOWN)) & KNOWN[np.minimum(raw["op"], len(KNOWN) - 1)]
        known &= raw["request"] > 0
        self._count(Fault.COMPLETES_NOTHING, ~known)
        rows = self._operation_rows(raw[known])
        rows["t1"] = rows["t0"]
        return rows[np.argsort(rows["t0"], kind="stable")]


def overlapping(rows: Table) -> Bools:
    """Which calls reach beyond the begin of the next call of the same thread, which cannot be.

    `rows` are sorted by (t0, t1). A damaged end or begin makes a call swallow others; that call is
    meant here, not the many it swallows. Calls that stand for many (`RowFlag.COALESCED`) may be
    interleaved with others.
    """
    bad = np.zeros(len(rows), np.bool_)
    order = np.flatnonzero((rows["flags"] & RowFlag.COALESCED) == 0)
    threads = rows["tid"][order]
    if len(threads) and np.any(threads != threads[0]):
        by_thread = np.argsort(threads, kind="stable")
        order, threads = order[by_thread], threads[by_thread]
    same_thread = threads[1:] == threads[:-1]
    reaches = rows["t1"][order[:-1]] > rows["t0"][order[1:]]
    bad[order[:-1][same_thread & reaches]] = True
    return bad


def chosen(rows: Table, keep: Bools) -> Table:
    """The rows to keep, without a copy where that is all of them: tables may be large."""
    return rows if keep.all() else rows[keep]


def _by_begin_and_end(rows: Table) -> Table:
    begin, end = rows["t0"], rows["t1"]
    later, same = begin[1:] > begin[:-1], begin[1:] == begin[:-1]
    if np.all(later | (same & (end[1:] >= end[:-1]))):
        return rows
    return rows[np.lexsort((end, begin))]


def _latest(column: npt.NDArray[np.uint64]) -> int:
    return int(column.max()) if len(column) else 0
