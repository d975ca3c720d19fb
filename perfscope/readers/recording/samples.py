"""Samples in the records of a process: which field of a record holds which column of a table."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import Any

import numpy as np
import numpy.typing as npt

from perfscope.arrays import Bools, Ints
from perfscope.readers.recording.layout import KEPT_NOTHING, NO_ID, SampleKind
from perfscope.readers.recording.together import Together
from perfscope.structures import dataclass
from perfscope.trace import samples as samples_of
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
    is_possible: Callable[[Together], Bools] | None = None  # which rows can be true; None: all

    def rows(self, raw: Table) -> Table:
        """The rows of these records, in their order."""
        rows = np.zeros(len(raw), self.dtype)
        moment, *columns = self.dtype.names or ()
        rows[moment] = raw["t0_ns"]
        for column, name in zip(columns, self.fields.split(), strict=True):
            rows[column] = self.made[column](raw[name]) if column in self.made else raw[name]
        return rows


def plausible_calls(found: Together) -> Bools:
    """Which rows can be true: a known name, and counts that never fall.

    Damage to one row would otherwise become growth that never was.
    """
    rows = found.rows
    keep = (rows["name"] >= 0) & (rows["measured"] >= 0) & (rows["measured"] <= rows["calls"])
    keep &= np.abs(rows["kept_bytes"]) < KEPT_NOTHING
    kept = np.flatnonzero(keep)
    name, process = rows["name"][kept], found.process[kept]
    order = np.lexsort((name, process))
    kept, name, process = kept[order], name[order], process[order]
    is_same = (name[1:] == name[:-1]) & (process[1:] == process[:-1])
    number = np.concatenate([[0], np.cumsum(~is_same)])[: len(kept)]
    alike = Together(rows[kept], number, int(number[-1:].sum()) + 1)  # one name of one process
    keep[kept] = alike.growing("t", "calls", "measured", "compiled", "set_up_ns")
    return np.asarray(keep)


SAMPLES = {
    "process_samples": SampleTable(
        SampleKind.PROCESS,
        samples_of.PROCESS_SAMPLE_DTYPE,
        "sent received request peer tag seq",
        {"blocked": optional},
        lambda found: (found.rows["threads"] >= 0) & (found.rows["runnable"] >= 0),
    ),
    "system_samples": SampleTable(
        SampleKind.SYSTEM,
        samples_of.SYSTEM_SAMPLE_DTYPE,
        "sent received request seq comm tag",
        {"oom_kills": _not_below_zero},
    ),
    "node_samples": SampleTable(
        SampleKind.NODE,
        samples_of.NODE_SAMPLE_DTYPE,
        "sent received request peer",
        {"runnable": _not_below_zero},
    ),
    "tree_samples": SampleTable(
        SampleKind.TREE,
        samples_of.TREE_SAMPLE_DTYPE,
        "sent received request",
        {"descendants": _within_int32},
    ),
    "python_samples": SampleTable(SampleKind.PYTHON, samples_of.PYTHON_SAMPLE_DTYPE, "sent"),
    "heap_samples": SampleTable(
        SampleKind.HEAP,
        samples_of.HEAP_SAMPLE_DTYPE,
        "sent received request comm seq",
        {"file_bytes": _of_kib, "shared_bytes": _of_kib},
    ),
    "call_samples": SampleTable(
        SampleKind.CALLS,
        samples_of.CALL_SAMPLE_DTYPE,
        "comm seq tag peer sent received request",
        {"compiled": _not_below_zero, "kept_bytes": _kept},
        plausible_calls,
    ),
}
"""By the name of the table in a rank; names are ids of the process until somebody numbers them."""

_CPUS = SampleTable(SampleKind.CPUS, samples_of.CPU_SAMPLE_DTYPE, "sent received request peer comm")


def cpu_samples(samples: Together) -> list[Table]:
    """What the CPUs of a process did, sorted by time, from when these were seen last to change."""
    raw = samples.where(samples.rows["op"] == _CPUS.kind)
    found = raw.made(_CPUS.rows(raw.rows))
    found = found.by_time(found.rows["t"])
    found = found.where(found.rows["cpus"] > 0)
    latest = np.zeros(found.count, found.rows["changes"].dtype)
    latest[found.process] = found.rows["changes"]
    found = found.where(found.rows["changes"] == latest[found.process])
    return found.where(found.growing("busy_ns", "stolen_ns")).apart()


def main_samples(
    samples: Together, horovod_threads: Sequence[npt.NDArray[np.uint32]]
) -> list[Table]:
    """What the main thread used and waited for, sorted by time; counters that fall are damage.

    Recorders used to follow the thread that initialized MPI, also where that was Horovod's: such
    samples tell nothing of the program's work.
    """
    raw = _of_main_thread(samples, SampleKind.MAIN, horovod_threads)
    told = raw.rows
    rows = np.zeros(len(raw), samples_of.MAIN_SAMPLE_DTYPE)
    rows["t"] = told["t0_ns"]
    rows["cpu_ns"], rows["queue_delay_ns"] = _joined(raw, "sent"), _joined(raw, "received")
    rows["kernel_ns"] = told["request"]
    # the counter has 32 bits: what grew between two samples is known modulo 2^32
    faults = np.diff(told["comm"], prepend=told["comm"][:1]).astype(np.int64)
    faults[raw.firsts] = 0
    rows["minor_faults"] = raw.sums(faults)
    throttled = told["seq"].astype(np.int64)
    rows["throttled_ns"] = np.where(throttled == NO_ID, -1, throttled * 1_000_000)
    found = raw.made(rows)
    return found.where(found.growing("cpu_ns", "queue_delay_ns")).apart()


def clock_samples(
    samples: Together, horovod_threads: Sequence[npt.NDArray[np.uint32]]
) -> list[Table]:
    """What the main thread had used where it began and ended calls, sorted by time."""
    raw = _of_main_thread(samples, SampleKind.CLOCK, horovod_threads)
    rows = np.zeros(len(raw), samples_of.CLOCK_SAMPLE_DTYPE)
    rows["t"], rows["cpu_ns"] = raw.rows["t0_ns"], _joined(raw, "sent")
    found = raw.made(rows)
    return found.where(found.growing("cpu_ns")).apart()


def _of_main_thread(
    samples: Together, kind: SampleKind, horovod_threads: Sequence[npt.NDArray[np.uint32]]
) -> Together:
    """Samples of a kind, sorted by time, without those of Horovod's threads."""
    raw = samples.where(samples.rows["op"] == kind)
    raw = raw.by_time(raw.rows["t0_ns"])
    return raw.where(~_is_followed(raw, horovod_threads))


