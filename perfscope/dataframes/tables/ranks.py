"""The ranks of the job and how each ended."""

from collections.abc import Iterator

import numpy as np

from perfscope.dataframes import columns as col
from perfscope.dataframes.columns import Block, Interner, TableSpec, maybe
from perfscope.dataframes.source import Source

_INTEGERS = ("pid", "main_tid", "start_ns", "end_ns", "dropped_records", "clock_offset_ns")
_TEXTS = ("host", "cpus_allowed", "mpi_library")
"""What a rank calls as the table does."""


def _blocks(source: Source) -> Iterator[Block]:
    if not (ranks := source.trace.ranks):
        return
    errors_ns = [rank.clock_error_ns if rank.clock_error_ns >= 0 else None for rank in ranks]
    calls = [len(rank.operations) + len(rank.background) for rank in ranks]
    yield {
        "rank": source.rank_numbers,
        **{name: np.array([getattr(rank, name) for rank in ranks], np.int64) for name in _INTEGERS},
        **{name: Interner().column([getattr(rank, name) for rank in ranks]) for name in _TEXTS},
        "init_exit_ns": maybe([rank.init_exit_ns for rank in ranks]),
        "finalize_enter_ns": maybe([rank.finalize_enter_ns for rank in ranks]),
        "ending": Interner().column([rank.ending.kind.value for rank in ranks]),
        "exit_code": maybe([rank.ending.code for rank in ranks]),
        "operations": np.array(calls, np.int64),
        "clock_drift_ppm": np.array([rank.clock_drift_ppm for rank in ranks], np.float64),
        "clock_error_ns": maybe(errors_ns),
    }


TABLE = TableSpec(
    name="ranks",
    summary="One row for each rank that left a recording.",
    columns=(
        col.RANK,
        col.text("host", "the machine that it ran on"),
        col.integer("pid", "process"),
        col.integer("main_tid", "the thread that is the rank's main location"),
        col.instant("start_ns", "start of the process, or first sign of life"),
        col.instant("end_ns", "end of the process, or last sign of life"),
        col.optional("init_exit_ns", "when communication was initialized", "ns"),
        col.optional("finalize_enter_ns", "when finalization began", "ns"),
        col.text("ending", "how it ended"),
        col.optional("exit_code", "exit code, abort code or signal"),
        col.integer("operations", "recorded operations, those of Horovod's thread included"),
        col.integer("dropped_records", "records that were lost"),
        col.text("cpus_allowed", "CPU list"),
        col.integer(
            "clock_offset_ns", "already applied to all times, at the start of the rank", "ns"
        ),
        col.number("clock_drift_ppm", "already applied", "ppm"),
        col.optional("clock_error_ns", "bound on what is left, where it is known", "ns"),
        col.text("mpi_library", "as it names itself"),
    ),
    blocks=_blocks,
    reason=lambda _: "no rank left a recording",
)
