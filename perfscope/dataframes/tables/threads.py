"""The threads of each rank over their whole life."""

from collections.abc import Iterator

import numpy as np

from perfscope.dataframes import columns as col
from perfscope.dataframes.columns import Block, Interner, TableSpec, constant
from perfscope.dataframes.source import Source


def _blocks(source: Source) -> Iterator[Block]:
    names = Interner()
    for rank in source.trace.ranks:
        if rank.threads:
            yield {
                "rank": constant(rank.number, len(rank.threads)),
                "name": names.column([thread.name for thread in rank.threads]),
                **{
                    name: np.array([getattr(thread, name) for thread in rank.threads], np.int64)
                    for name in ("tid", "cpu_ns", "queue_delay_ns", "samples", "runnable_samples")
                },
            }


TABLE = TableSpec(
    name="threads",
    summary="One row for each thread that a rank ever had.",
    columns=(
        col.RANK,
        col.TID,
        col.text("name", "as the program named it"),
        col.integer("cpu_ns", "CPU time", "ns"),
        col.integer("queue_delay_ns", "time that it waited for a CPU", "ns"),
        col.integer("samples", "how often it was looked at"),
        col.integer("runnable_samples", "how often it ran or could run"),
    ),
    blocks=_blocks,
    reason=lambda source: source.missing("threads", "no thread was recorded"),
)
