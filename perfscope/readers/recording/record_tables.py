"""From the raw records of processes to tables of the model, without rows that cannot be true."""

from collections.abc import Callable, Sequence
from dataclasses import field
from functools import cached_property

import numpy as np
import numpy.typing as npt

from perfscope.arrays import Bools, Ints
from perfscope.readers.recording import agent_metadata
from perfscope.readers.recording.interning import Ids, Numbering
from perfscope.readers.recording.layout import RecordKind
from perfscope.readers.recording.process_file import ProcessFile
from perfscope.readers.recording.recorded_calls import add_counts
from perfscope.readers.recording.samples import (
    SAMPLES,
    SampleTable,
    clock_samples,
    cpu_samples,
    garbage_collections,
    main_samples,
    optional,
)
from perfscope.readers.recording.thinned import blocks_of, windows_of
from perfscope.readers.recording.together import Together
from perfscope.schema.enums import PhaseKind
from perfscope.structures import dataclass
from perfscope.trace import model
from perfscope.trace.model import RowFlag, Table
from perfscope.trace.operations import HOROVOD_CONTROL
from perfscope.trace.tensors import READINESS_DTYPE


@dataclass
class Tables:
    """The tables of one process on its own clock, and what was left out."""

    end_ns: int
    by_name: dict[str, Table]  # by what a rank calls them
    left_out: dict[str, int] = field(default_factory=dict)
    """Reason -> rows that are not among the tables."""
    incomplete: dict[str, int] = field(default_factory=dict)
    """Reason -> rows that are, without what could not be read of them."""


class CallsRead:
    """The records of a process of which the calls have become tables, and the others not yet.

    Attributes:
        tables: those of its calls.
        others: its other records that can be true.
    """

    def __init__(
        self, process: ProcessFile, numbering: Numbering, *, end_of: Callable[[int], int]
    ) -> None:
        """Reads the calls.

        `end_of` says when the process ended, given the last sign of life in its records and header.
        """
        self.process, self.numbering = process, numbering
        last = max(process.calls.last_ns, process.last_sign_ns)
        end = max(last, end_of(last))
        closed = process.calls.closed(end, numbering)
        self.others = process.calls.possible_others
        operations, background = _without_horovod(process, closed.operations)
        by_name = {
            "operations": operations,
            "background": background,
            "completions": closed.completions,
            "step_blocks": blocks_of(process),
        }
        self.tables = Tables(end, by_name)
        add_counts(self.tables.left_out, closed.left_out)
        add_counts(self.tables.incomplete, closed.incomplete)


def read_tables(read: Sequence[CallsRead]) -> list[Tables]:
    """All tables of some processes, each question asked once for all of them."""
    _Others(read).become_tables()
    return [one.tables for one in read]


