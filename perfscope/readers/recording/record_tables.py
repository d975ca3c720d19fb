"""From the raw records of a process to tables of the model, without rows that cannot be true."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from perfscope.readers.common.amounts import MAX_AMOUNT
from perfscope.readers.recording import agent_metadata
from perfscope.readers.recording.layout import NO_ID, RecordKind, SampleKind
from perfscope.readers.recording.main_thread_table import main_samples
from perfscope.readers.recording.memory_tables import (
    call_samples,
    garbage_collections,
    heap_samples,
    plausible_calls,
    python_samples,
    tree_samples,
)
from perfscope.readers.recording.process_file import ProcessFile
from perfscope.schema.enums import PhaseKind
from perfscope.trace import model
from perfscope.trace.model import PEER_PROC_NULL, PEER_UNKNOWN, RowFlag, Table
from perfscope.trace.operations import (
    HOROVOD_CONTROL,
    IS_COLLECTIVE,
    KNOWN,
    OperationClass,
    codes_mask,
)

Bools = npt.NDArray[np.bool_]

_POLLING = codes_mask([OperationClass.TEST, OperationClass.CONTROL])
_EXCHANGING = codes_mask([OperationClass.SENDRECV])


@dataclass
class Numbering:
    """How the ids of one process translate to indices of the trace."""

    names: Mapping[int, int]
    stacks: Mapping[int, int]
    communicators: Mapping[int, int]
    kind_names: Mapping[int, int]
    """Index of the name to use for a phase whose own name is not known, by PhaseKind."""
    world_size: int


@dataclass
class Tables:
    """The tables of one process on its own clock, and what was left out."""

    end_ns: int
    operations: Table
    background: Table
    readiness: Table
    completions: Table
    phases: Table
    steps: Table
    stacks: Table
    metrics: Table
    process_samples: Table
    system_samples: Table
    node_samples: Table
    tree_samples: Table
    call_samples: Table
    python_samples: Table
    main_samples: Table
    heap_samples: Table
    garbage_collections: Table
    left_out: dict[str, int] = field(default_factory=dict)
    """Reason -> rows that are not among the tables."""
    incomplete: dict[str, int] = field(default_factory=dict)
    """Reason -> rows that are, without what could not be read of them."""


def read_tables(
    process: ProcessFile, numbering: Numbering, *, end_of: Callable[[int], int]
) -> Tables:
    """All tables of a process.

    Args:
        process: the process.
        numbering: how its ids translate.
        end_of: when it ended, given the last sign of life in its records and header.
    """
    return _Reading(process, numbering).tables(end_of)


class _Reading:
    def __init__(self, process: ProcessFile, numbering: Numbering) -> None:
        self._process = process
        self._numbering = numbering
        self.left_out: dict[str, int] = {}
        self.incomplete: dict[str, int] = {}  # kept all the same, as their time is known
        self._raw = self._plausible(process.records)

    def tables(self, end_of: Callable[[int], int]) -> Tables:
        raw = self._raw
        last = max(_latest(raw["t0_ns"]), _latest(raw["t1_ns"]), self._process.last_sign_ns)
        end = max(last, end_of(last))
        kinds = raw["kind"]
        samples = raw[kinds == RecordKind.SAMPLE]
        operations = self._operations(raw[kinds == RecordKind.OPERATION], end)
        apart = np.isin(operations["tid"], self._horovod_threads(operations))
        return Tables(
            end_ns=end,
            operations=operations[~apart],
            background=operations[apart],
            readiness=self._readiness(raw[kinds == RecordKind.READINESS]),
            completions=self._completions(raw[kinds == RecordKind.COMPLETION]),
            phases=self._phases(raw[kinds == RecordKind.PHASE], end),
            steps=self._steps(raw[kinds == RecordKind.STEP], end),
            stacks=self._stacks(raw[kinds == RecordKind.STACK]),
            metrics=self._metrics(raw[kinds == RecordKind.METRIC]),
            process_samples=self._process_samples(samples[samples["op"] == SampleKind.PROCESS]),
            system_samples=self._system_samples(samples[samples["op"] == SampleKind.SYSTEM]),
            node_samples=self._node_samples(samples[samples["op"] == SampleKind.NODE]),
            tree_samples=tree_samples(samples[samples["op"] == SampleKind.TREE]),
            call_samples=self._call_samples(samples[samples["op"] == SampleKind.CALLS]),
            python_samples=python_samples(samples[samples["op"] == SampleKind.PYTHON]),
            main_samples=main_samples(samples[samples["op"] == SampleKind.MAIN]),
            heap_samples=heap_samples(samples[samples["op"] == SampleKind.HEAP]),
            garbage_collections=garbage_collections(
                samples[samples["op"] == SampleKind.COLLECTION]
            ),
            left_out=self.left_out,
            incomplete=self.incomplete,
        )

    def _plausible(self, records: Table) -> Table:
        """Completed records of a known kind, at possible times and with possible amounts."""
        kinds, begin, end = records["kind"], records["t0_ns"], records["t1_ns"]
        first, bound = np.uint64(self._process.start_ns), np.uint64(self._process.bound_ns)
        used = kinds != RecordKind.NONE
        unfinished = ~used & (begin != 0)
        self._count("slots that were never completed", unfinished)
        known = used & (kinds <= max(RecordKind))
        self._count("of an unknown kind", used & ~known)
        in_life = (begin >= first) & (begin <= bound)
        ordered = (end == 0) | ((end >= begin) & (end <= bound))
        self._count("with impossible times", known & ~(in_life & ordered))
        metric = kinds == RecordKind.METRIC
        possible = (records["received"] < MAX_AMOUNT) & (records["request"] < MAX_AMOUNT)
        possible &= metric | (records["sent"] < MAX_AMOUNT)
        keep = known & in_life & ordered
        self._count("with impossible amounts", keep & ~possible)
        return _chosen(records, keep & possible)

    def _count(self, reason: str, rows: Bools, *, is_kept: bool = False) -> None:
        counts = self.incomplete if is_kept else self.left_out
        if number := int(np.count_nonzero(rows)):
            counts[reason] = counts.get(reason, 0) + number

    def _operations(self, raw: Table, end_ns: int) -> Table:
        known = (raw["op"] < len(KNOWN)) & KNOWN[np.minimum(raw["op"], len(KNOWN) - 1)]
        self._count("of an unknown operation", ~known)
        rows = self._operation_rows(_chosen(raw, known))
        opened = rows["t1"] == 0
        rows["t1"][opened] = end_ns
        rows["flags"][opened] |= np.uint16(RowFlag.OPEN)
        coalesced = _POLLING[rows["op"]] & (rows["request"] > 1)
        rows["flags"][coalesced] |= np.uint16(RowFlag.COALESCED)
        rows = _by_begin_and_end(rows)
        crossing = overlapping(rows)
        self._count("that overlap the next call of their thread", crossing)
        return _chosen(rows, ~crossing)

    def _operation_rows(self, raw: Table) -> Table:
        rows = np.zeros(len(raw), model.OPERATION_DTYPE)
        rows["t0"], rows["t1"] = raw["t0_ns"], raw["t1_ns"]
        for name in ("op", "tid", "tag", "sent", "received", "request"):
            rows[name] = raw[name]
        rows["comm"] = self._translate(
            raw["comm"], self._numbering.communicators, "with an unknown communicator"
        )
        rows["seq"] = self._sequence(raw, rows)
        peer = raw["peer"]
        outside = (peer < PEER_PROC_NULL) | (peer >= self._numbering.world_size)
        self._count("with an unknown peer", outside, is_kept=True)
        rows["peer"] = np.where(outside, PEER_UNKNOWN, peer)
        return rows

    def _sequence(self, raw: Table, rows: Table) -> npt.NDArray[np.int64]:
        """Ordinals of collectives, and the world ranks that combined calls received from."""
        numbered = (rows["comm"] >= 0) & (raw["seq"] != NO_ID) & IS_COLLECTIVE[rows["op"]]
        result = np.where(numbered, raw["seq"].astype(np.int64), -1)
        exchanges = _EXCHANGING[rows["op"]]
        source = raw["seq"][exchanges].view(np.int32)
        inside = (source >= 0) & (source < self._numbering.world_size)
        outside = np.where(source == PEER_PROC_NULL, PEER_PROC_NULL, PEER_UNKNOWN)
        result[exchanges] = np.where(inside, source, outside)
        return result

    def _completions(self, raw: Table) -> Table:
        known = (raw["op"] < len(KNOWN)) & KNOWN[np.minimum(raw["op"], len(KNOWN) - 1)]
        known &= raw["request"] > 0
        self._count("completions of nothing", ~known)
        rows = self._operation_rows(raw[known])
        rows["t1"] = rows["t0"]
        return rows[np.argsort(rows["t0"], kind="stable")]

    def _phases(self, raw: Table, end_ns: int) -> Table:
        known = (raw["op"] >= min(PhaseKind)) & (raw["op"] <= max(PhaseKind))
        self._count("of an unknown phase", ~known)
        raw = raw[known]
        rows = np.zeros(len(raw), model.PHASE_DTYPE)
        rows["t0"], rows["t1"] = raw["t0_ns"], raw["t1_ns"]
        rows["kind"], rows["tid"], rows["epoch"] = raw["op"], raw["tid"], np.maximum(raw["tag"], -1)
        rows["step"] = _optional(raw["seq"])
        names = self._translate(raw["comm"], self._numbering.names, "with an unknown name")
        own = np.array([self._numbering.kind_names[kind] for kind in PhaseKind], np.int64)
        rows["name"] = np.where(names >= 0, names, own[rows["kind"] - min(PhaseKind)])
        opened = rows["t1"] == 0
        rows["t1"][opened] = end_ns
        rows["flags"][opened] |= np.uint16(RowFlag.OPEN)
        return rows[np.lexsort((-rows["t1"], rows["t0"]))]

    def _steps(self, raw: Table, end_ns: int) -> Table:
        rows = np.zeros(len(raw), model.STEP_DTYPE)
        rows["t0"] = raw["t0_ns"]
        rows["t1"] = np.where(raw["t1_ns"] == 0, end_ns, raw["t1_ns"].astype(np.int64))
        rows["number"], rows["epoch"] = _optional(raw["seq"]), np.maximum(raw["tag"], -1)
        rows["samples"], rows["global_batch"] = raw["sent"], raw["received"]
        unfinished = raw["t1_ns"] == 0
        self._count("steps that never ended", unfinished)
        return _by_time(rows[~unfinished], "t0")

    def _stacks(self, raw: Table) -> Table:
        rows = np.zeros(len(raw), model.STACK_DTYPE)
        rows["t"], rows["tid"] = raw["t0_ns"], raw["tid"]
        rows["stack"] = self._translate(raw["comm"], self._numbering.stacks, "")
        unknown = rows["stack"] < 0
        self._count("samples of an unknown stack", unknown)
        return _by_time(rows[~unknown], "t")

    def _metrics(self, raw: Table) -> Table:
        rows = np.zeros(len(raw), model.METRIC_DTYPE)
        rows["t"], rows["step"], rows["epoch"] = (
            raw["t0_ns"],
            _optional(raw["seq"]),
            np.maximum(raw["tag"], -1),
        )
        rows["value"] = np.ascontiguousarray(raw["sent"]).view(np.float64)
        rows["name"] = self._translate(raw["comm"], self._numbering.names, "")
        unknown = rows["name"] < 0
        self._count("values of an unknown name", unknown)
        return _by_time(rows[~unknown], "t")

    def _horovod_threads(self, operations: Table) -> npt.NDArray[np.uint32]:
        """The threads from which Horovod communicates.

        They exchange its control traffic; without a response cache it looks like any other, and
        then all threads but the program's own are taken for Horovod's in a job that uses it.
        """
        control = operations["op"] == HOROVOD_CONTROL
        frameworks = agent_metadata.mapping(self._process.metadata, "frameworks")
        if "horovod" in frameworks and not np.any(control):
            control = operations["tid"] != self._process.pid
        return np.unique(operations["tid"][control])

    def _readiness(self, raw: Table) -> Table:
        rows = np.zeros(len(raw), model.READINESS_DTYPE)
        rows["t0"], rows["tid"] = raw["t0_ns"], raw["tid"]
        rows["t1"] = np.maximum(raw["t0_ns"], raw["t1_ns"])
        rows["arrived"], rows["agreed"], rows["uncached"] = raw["sent"], raw["received"], raw["op"]
        rows["comm"] = self._translate(raw["comm"], self._numbering.communicators, "")
        return _by_time(rows, "t0")

    def _process_samples(self, raw: Table) -> Table:
        rows = np.zeros(len(raw), model.PROCESS_SAMPLE_DTYPE)
        rows["t"], rows["rss_bytes"], rows["cpu_ns"] = raw["t0_ns"], raw["sent"], raw["received"]
        rows["queue_delay_ns"], rows["threads"] = raw["request"], raw["peer"]
        rows["runnable"], rows["blocked"] = raw["tag"], _optional(raw["seq"])
        possible = (rows["threads"] >= 0) & (rows["runnable"] >= 0)
        self._count("samples with impossible counts", ~possible)
        return _by_time(rows[possible], "t")

    def _system_samples(self, raw: Table) -> Table:
        rows = np.zeros(len(raw), model.SYSTEM_SAMPLE_DTYPE)
        rows["t"], rows["read_bytes"] = raw["t0_ns"], raw["sent"]
        rows["written_bytes"], rows["voluntary_switches"] = raw["received"], raw["request"]
        rows["involuntary_switches"], rows["major_faults"] = raw["seq"], raw["comm"]
        rows["oom_kills"] = np.maximum(raw["tag"], 0)
        return _by_time(rows, "t")

    def _node_samples(self, raw: Table) -> Table:
        rows = np.zeros(len(raw), model.NODE_SAMPLE_DTYPE)
        rows["t"], rows["available_bytes"] = raw["t0_ns"], raw["sent"]
        rows["total_bytes"], rows["cgroup_bytes"] = raw["received"], raw["request"]
        rows["runnable"] = np.maximum(raw["peer"], 0)
        return _by_time(rows, "t")

    def _call_samples(self, raw: Table) -> Table:
        rows = call_samples(raw)
        rows["name"] = self._translate(raw["comm"], self._numbering.names, "")
        possible = plausible_calls(rows)
        self._count("samples with impossible counts", ~possible)
        return _by_time(rows[possible], "t")

    def _translate(
        self, ids: npt.NDArray[np.uint32], table: Mapping[int, int], reason: str
    ) -> npt.NDArray[np.int64]:
        """Indices of the trace for ids of the process, -1 where unknown (counted unless no id)."""
        known = np.array(sorted(table), np.int64)
        values = np.array([table[number] for number in known.tolist()], np.int64)
        if not len(known):
            found = np.zeros(len(ids), np.bool_)
            indices = np.full(len(ids), -1, np.int64)
        else:
            place = np.minimum(np.searchsorted(known, ids.astype(np.int64)), len(known) - 1)
            found = known[place] == ids
            indices = np.where(found, values[place], -1)
        if reason:
            self._count(reason, ~found & (ids != NO_ID), is_kept=True)
        return indices


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


def _chosen(rows: Table, keep: Bools) -> Table:
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


def _optional(column: npt.NDArray[np.uint32]) -> npt.NDArray[np.int64]:
    values = column.astype(np.int64)
    values[column == NO_ID] = -1
    return values


def _by_time(rows: Table, column: str) -> Table:
    return rows[np.argsort(rows[column], kind="stable")]
