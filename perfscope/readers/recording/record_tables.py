"""From the raw records of a process to tables of the model, without rows that cannot be true."""

from collections.abc import Callable, Mapping
from dataclasses import field

import numpy as np
import numpy.typing as npt

from perfscope.arrays import Bools, Ints
from perfscope.readers.recording import agent_metadata
from perfscope.readers.recording.layout import RecordKind
from perfscope.readers.recording.numbering import Numbering, translated
from perfscope.readers.recording.process_file import ProcessFile
from perfscope.readers.recording.recorded_calls import RecordedCalls, add_counts
from perfscope.readers.recording.samples import (
    SAMPLES,
    SampleTable,
    by_time,
    cpu_samples,
    garbage_collections,
    main_samples,
    optional,
)
from perfscope.readers.recording.thinned import blocks_of, windows_of
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


def read_tables(
    process: ProcessFile, numbering: Numbering, *, end_of: Callable[[int], int]
) -> Tables:
    """All tables of a process.

    `end_of` says when it ended, given the last sign of life in its records and header.
    """
    return _Reading(process, numbering).tables(end_of)


class _Reading:
    def __init__(self, process: ProcessFile, numbering: Numbering) -> None:
        self._process = process
        self._numbering = numbering
        self.left_out: dict[str, int] = {}
        self.incomplete: dict[str, int] = {}  # kept all the same, as their time is known
        self._calls = RecordedCalls(process, numbering)

    def tables(self, end_of: Callable[[int], int]) -> Tables:
        last = max(self._calls.last_ns, self._process.last_sign_ns)
        end = max(last, end_of(last))
        closed = self._calls.closed(end)
        add_counts(self.left_out, closed.left_out)
        add_counts(self.incomplete, closed.incomplete)
        raw = self._calls.others
        kinds = raw["kind"]
        samples = raw[kinds == RecordKind.SAMPLE]
        operations, background = self._without_horovod(closed.operations)
        by_name = {
            "operations": operations,
            "background": background,
            "readiness": self._readiness(raw[kinds == RecordKind.READINESS]),
            "completions": closed.completions,
            "phases": self._phases(raw[kinds == RecordKind.PHASE], end),
            "steps": self._steps(raw[kinds == RecordKind.STEP], end),
            "stacks": self._stacks(raw[kinds == RecordKind.STACK]),
            "metrics": self._metrics(raw[kinds == RecordKind.METRIC]),
            **{name: self._samples(table, samples) for name, table in SAMPLES.items()},
            "main_samples": main_samples(samples, np.unique(background["tid"])),
            "cpu_samples": cpu_samples(samples),
            "garbage_collections": garbage_collections(samples),
            "windows": windows_of(self._process, raw),
            "step_blocks": blocks_of(self._process),
        }
        return Tables(end, by_name, self.left_out, self.incomplete)

    def _count(self, reason: str, rows: Bools) -> None:
        add_counts(self.left_out, {reason: int(np.count_nonzero(rows))})

    def _translate(
        self, ids: npt.NDArray[np.uint32], table: Mapping[int, int], reason: str
    ) -> Ints:
        """Indices of the trace for ids of the process, -1 where unknown (counted if a reason)."""
        indices, unknown = translated(ids, table)
        if reason:
            add_counts(self.incomplete, {reason: int(np.count_nonzero(unknown))})
        return indices

    def _phases(self, raw: Table, end_ns: int) -> Table:
        known = (raw["op"] >= min(PhaseKind)) & (raw["op"] <= max(PhaseKind))
        self._count("of an unknown phase", ~known)
        raw = raw[known]
        rows = np.zeros(len(raw), model.PHASE_DTYPE)
        rows["t0"], rows["t1"] = raw["t0_ns"], raw["t1_ns"]
        rows["kind"], rows["tid"], rows["epoch"] = raw["op"], raw["tid"], np.maximum(raw["tag"], -1)
        rows["step"] = optional(raw["seq"])
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
        rows["number"], rows["epoch"] = optional(raw["seq"]), np.maximum(raw["tag"], -1)
        rows["samples"], rows["global_batch"] = raw["sent"], raw["received"]
        unfinished = raw["t1_ns"] == 0
        self._count("steps that never ended", unfinished)
        return by_time(rows[~unfinished], "t0")

    def _stacks(self, raw: Table) -> Table:
        rows = np.zeros(len(raw), model.STACK_DTYPE)
        rows["t"], rows["tid"] = raw["t0_ns"], raw["tid"]
        rows["stack"] = self._translate(raw["comm"], self._numbering.stacks, "")
        unknown = rows["stack"] < 0
        self._count("samples of an unknown stack", unknown)
        return by_time(rows[~unknown], "t")

    def _metrics(self, raw: Table) -> Table:
        rows = np.zeros(len(raw), model.METRIC_DTYPE)
        rows["t"], rows["step"], rows["epoch"] = (
            raw["t0_ns"],
            optional(raw["seq"]),
            np.maximum(raw["tag"], -1),
        )
        rows["value"] = np.ascontiguousarray(raw["sent"]).view(np.float64)
        rows["name"] = self._translate(raw["comm"], self._numbering.names, "")
        unknown = rows["name"] < 0
        self._count("values of an unknown name", unknown)
        return by_time(rows[~unknown], "t")

    def _without_horovod(self, operations: Table) -> tuple[Table, Table]:
        """The calls of the program, and those of the threads from which Horovod communicates."""
        threads = self._horovod_threads(operations)
        if not len(threads):
            return operations, operations[:0].copy()
        apart = np.isin(operations["tid"], threads)
        return operations[~apart], operations[apart]

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
        rows = np.zeros(len(raw), READINESS_DTYPE)
        rows["t0"], rows["tid"] = raw["t0_ns"], raw["tid"]
        rows["t1"] = np.maximum(raw["t0_ns"], raw["t1_ns"])
        rows["arrived"], rows["agreed"], rows["uncached"] = raw["sent"], raw["received"], raw["op"]
        rows["comm"] = self._translate(raw["comm"], self._numbering.communicators, "")
        return by_time(rows, "t0")

    def _samples(self, table: SampleTable, samples: Table) -> Table:
        raw = samples[samples["op"] == table.kind]
        rows = table.rows(raw)
        if "name" in (table.dtype.names or ()):
            rows["name"] = self._translate(raw["comm"], self._numbering.names, "")
        if table.is_possible is not None:
            possible = table.is_possible(rows)
            self._count("samples with impossible counts", ~possible)
            rows = rows[possible]
        return by_time(rows, "t")
