"""What an export of a trace must hold, taken from the model and not from the exporting code."""

from collections import Counter
from collections.abc import Iterator

from perfscope.attribution.phase_catalog import phase_id
from perfscope.dataframes.source import Source
from perfscope.trace.model import Trace
from perfscope.trace.operations import name_of

Interval = tuple[int, str, int, int]
"""Rank, name, start, end."""


def readable(word: str) -> str:
    """A text as every format can hold it."""
    return word.encode("utf-8", "backslashreplace").decode().replace("\0", "\\x00")


def intervals(trace: Trace, *, steps_by_number: bool = False) -> Counter[Interval]:
    """Operations, phases and steps of all ranks, those found by the stack sampler included."""
    return Counter(_intervals(trace, steps_by_number=steps_by_number))


def _intervals(trace: Trace, *, steps_by_number: bool) -> Iterator[Interval]:
    for rank in trace.ranks:
        for rows in (rank.operations, rank.background):
            for row in rows:
                yield rank.number, name_of(int(row["op"])), int(row["t0"]), int(row["t1"])
        for row in rank.phases:
            name = phase_id(trace, int(row["kind"]), int(row["name"]))
            yield rank.number, readable(name), int(row["t0"]), int(row["t1"])
        for row in rank.steps:
            name = f"ProfilerStep#{row['number']}" if steps_by_number else "step"
            yield rank.number, name, int(row["t0"]), int(row["t1"])
    prepared = Source(trace).prepared
    for part in prepared.parts:
        for start, end, label in zip(*(c.tolist() for c in part.samples.phase_rows), strict=True):
            yield part.rank.number, readable(prepared.catalog.ids[label]), start, end
