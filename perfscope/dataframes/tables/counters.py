"""Everything that was measured at moments: processes, nodes, frameworks, other tools' counters."""

from collections.abc import Iterator

import numpy as np

from perfscope.dataframes import columns as col
from perfscope.dataframes.columns import (
    Block,
    Interner,
    TableSpec,
    Texts,
    constant,
    never,
    pieces,
    where_known,
)
from perfscope.dataframes.source import Source
from perfscope.trace.devices import GPU_SAMPLE_DTYPE
from perfscope.trace.model import Rank, Table, Trace

_SOURCES = ("process", "system", "node", "framework", "trace", "gpu")
_WIDE = ("process", "system", "node")


def _blocks(source: Source) -> Iterator[Block]:
    names = Interner()
    texts = names.codes(source.trace.names)
    for rank in source.trace.ranks:
        yield from _wide(rank, names)
        yield from _gpus(source.trace, rank, names)
        for rows in pieces(len(rank.metrics)):
            table = rank.metrics[rows]
            name = Texts(texts[table["name"]], names.texts)
            of_step = {column: where_known(table[column]) for column in ("step", "epoch")}
            yield {**_block(rank, "framework", name, table, "value"), **of_step}
        for rows in pieces(len(rank.counters)):
            table = rank.counters[rows]
            name = Texts(texts[table["name"]], names.texts)
            tid = where_known(table["tid"].astype(np.int64))
            yield {**_block(rank, "trace", name, table, "value"), "tid": tid}


def _wide(rank: Rank, names: Interner) -> Iterator[Block]:
    for origin in _WIDE:
        samples: Table = getattr(rank, f"{origin}_samples")
        for name in (samples.dtype.names or ())[1:]:
            for rows in pieces(len(samples)):
                table = samples[rows]
                yield _block(rank, origin, names.same(name, len(table)), table, name)


def _gpus(trace: Trace, rank: Rank, names: Interner) -> Iterator[Block]:
    """What this process sampled of GPUs, named by column and uuid; unknown values are left out."""
    columns = (GPU_SAMPLE_DTYPE.names or ())[2:]
    for gpu in np.unique(rank.gpu_samples["gpu"]).tolist():
        samples = rank.gpu_samples[rank.gpu_samples["gpu"] == gpu]
        for column in columns:
            values = samples[column].astype(np.float64)
            is_unknown = values == 0 if column == "memory_bytes" else np.isnan(values)
            known = samples[~is_unknown]
            name = f"{column} {trace.gpus[gpu].uuid}"
            for rows in pieces(len(known)):
                table = known[rows]
                yield _block(rank, "gpu", names.same(name, len(table)), table, column)


def _block(rank: Rank, origin: str, name: Texts, table: Table, column: str) -> Block:
    """Values of a column of some rows, of which nothing but their time is known."""
    return {
        "rank": constant(rank.number, len(table)),
        "t_ns": table["t"].astype(np.int64),
        "source": Texts(np.full(len(table), _SOURCES.index(origin), np.int32), _SOURCES),
        "name": name,
        "value": table[column].astype(np.float64),
        **dict.fromkeys(("tid", "step", "epoch"), never(len(table))),
    }


TABLE = TableSpec(
    name="counters",
    summary="One row for each value of each counter, rank after rank and counter after counter.",
    columns=(
        col.RANK,
        col.optional("tid", "thread, where the counter is that of a thread"),
        col.instant("t_ns", "when"),
        col.text(
            "source", "process, system (its I/O), node, gpu, framework (loss, ...), trace (others)"
        ),
        col.text("name", "of the counter; names of perfscope's own end in their unit"),
        col.number(
            "value", "as it was recorded; cpu_ns and the like grow from the process's start"
        ),
        col.optional("step", "of the step, where the framework told it"),
        col.optional("epoch", "of the epoch, where the framework told it"),
    ),
    blocks=_blocks,
    reason=lambda source: source.missing("counters", "no counter was recorded"),
)
