"""Samples in the records of a process: which field of a record holds which column of a table."""

from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Any

import numpy as np
import numpy.typing as npt

from perfscope.arrays import Bools, Ints
from perfscope.readers.recording.layout import KEPT_NOTHING, NO_ID, SampleKind
from perfscope.structures import dataclass
from perfscope.trace import samples
from perfscope.trace.model import Table

LAST_GENERATION = 2
Field = npt.NDArray[Any]


def optional(column: Field) -> Ints:
    """Values of an unsigned field, -1 where there is none."""
    return np.where(column == NO_ID, -1, column.astype(np.int64))


def _not_below_zero(column: Field) -> Field:
    return np.maximum(column, 0)


def _of_kib(column: Field) -> Ints:
    return column.astype(np.int64) * 1024


def _within_int32(column: Field) -> Field:
    return np.minimum(column, np.iinfo(np.int32).max)


def _kept(column: Field) -> Ints:
    return column.astype(np.int64) - KEPT_NOTHING


@dataclass(frozen=True)
class SampleTable:
    """A table of samples, a row for each record of a kind."""

    kind: SampleKind
    dtype: np.dtype[Any]
    fields: str  # of a record, that hold the columns behind the time, in their order
    made: Mapping[str, Callable[[Field], Field]] = field(default_factory=dict)
    """Column -> what makes it of its field, where it is not the same."""
    is_possible: Callable[[Table], Bools] | None = None  # which rows can be true; None: all

    def rows(self, raw: Table) -> Table:
        """The rows of these records, in their order."""
        rows = np.zeros(len(raw), self.dtype)
        moment, *columns = self.dtype.names or ()
        rows[moment] = raw["t0_ns"]
        for column, name in zip(columns, self.fields.split(), strict=True):
            rows[column] = self.made[column](raw[name]) if column in self.made else raw[name]
        return rows


def plausible_calls(rows: Table) -> Bools:
    """Which rows can be true: a known name, and counts that never fall.

    Damage to one row would otherwise become growth that never was.
    """
    keep = (rows["name"] >= 0) & (rows["measured"] >= 0) & (rows["measured"] <= rows["calls"])
    keep &= np.abs(rows["kept_bytes"]) < KEPT_NOTHING
    for name in np.unique(rows["name"][keep]).tolist():
        own = np.flatnonzero(keep & (rows["name"] == name))
        keep[own] = _growing(rows[own], "t", "calls", "measured", "compiled", "set_up_ns")
    return np.asarray(keep)


SAMPLES = {
    "process_samples": SampleTable(
        SampleKind.PROCESS,
        samples.PROCESS_SAMPLE_DTYPE,
        "sent received request peer tag seq",
        {"blocked": optional},
        lambda rows: (rows["threads"] >= 0) & (rows["runnable"] >= 0),
    ),
    "system_samples": SampleTable(
        SampleKind.SYSTEM,
        samples.SYSTEM_SAMPLE_DTYPE,
        "sent received request seq comm tag",
        {"oom_kills": _not_below_zero},
    ),
    "node_samples": SampleTable(
        SampleKind.NODE,
        samples.NODE_SAMPLE_DTYPE,
        "sent received request peer",
        {"runnable": _not_below_zero},
    ),
    "tree_samples": SampleTable(
        SampleKind.TREE,
        samples.TREE_SAMPLE_DTYPE,
        "sent received request",
        {"descendants": _within_int32},
    ),
    "python_samples": SampleTable(SampleKind.PYTHON, samples.PYTHON_SAMPLE_DTYPE, "sent"),
    "heap_samples": SampleTable(
        SampleKind.HEAP,
        samples.HEAP_SAMPLE_DTYPE,
        "sent received request comm seq",
        {"file_bytes": _of_kib, "shared_bytes": _of_kib},
    ),
    "call_samples": SampleTable(
        SampleKind.CALLS,
        samples.CALL_SAMPLE_DTYPE,
        "comm seq tag peer sent received request",
        {"compiled": _not_below_zero, "kept_bytes": _kept},
        plausible_calls,
    ),
}
"""By the name of the table in a rank; names are ids of the process until somebody numbers them."""

_CPUS = SampleTable(SampleKind.CPUS, samples.CPU_SAMPLE_DTYPE, "sent received request peer comm")


def cpu_samples(raw: Table) -> Table:
    """What the CPUs of a process did, sorted by time, from when these were seen last to change."""
    rows = by_time(_CPUS.rows(raw[raw["op"] == _CPUS.kind]), "t")
    rows = rows[rows["cpus"] > 0]
    rows = rows[rows["changes"] == rows["changes"][-1:]]
    found: Table = rows[_growing(rows, "busy_ns", "stolen_ns")]
    return found


def main_samples(raw: Table, horovod_threads: npt.NDArray[np.uint32]) -> Table:
    """What the main thread used and waited for, sorted by time; counters that fall are damage.

    Recorders used to follow the thread that initialized MPI, also where that was Horovod's: such
    samples tell nothing of the program's work.
    """
    raw = by_time(raw[raw["op"] == SampleKind.MAIN], "t0_ns")
    is_followed = np.isin(raw["tid"], horovod_threads)
    raw = raw[:0] if is_followed[-1:].any() else raw[~is_followed]
    rows = np.zeros(len(raw), samples.MAIN_SAMPLE_DTYPE)
    rows["t"] = raw["t0_ns"]
    rows["cpu_ns"], rows["queue_delay_ns"] = _joined(raw, "sent"), _joined(raw, "received")
    rows["kernel_ns"] = raw["request"]
    # the counter has 32 bits: what grew between two samples is known modulo 2^32
    rows["minor_faults"][1:] = np.cumsum(np.diff(raw["comm"]).astype(np.int64))
    throttled = raw["seq"].astype(np.int64)
    rows["throttled_ns"] = np.where(throttled == NO_ID, -1, throttled * 1_000_000)
    return rows[_growing(rows, "cpu_ns", "queue_delay_ns")]


def _joined(raw: Table, column: str) -> Ints:
    """A counter that goes on where another thread becomes the main one, which has its own."""
    values = raw[column].astype(np.int64)
    grown = np.diff(values, prepend=0)
    grown[1:][raw["tid"][1:] != raw["tid"][:-1]] = 0
    joined: Ints = np.cumsum(grown)
    return joined


def garbage_collections(raw: Table) -> Table:
    """Collections of Python's garbage, sorted by their begin."""
    raw = raw[raw["op"] == SampleKind.COLLECTION]
    rows = np.zeros(len(raw), samples.GARBAGE_COLLECTION_DTYPE)
    rows["t0"], rows["tid"] = raw["t0_ns"], raw["tid"]
    rows["t1"] = np.maximum(raw["t0_ns"], raw["t1_ns"])
    generation = raw["seq"].astype(np.int64)  # no number below zero fits its own type
    rows["generation"] = np.where(generation <= LAST_GENERATION, generation, -1)
    rows["shorter_ns"], rows["shorter_count"] = raw["sent"], raw["received"]
    return by_time(rows, "t0")


def _growing(rows: Table, *columns: str) -> Bools:
    """Which rows have no later one with less in one of the columns."""
    sound = np.ones(len(rows), np.bool_)
    for column in columns:
        values = rows[column]
        sound &= np.minimum.accumulate(values[::-1])[::-1] == values
    return sound


def by_time(rows: Table, column: str) -> Table:
    """The rows in the order of a column of times."""
    return rows[np.argsort(rows[column], kind="stable")]
