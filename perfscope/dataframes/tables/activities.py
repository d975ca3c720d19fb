"""What the ranks were doing outside communication, and at which place of the program."""

from collections.abc import Iterator

import numpy as np

from perfscope.dataframes import columns as col
from perfscope.dataframes.columns import Block, Interner, TableSpec, pieces
from perfscope.dataframes.source import Source
from perfscope.metrics.host.activities import activities
from perfscope.trace.model import Frame

_NOWHERE = Frame("", "", 0)


def _blocks(source: Source) -> Iterator[Block]:
    words = Interner()
    rows = activities(source.prepared).rows
    for part in pieces(len(rows)):
        here = rows[part]
        places = [row.where or _NOWHERE for row in here]
        yield {
            "rank": np.array([row.rank for row in here], np.int64),
            "activity": words.column([row.activity.value for row in here]),
            "phase": words.column([row.phase for row in here]),
            "function": words.column([place.function for place in places]),
            "file": words.column([place.file for place in places]),
            "line": np.array([place.line for place in places], np.int64),
            "calls": words.column([row.calls for row in here]),
            "in_step": np.array([row.is_in_step for row in here], np.bool_),
            "time_ns": np.array([row.ns for row in here], np.int64),
        }


TABLE = TableSpec(
    name="activities",
    summary=(
        "One row for each activity of a rank at one line of the program, in the focus of analysis "
        "and outside communication."
    ),
    columns=(
        col.RANK,
        col.text("activity", "numeric, files, lock, garbage_collection, ... as in analysis.json"),
        col.text("phase", "id of the innermost phase, empty outside of any"),
        col.text("function", "the user's innermost function"),
        col.text("file", "its file"),
        col.integer("line", "the line of it that ran, 0 unknown"),
        col.text("calls", "the function of a library or of C seen there most, empty for none"),
        col.flag("in_step", "inside a training step"),
        col.integer(
            "time_ns", "of the main thread, by stack samples; collections are measured", "ns"
        ),
    ),
    blocks=_blocks,
    reason=lambda source: source.missing("samples", "no stack was sampled"),
)
