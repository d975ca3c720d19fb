"""Stack samples: which line of which function a thread was in at a moment."""

from collections.abc import Iterator

import numpy as np

from perfscope.arrays import Bools, Ints
from perfscope.attribution.ledger import IS_COMMUNICATION
from perfscope.attribution.timeline import Timeline
from perfscope.dataframes import columns as col
from perfscope.dataframes.columns import Block, Interner, TableSpec, Texts, constant, pieces
from perfscope.dataframes.source import Source
from perfscope.dataframes.tables.ledger import NAMES as ACCOUNT_NAMES
from perfscope.trace.model import Frame, Rank


class _Frames:
    """Function, file and line of each frame, ready to be indexed."""

    def __init__(self, frames: list[Frame]) -> None:
        self._function, self._file = Interner(), Interner()
        self._functions = self._function.codes([frame.function for frame in frames])
        self._files = self._file.codes([frame.file for frame in frames])
        self._lines = np.array([frame.line for frame in frames], np.int64)

    def columns(self, prefix: str, frame: Ints) -> Block:
        return {
            f"{prefix}function": Texts(self._functions[frame], self._function.texts),
            f"{prefix}file": Texts(self._files[frame], self._file.texts),
            f"{prefix}line": self._lines[frame],
        }


def _blocks(source: Source) -> Iterator[Block]:
    trace, prepared = source.trace, source.prepared
    if not trace.stacks:
        return
    frames, phases = _Frames(trace.frames), Interner()
    phase_codes = np.append(phases.codes(prepared.catalog.ids), np.int32(-1))
    inner = np.array([stack[-1] if stack else 0 for stack in trace.stacks], np.int64)
    for rank, timeline in zip(trace.ranks, prepared.timelines, strict=True):
        for rows in pieces(len(rank.stacks)):
            table = rank.stacks[rows]
            segment, inside = _segments(rank, timeline, table["t"])
            account = np.where(inside, timeline.accounts[segment].astype(np.int32), -1)
            yield {
                "rank": constant(rank.number, len(table)),
                "tid": table["tid"].astype(np.int64),
                "t_ns": table["t"].astype(np.int64),
                **frames.columns("", prepared.labels.user_frame[table["stack"]]),
                **frames.columns("inner_", inner[table["stack"]]),
                "account": Texts(account, ACCOUNT_NAMES),
                "busy": ~(inside & IS_COMMUNICATION[account]),
                "phase": Texts(
                    phase_codes[np.where(inside, timeline.phases[segment], -1)], phases.texts
                ),
                "stack": table["stack"].astype(np.int64),
            }


def _segments(rank: Rank, timeline: Timeline, times: Ints) -> tuple[Ints, Bools]:
    """The segment of the rank's timeline that each moment is in, and whether it is in any."""
    place = np.searchsorted(timeline.boundaries, times, side="right") - 1
    inside = (times >= rank.start_ns) & (times < rank.end_ns) & (place < len(timeline.accounts))
    return np.clip(place, 0, max(len(timeline.accounts) - 1, 0)), inside


TABLE = TableSpec(
    name="samples",
    summary="One row for each stack that the sampler saw, at most 50 times a second.",
    columns=(
        col.RANK,
        col.TID,
        col.instant("t_ns", "when"),
        col.text("function", "the innermost function of the user's own files"),
        col.text("file", "its file"),
        col.integer("line", "the line that it was in, 0 unknown"),
        col.text("inner_function", "the innermost function of all"),
        col.text("inner_file", "its file"),
        col.integer("inner_line", "the line that it was in, 0 unknown"),
        col.text("account", "the account of the ledger that the main thread was in"),
        col.flag("busy", "the main thread was not in communication"),
        col.text("phase", "the phase that the main thread was in"),
        col.integer("stack", "number of the whole stack in the table of stacks"),
    ),
    blocks=_blocks,
    reason=lambda source: source.missing("samples", "no stack was sampled"),
)