def _is_followed(raw: Together, horovod_threads: Sequence[npt.NDArray[np.uint32]]) -> Bools:
    """Which samples are of Horovod's threads, all of a process whose last one is."""
    found, edges = np.zeros(len(raw), np.bool_), raw.edges
    for process, threads in enumerate(horovod_threads):
        if len(threads):
            own = slice(edges[process], edges[process + 1])
            is_one = np.isin(raw.rows["tid"][own], threads)
            found[own] = is_one | is_one[-1:].any()
    return found


def _joined(raw: Together, column: str) -> Ints:
    """A counter that goes on where another thread becomes the main one, which has its own."""
    values, tid = raw.rows[column].astype(np.int64), raw.rows["tid"]
    grown = np.diff(values, prepend=0)
    grown[1:][tid[1:] != tid[:-1]] = 0
    firsts = raw.firsts
    grown[firsts] = values[firsts]
    return raw.sums(grown)


def garbage_collections(samples: Together) -> list[Table]:
    """Collections of Python's garbage, sorted by their begin."""
    raw = samples.where(samples.rows["op"] == SampleKind.COLLECTION)
    told = raw.rows
    rows = np.zeros(len(raw), samples_of.GARBAGE_COLLECTION_DTYPE)
    rows["t0"], rows["tid"] = told["t0_ns"], told["tid"]
    rows["t1"] = np.maximum(told["t0_ns"], told["t1_ns"])
    generation = told["seq"].astype(np.int64)  # no number below zero fits its own type
    rows["generation"] = np.where(generation <= LAST_GENERATION, generation, -1)
    rows["shorter_ns"], rows["shorter_count"] = told["sent"], told["received"]
    return raw.made(rows).by_time(rows["t0"]).apart()
