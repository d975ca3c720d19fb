"""Everything that was measured at moments: processes, nodes, frameworks, other tools' counters."""

from collections.abc import Iterator, Sequence

import numpy as np

from perfscope.dataframes.columns import (
    RANK,
    Block,
    Interner,
    TableSpec,
    Texts,
    constant,
    instant,
    never,
    number,
    optional,
    pieces,
    text,
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
            yield {
                **_frame(rank, "framework", Texts(texts[table["name"]], names.texts), table),
                "tid": never(len(table)),
                "value": table["value"].astype(np.float64),
                "step": where_known(table["step"]),
                "epoch": where_known(table["epoch"]),
            }
        for rows in pieces(len(rank.counters)):
            table = rank.counters[rows]
            yield {
                **_frame(rank, "trace", Texts(texts[table["name"]], names.texts), table),
                "tid": where_known(table["tid"].astype(np.int64)),
                "value": table["value"].astype(np.float64),
                "step": never(len(table)),
                "epoch": never(len(table)),
            }


def _wide(rank: Rank, names: Interner) -> Iterator[Block]:
    for origin in _WIDE:
        samples: Table = getattr(rank, f"{origin}_samples")
        columns: Sequence[str] = (samples.dtype.names or ())[1:]
        for name in columns:
            for rows in pieces(len(samples)):
                table = samples[rows]
                yield {
                    **_frame(rank, origin, names.same(name, len(table)), table),
                    "tid": never(len(table)),
                    "value": table[name].astype(np.float64),
                    "step": never(len(table)),
                    "epoch": never(len(table)),
                }


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
                yield {
                    **_frame(rank, "gpu", names.same(name, len(table)), table),
                    "tid": never(len(table)),
                    "value": table[column].astype(np.float64),
                    "step": never(len(table)),
                    "epoch": never(len(table)),
                }


def _frame(rank: Rank, origin: str, name: Texts, table: Table) -> Block:
    return {
        "rank": constant(rank.number, len(table)),
        "t_ns": table["t"].astype(np.int64),
        "source": Texts(np.full(len(table), _SOURCES.index(origin), np.int32), _SOURCES),
        "name": name,
    }


TABLE = TableSpec(
    name="counters",
    summary="One row for each value of each counter, rank after rank and counter after counter.",
    columns=(
        RANK,
        optional("tid", "thread, where the counter is that of a thread"),
        instant("t_ns", "when"),
        text(
            "source", "process, system (its I/O), node, gpu, framework (loss, ...), trace (others)"
        ),
        text("name", "of the counter; names of perfscope's own end in their unit"),
        number("value", "as it was recorded; cpu_ns and the like grow from the process's start"),
        optional("step", "of the step, where the framework told it"),
        optional("epoch", "of the epoch, where the framework told it"),
    ),
    blocks=_blocks,
    reason=lambda source: source.missing("counters", "no counter was recorded"),
)
