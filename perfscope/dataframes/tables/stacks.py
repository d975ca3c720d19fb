"""The stacks that samples refer to, each once."""

from collections.abc import Iterator

import numpy as np

from perfscope.dataframes import columns as col
from perfscope.dataframes.columns import Block, Interner, TableSpec, pieces
from perfscope.dataframes.source import Source
from perfscope.trace.model import Trace


def folded(trace: Trace, stack: tuple[int, ...]) -> str:
    """A stack as one text, outermost function first, as flame graph tools write it."""
    frames = (trace.frames[level] for level in stack)
    return ";".join(f"{frame.function} ({frame.file}:{frame.line})" for frame in frames)


def _blocks(source: Source) -> Iterator[Block]:
    words = Interner()
    stacks = source.trace.stacks
    for rows in pieces(len(stacks)):
        yield {
            "stack": np.arange(rows.start, rows.stop, dtype=np.int64),
            "frames": words.column([folded(source.trace, stack) for stack in stacks[rows]]),
        }


TABLE = TableSpec(
    name="stacks",
    summary="One row for each distinct stack.",
    columns=(
        col.integer("stack", "its number"),
        col.text("frames", "outermost first: function (file:line);function (file:line);..."),
    ),
    blocks=_blocks,
    reason=lambda source: source.missing("samples", "no stack was sampled"),
)
