"""What each rank spent its time in, added up: operations, phases, and regions of other tools."""

from collections.abc import Iterator

import numpy as np

from perfscope.dataframes import columns as col
from perfscope.dataframes.columns import Block, Interner, Maybe, TableSpec, Texts, constant
from perfscope.dataframes.source import Source
from perfscope.matching.intervals import union
from perfscope.trace.framework_codes import tells_bytes
from perfscope.trace.model import Rank
from perfscope.trace.operations import name_of

_KINDS = ("operation", "phase", "region")
_Row = tuple[str, str, int, int, int, int, int]


def _blocks(source: Source) -> Iterator[Block]:
    names = Interner()
    for position, rank in enumerate(source.trace.ranks):
        rows = [*_operations(rank), *_phases(source, position), *_regions(source, rank)]
        if not rows:
            continue
        kind, name, *numbers = zip(*rows, strict=True)
        calls, inclusive, exclusive, sent, received = (np.array(n, np.int64) for n in numbers)
        told = sent >= 0
        yield {
            "rank": constant(rank.number, len(rows)),
            "kind": Texts(np.array([_KINDS.index(k) for k in kind], np.int32), _KINDS),
            "name": names.column(name),
            "calls": calls,
            "inclusive_ns": inclusive,
            "exclusive_ns": exclusive,
            "sent_bytes": Maybe(sent, told),
            "received_bytes": Maybe(received, told),
        }


def _operations(rank: Rank) -> Iterator[_Row]:
    for code, (calls, spent, sent, received) in sorted(rank.totals.items()):
        size = (sent, received) if tells_bytes(code, sent + received) else (-1, -1)
        yield ("operation", name_of(code), calls, spent, spent, *size)


def _phases(source: Source, position: int) -> Iterator[_Row]:
    """Phases of the main location; those inside others count in the inner one alone."""
    prepared = source.prepared
    part, timeline = prepared.parts[position], prepared.timelines[position]
    inside = timeline.phases >= 0
    exclusive = np.zeros(len(prepared.catalog.ids), np.int64)
    np.add.at(exclusive, timeline.phases[inside], timeline.lengths[inside])
    marked = prepared.catalog.of_rows(source.trace, part.phases)
    start, end, label = part.samples.phase_rows
    starts = np.concatenate([part.phases["t0"].astype(np.int64), start])
    ends = np.concatenate([part.phases["t1"].astype(np.int64), end])
    labels = np.concatenate([marked, label])
    for place in np.unique(labels).tolist():
        mine = labels == place
        first, last = union(starts[mine], ends[mine])
        inclusive = int((last - first).sum())
        count = int(np.count_nonzero(mine))
        name = prepared.catalog.ids[place]
        yield ("phase", name, count, inclusive, int(exclusive[place]), -1, -1)


def _regions(source: Source, rank: Rank) -> Iterator[_Row]:
    for row in rank.profile.tolist():
        name, _, count, inclusive, exclusive = row
        yield ("region", source.trace.names[name], count, inclusive, exclusive, -1, -1)


TABLE = TableSpec(
    name="profile",
    summary="One row for each operation, phase and region of each rank, over its whole life.",
    columns=(
        col.RANK,
        col.text("kind", "operation, phase, or region (a function of another tool's trace)"),
        col.text("name", "of the operation, phase or region"),
        col.integer(
            "calls", "how often; of operations this is complete even where records were lost"
        ),
        col.integer("inclusive_ns", "time from start to end, once where it is inside itself", "ns"),
        col.integer("exclusive_ns", "the part that belongs to nothing of its kind inside it", "ns"),
        col.optional("sent_bytes", "of operations", "bytes"),
        col.optional("received_bytes", "of operations", "bytes"),
    ),
    blocks=_blocks,
    reason=lambda source: source.missing("profile", "nothing was recorded"),
)