class _Others:
    """The records of processes that are no calls."""

    def __init__(self, read: Sequence[CallsRead]) -> None:
        self._read = read
        self._numberings = [one.numbering for one in read]

    def become_tables(self) -> None:
        raw = Together.of([one.others for one in self._read])
        kinds = raw.rows["kind"]

        def of(kind: RecordKind) -> Together:
            return raw.where(kinds == kind)

        self._put("readiness", self._readiness(of(RecordKind.READINESS)))
        self._put("phases", self._phases(of(RecordKind.PHASE)))
        self._put("steps", self._steps(of(RecordKind.STEP)))
        self._put("stacks", self._stacks(of(RecordKind.STACK)))
        self._put("metrics", self._metrics(of(RecordKind.METRIC)))
        ends = (kinds == RecordKind.STEP) | (kinds == RecordKind.WINDOW)
        processes = [one.process for one in self._read]
        windows = raw.where(ends & (raw.rows["request"] > 0)).apart()
        self._put("windows", [windows_of(*one) for one in zip(processes, windows, strict=True)])
        samples = of(RecordKind.SAMPLE)
        for name, table in SAMPLES.items():
            self._put(name, self._samples(table, samples))
        background = (one.tables.by_name["background"] for one in self._read)
        horovod_threads = [np.unique(b["tid"]) for b in background]
        self._put("main_samples", main_samples(samples, horovod_threads))
        self._put("clock_samples", clock_samples(samples, horovod_threads))
        self._put("cpu_samples", cpu_samples(samples))
        self._put("garbage_collections", garbage_collections(samples))

    def _put(self, name: str, tables: Sequence[Table]) -> None:
        for one, table in zip(self._read, tables, strict=True):
            one.tables.by_name[name] = table

    def _left_out(self, reason: str, raw: Together, rows: Bools) -> None:
        for one, number in zip(self._read, raw.counts(rows), strict=True):
            add_counts(one.tables.left_out, {reason: number})

    @cached_property
    def _names(self) -> Ids:
        return Ids.of([numbering.names for numbering in self._numberings])

    def _name(self, raw: Together) -> Ints:
        """Which name each record is about, -1 where it is unknown."""
        return self._names.translated(raw.rows["comm"], raw.process)[0]

    def _phases(self, raw: Together) -> list[Table]:
        known = (raw.rows["op"] >= min(PhaseKind)) & (raw.rows["op"] <= max(PhaseKind))
        self._left_out("of an unknown phase", raw, ~known)
        raw = raw.where(known)
        told = raw.rows
        rows = np.zeros(len(raw), model.PHASE_DTYPE)
        rows["t0"], rows["t1"] = told["t0_ns"], told["t1_ns"]
        rows["kind"], rows["tid"], rows["epoch"] = (
            told["op"],
            told["tid"],
            np.maximum(told["tag"], -1),
        )
        rows["step"] = optional(told["seq"])
        names, unknown = self._names.translated(told["comm"], raw.process)
        for one, number in zip(self._read, raw.counts(unknown), strict=True):
            add_counts(one.tables.incomplete, {"with an unknown name": number})
        own = np.array(
            [[one.kind_names[kind] for kind in PhaseKind] for one in self._numberings], np.int64
        )
        rows["name"] = np.where(names >= 0, names, own[raw.process, rows["kind"] - min(PhaseKind)])
        opened = rows["t1"] == 0
        ends = np.array([one.tables.end_ns for one in self._read], np.int64)
        rows["t1"][opened] = ends[raw.process[opened]]
        rows["flags"][opened] |= np.uint16(RowFlag.OPEN)
        return raw.made(rows).by_time(rows["t0"], -rows["t1"]).apart()

    def _steps(self, raw: Together) -> list[Table]:
        unfinished = raw.rows["t1_ns"] == 0
        self._left_out("steps that never ended", raw, unfinished)
        raw = raw.where(~unfinished)
        told = raw.rows
        rows = np.zeros(len(raw), model.STEP_DTYPE)
        rows["t0"], rows["t1"] = told["t0_ns"], told["t1_ns"]
        rows["number"], rows["epoch"] = optional(told["seq"]), np.maximum(told["tag"], -1)
        rows["samples"], rows["global_batch"] = told["sent"], told["received"]
        return raw.made(rows).by_time(rows["t0"]).apart()

    def _stacks(self, raw: Together) -> list[Table]:
        rows = np.zeros(len(raw), model.STACK_DTYPE)
        rows["t"], rows["tid"] = raw.rows["t0_ns"], raw.rows["tid"]
        ids = Ids.of([numbering.stacks for numbering in self._numberings])
        rows["stack"] = ids.translated(raw.rows["comm"], raw.process)[0]
        unknown = rows["stack"] < 0
        self._left_out("samples of an unknown stack", raw, unknown)
        found = raw.made(rows).where(~unknown)
        return found.by_time(found.rows["t"]).apart()

    def _metrics(self, raw: Together) -> list[Table]:
        told = raw.rows
        rows = np.zeros(len(raw), model.METRIC_DTYPE)
        rows["t"], rows["step"] = told["t0_ns"], optional(told["seq"])
        rows["epoch"] = np.maximum(told["tag"], -1)
        rows["value"] = np.ascontiguousarray(told["sent"]).view(np.float64)
        rows["name"] = self._name(raw)
        unknown = rows["name"] < 0
        self._left_out("values of an unknown name", raw, unknown)
        found = raw.made(rows).where(~unknown)
        return found.by_time(found.rows["t"]).apart()

    def _readiness(self, raw: Together) -> list[Table]:
        told = raw.rows
        rows = np.zeros(len(raw), READINESS_DTYPE)
        rows["t0"], rows["tid"] = told["t0_ns"], told["tid"]
        rows["t1"] = np.maximum(told["t0_ns"], told["t1_ns"])
        rows["arrived"], rows["agreed"] = told["sent"], told["received"]
        rows["uncached"] = told["op"]
        ids = Ids.of([numbering.communicators for numbering in self._numberings])
        rows["comm"] = ids.translated(told["comm"], raw.process)[0]
        return raw.made(rows).by_time(rows["t0"]).apart()

    def _samples(self, table: SampleTable, samples: Together) -> list[Table]:
        raw = samples.where(samples.rows["op"] == table.kind)
        rows = table.rows(raw.rows)
        if "name" in (table.dtype.names or ()):
            rows["name"] = self._name(raw)
        found = raw.made(rows)
        if table.is_possible is not None:
            possible = table.is_possible(found)
            self._left_out("samples with impossible counts", raw, ~possible)
            found = found.where(possible)
        return found.by_time(found.rows["t"]).apart()


def _without_horovod(process: ProcessFile, operations: Table) -> tuple[Table, Table]:
    """The calls of the program, and those of the threads from which Horovod communicates."""
    threads = _horovod_threads(process, operations)
    if not len(threads):
        return operations, operations[:0].copy()
    apart = np.isin(operations["tid"], threads)
    return operations[~apart], operations[apart]


def _horovod_threads(process: ProcessFile, operations: Table) -> npt.NDArray[np.uint32]:
    """The threads from which Horovod communicates.

    They exchange its control traffic; without a response cache it looks like any other, and then
    all threads but the program's own are taken for Horovod's in a job that uses it.
    """
    control = operations["op"] == HOROVOD_CONTROL
    frameworks = agent_metadata.mapping(process.metadata, "frameworks")
    if "horovod" in frameworks and not np.any(control):
        control = operations["tid"] != process.pid
    if not np.any(control):
        return np.empty(0, np.uint32)
    return np.unique(operations["tid"][control])
