"""Steps: iterations of the training loop on each rank."""

from collections.abc import Iterator

import numpy as np

from perfscope.attribution.ledger import IS_COMMUNICATION
from perfscope.attribution.patterns import find_periods
from perfscope.attribution.phase_catalog import is_hooked
from perfscope.attribution.timeline import Timeline
from perfscope.dataframes import columns as col
from perfscope.dataframes.columns import (
    Block,
    TableSpec,
    Texts,
    constant,
    never,
    pieces,
    where_known,
)
from perfscope.dataframes.source import Source
from perfscope.matching.intervals import Cumulative

_SOURCES = ("framework", "marker", "collectives", "communication", "samples")


def _blocks(source: Source) -> Iterator[Block]:
    if any(len(rank.steps) for rank in source.trace.ranks):
        yield from _told(source)
    else:
        yield from _found(source)


def _communication(timeline: Timeline) -> Cumulative:
    return Cumulative.of(timeline.boundaries, IS_COMMUNICATION[timeline.accounts])


def _origin(name: str, length: int) -> Texts:
    return Texts(np.full(length, _SOURCES.index(name), np.int32), _SOURCES)


def _told(source: Source) -> Iterator[Block]:
    hooked = any(is_hooked(rank.metadata) for rank in source.trace.ranks)
    for rank, timeline in zip(source.trace.ranks, source.prepared.timelines, strict=True):
        communication = _communication(timeline)
        for rows in pieces(len(rank.steps)):
            steps = rank.steps[rows]
            start, end = steps["t0"].astype(np.int64), steps["t1"].astype(np.int64)
            yield {
                "rank": constant(rank.number, len(steps)),
                "number": steps["number"].astype(np.int64),
                "epoch": where_known(steps["epoch"]),
                "t0_ns": start,
                "t1_ns": end,
                "duration_ns": end - start,
                "communication_ns": communication.between(start, end),
                "samples": where_known(steps["samples"], steps["samples"] > 0),
                "global_batch": where_known(steps["global_batch"], steps["global_batch"] > 0),
                "source": _origin("framework" if hooked else "marker", len(steps)),
            }


def _found(source: Source) -> Iterator[Block]:
    prepared = source.prepared
    periods = find_periods(prepared.trace, prepared.waits, prepared.focus)
    if periods is None:
        return
    times = periods.ends
    for column, rank in enumerate(source.trace.ranks):
        communication = _communication(source.prepared.timelines[column])
        for rows in pieces(len(times) - 1):
            start = times[:-1, column][rows]
            end = times[1:, column][rows]
            yield {
                "rank": constant(rank.number, len(start)),
                "number": np.arange(rows.start, rows.stop, dtype=np.int64),
                "epoch": never(len(start)),
                "t0_ns": start,
                "t1_ns": end,
                "duration_ns": end - start,
                "communication_ns": communication.between(start, end),
                "samples": never(len(start)),
                "global_batch": never(len(start)),
                "source": _origin(periods.source, len(start)),
            }


TABLE = TableSpec(
    name="steps",
    summary="One row for each step of each rank, rank after rank.",
    columns=(
        col.RANK,
        col.integer("number", "of the step"),
        col.optional("epoch", "number of the epoch"),
        *col.span("the step"),
        col.integer("communication_ns", "time of the main thread in communication inside it", "ns"),
        col.optional("samples", "processed by this rank"),
        col.optional("global_batch", "samples of all ranks"),
        col.text(
            "source", "framework, marker, or what repeats: collectives, communication, samples"
        ),
    ),
    blocks=_blocks,
    reason=lambda source: source.missing(
        "steps",
        "no framework and no marker told of steps, and neither communication nor samples repeat",
    ),
)
