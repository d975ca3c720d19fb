"""Everything that has a start and an end on a thread of a rank: operations, phases, steps."""

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from perfscope.arrays import Ints
from perfscope.dataframes import columns as col
from perfscope.dataframes.columns import (
    Block,
    Interner,
    TableSpec,
    Texts,
    constant,
    pieces,
    where_known,
)
from perfscope.dataframes.source import Source
from perfscope.dataframes.tables.operations import CLASS_OF, CLASSES, NAMES
from perfscope.trace.model import Rank, RowFlag, Table

KINDS = ("operation", "background", "phase", "step")
"""What an interval can be; `background` is an operation of Horovod's own thread."""


class _Words:
    """The texts of the table, each list with the operations' names first."""

    def __init__(self, source: Source) -> None:
        self.name, self.category = Interner(), Interner()
        self.name.codes(NAMES)
        self.category.codes(CLASSES)
        ids = source.prepared.catalog.ids
        kinds = [source.prepared.catalog.kind(place) for place in range(len(ids))]
        self.phase = self.name.codes(ids)
        self.phase_kind = self.category.codes([kind.name.lower() for kind in kinds])
        self.step = self.name.code("step")
        self.step_category = self.category.code("step")


def _blocks(source: Source) -> Iterator[Block]:
    words = _Words(source)
    for position, rank in enumerate(source.trace.ranks):
        for kind, table in (("operation", rank.operations), ("background", rank.background)):
            for rows in pieces(len(table)):
                yield _operations(rank, kind, table[rows], words)
        for rows in pieces(len(rank.phases)):
            yield _phases(source, rank, rank.phases[rows], words)
        start, end, label = source.prepared.parts[position].samples.phase_rows
        if len(start):
            yield _sampled(rank, start, end, label, words)
        for rows in pieces(len(rank.steps)):
            yield _steps(rank, rank.steps[rows], words)


def _frame(
    rank: Rank, kind: str, t0: Ints, t1: Ints, tid: Ints, flags: npt.NDArray[np.integer]
) -> dict[str, object]:
    length = len(t0)
    return {
        "rank": constant(rank.number, length),
        "tid": tid.astype(np.int64),
        "kind": Texts(np.full(length, KINDS.index(kind), np.int32), KINDS),
        "t0_ns": t0.astype(np.int64),
        "t1_ns": t1.astype(np.int64),
        "duration_ns": (t1 - t0).astype(np.int64),
        "sampled": (flags & RowFlag.SAMPLED) != 0,
        "open": (flags & RowFlag.OPEN) != 0,
    }


def _complete(
    frame: dict[str, object],
    words: _Words,
    name: npt.NDArray[np.int32],
    category: npt.NDArray[np.int32],
    step: tuple[Ints, Ints] | None = None,
) -> Block:
    """Adds the columns that differ by kind."""
    nothing = np.full(len(name), -1, np.int64)
    number, epoch = step or (nothing, nothing)
    frame["name"] = Texts(name, words.name.texts)
    frame["category"] = Texts(category, words.category.texts)
    frame["step"], frame["epoch"] = where_known(number), where_known(epoch)
    return frame  # type: ignore[return-value]


def _operations(rank: Rank, kind: str, rows: Table, words: _Words) -> Block:
    frame = _frame(rank, kind, rows["t0"], rows["t1"], rows["tid"], rows["flags"])
    return _complete(frame, words, rows["op"].astype(np.int32), CLASS_OF[rows["op"]])


def _phases(source: Source, rank: Rank, rows: Table, words: _Words) -> Block:
    index = source.prepared.catalog.of_rows(source.trace, rows)
    frame = _frame(rank, "phase", rows["t0"], rows["t1"], rows["tid"], rows["flags"])
    place = rows["step"], rows["epoch"].astype(np.int64)
    return _complete(frame, words, words.phase[index], words.phase_kind[index], place)


def _sampled(rank: Rank, start: Ints, end: Ints, label: Ints, words: _Words) -> Block:
    length = len(start)
    flags = np.full(length, int(RowFlag.SAMPLED), np.int64)
    frame = _frame(rank, "phase", start, end, constant(rank.main_tid, length), flags)
    return _complete(frame, words, words.phase[label], words.phase_kind[label])


def _steps(rank: Rank, rows: Table, words: _Words) -> Block:
    length = len(rows)
    flags = constant(0, length)
    tid = constant(rank.main_tid, length)
    frame = _frame(rank, "step", rows["t0"], rows["t1"], tid, flags)
    name = np.full(length, words.step, np.int32)
    category = np.full(length, words.step_category, np.int32)
    place = rows["number"], rows["epoch"].astype(np.int64)
    return _complete(frame, words, name, category, place)


TABLE = TableSpec(
    name="intervals",
    summary="One row for each operation, phase and step of each rank, rank after rank.",
    columns=(
        col.RANK,
        col.TID,
        col.text("kind", "operation, background (an operation of Horovod's thread), phase or step"),
        col.text("name", "of the operation or phase; `step` for a step"),
        col.text("category", "class of the operation, kind of the phase"),
        *col.span("it"),
        col.optional("step", "number of the step that it belongs to"),
        col.optional("epoch", "number of the epoch that it belongs to"),
        col.flag("sampled", "found by the stack sampler: its ends are not exact"),
        col.flag("open", "the process ended inside it"),
    ),
    blocks=_blocks,
    reason=lambda source: source.missing("intervals", "nothing was recorded"),
)
