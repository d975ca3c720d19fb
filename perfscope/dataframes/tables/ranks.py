"""The ranks of the job and how each ended."""

from collections.abc import Iterator

import numpy as np

from perfscope.dataframes.columns import (
    RANK,
    Block,
    Interner,
    Maybe,
    TableSpec,
    instant,
    integer,
    number,
    optional,
    text,
)
from perfscope.dataframes.source import Source


def _maybe(values: list[int | None]) -> Maybe:
    known = np.array([value is not None for value in values], np.bool_)
    return Maybe(np.array([value or 0 for value in values], np.int64), known)


def _integers(values: list[int]) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.array(values, np.int64)


def _blocks(source: Source) -> Iterator[Block]:
    ranks = source.trace.ranks
    if not ranks:
        return
    yield {
        "rank": _integers([rank.number for rank in ranks]),
        "host": Interner().column([rank.host for rank in ranks]),
        "pid": _integers([rank.pid for rank in ranks]),
        "main_tid": _integers([rank.main_tid for rank in ranks]),
        "start_ns": _integers([rank.start_ns for rank in ranks]),
        "end_ns": _integers([rank.end_ns for rank in ranks]),
        "init_exit_ns": _maybe([rank.init_exit_ns for rank in ranks]),
        "finalize_enter_ns": _maybe([rank.finalize_enter_ns for rank in ranks]),
        "ending": Interner().column([rank.ending.kind.value for rank in ranks]),
        "exit_code": _maybe([rank.ending.code for rank in ranks]),
        "operations": _integers([len(rank.operations) + len(rank.background) for rank in ranks]),
        "dropped_records": _integers([rank.dropped_records for rank in ranks]),
        "cpus_allowed": Interner().column([rank.cpus_allowed for rank in ranks]),
        "clock_offset_ns": _integers([rank.clock_offset_ns for rank in ranks]),
        "clock_drift_ppm": np.array([rank.clock_drift_ppm for rank in ranks], np.float64),
        "clock_error_ns": _maybe(
            [rank.clock_error_ns if rank.clock_error_ns >= 0 else None for rank in ranks]
        ),
        "mpi_library": Interner().column([rank.mpi_library for rank in ranks]),
    }


TABLE = TableSpec(
    name="ranks",
    summary="One row for each rank that left a recording.",
    columns=(
        RANK,
        text("host", "the machine that it ran on"),
        integer("pid", "process"),
        integer("main_tid", "the thread that is the rank's main location"),
        instant("start_ns", "start of the process, or first sign of life"),
        instant("end_ns", "end of the process, or last sign of life"),
        optional("init_exit_ns", "when communication was initialized", "ns"),
        optional("finalize_enter_ns", "when finalization began", "ns"),
        text("ending", "how it ended"),
        optional("exit_code", "exit code, abort code or signal"),
        integer("operations", "recorded operations, those of Horovod's thread included"),
        integer("dropped_records", "records that were lost"),
        text("cpus_allowed", "CPU list"),
        integer("clock_offset_ns", "already applied to all times, at the start of the rank", "ns"),
        number("clock_drift_ppm", "already applied", "ppm"),
        optional("clock_error_ns", "bound on what is left, where it is known", "ns"),
        text("mpi_library", "as it names itself"),
    ),
    blocks=_blocks,
    reason=lambda _: "no rank left a recording",
)
