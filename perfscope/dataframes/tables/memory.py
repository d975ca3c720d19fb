"""Memory, CPU and threads of each process over time."""

from collections.abc import Iterator

import numpy as np

from perfscope.dataframes import columns as col
from perfscope.dataframes.columns import Block, TableSpec, constant, pieces
from perfscope.dataframes.source import Source


def _blocks(source: Source) -> Iterator[Block]:
    for rank in source.trace.ranks:
        for rows in pieces(len(rank.process_samples)):
            table = rank.process_samples[rows]
            yield {
                "rank": constant(rank.number, len(table)),
                "t_ns": table["t"].astype(np.int64),
                **{
                    name: table[name].astype(np.int64)
                    for name in ("rss_bytes", "cpu_ns", "queue_delay_ns", "threads", "runnable")
                },
            }


TABLE = TableSpec(
    name="memory",
    summary="One row for each look at a rank's process, some ten times a second.",
    columns=(
        col.RANK,
        col.instant("t_ns", "when"),
        col.integer("rss_bytes", "resident memory", "bytes"),
        col.integer("cpu_ns", "CPU time of all threads since the process began", "ns"),
        col.integer("queue_delay_ns", "time that its threads waited for a CPU, since then", "ns"),
        col.integer("threads", "threads that exist"),
        col.integer("runnable", "threads that run or could run"),
    ),
    blocks=_blocks,
    reason=lambda source: source.missing("memory", "no process was sampled"),
)
