"""Which lines of a rank kept memory, from the allocations that were recorded on it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from perfscope.attribution.preparation import Prepared
from perfscope.attribution.stack_rules import AGENT, is_user_file
from perfscope.trace.model import Frame, Rank, Trace
from perfscope.trace.stack_spans import KeptPlace, MemoryRecording

MOST_LINES = 10


@dataclass(frozen=True)
class KeptLine:
    """Memory that a line of the program allocated in the window and that was not given back.

    Attributes:
        where: the user's innermost function and line on the way to the allocation.
        kept_bytes: bytes still there at the end of the window.
        count: allocations still there.
        allocator: the innermost function, where it is another.
    """

    where: Frame
    kept_bytes: int
    count: int
    allocator: Frame | None


@dataclass(frozen=True)
class MemoryDetail:
    """What one rank kept, in the longest window behind its warm-up.

    Attributes:
        rank: the rank.
        engine: what recorded it.
        start_s: start of the window on the trace's clock.
        seconds: its length; 0 where there is none.
        kept_bytes: all that was kept in it.
        lines: the lines that kept most, most first, at most `MOST_LINES`.
        is_whole_life: the only window was closed by the end of the program.
        reason: why there are no lines, or no later ones; "" without one.
    """

    rank: int
    engine: str
    start_s: float
    seconds: float
    kept_bytes: int
    lines: tuple[KeptLine, ...]
    is_whole_life: bool
    reason: str


def memory_detail(prepared: Prepared) -> tuple[MemoryDetail, ...]:
    """What each rank kept whose memory was recorded by line."""
    ranks = {rank.number: rank for rank in prepared.trace.ranks}
    return tuple(
        _detail(prepared, ranks[recording.rank], recording)
        for recording in prepared.trace.memory_recordings
        if recording.rank in ranks
    )


def _detail(prepared: Prepared, rank: Rank, recording: MemoryRecording) -> MemoryDetail:
    place = _window(rank, recording, prepared.focus.start_ns)
    if place is None:
        reason = recording.reason or "no window of it was over"
        return MemoryDetail(rank.number, recording.engine, 0.0, 0.0, 0, (), False, reason)
    row, window = rank.memory_windows[place], recording.windows[place]
    return MemoryDetail(
        rank=rank.number,
        engine=recording.engine,
        start_s=int(row["t0"]) / 1e9,
        seconds=int(row["t1"] - row["t0"]) / 1e9,
        kept_bytes=window.kept_bytes,
        lines=_lines(prepared.trace, window.places),
        is_whole_life=window.is_last,
        reason=recording.reason,
    )


def _window(rank: Rank, recording: MemoryRecording, focus_start_ns: int) -> int | None:
    """The longest window that began inside the focus and that the program's end did not close."""
    found = range(len(recording.windows))
    starts, ends = rank.memory_windows["t0"].tolist(), rank.memory_windows["t1"].tolist()

    def worth(place: int) -> tuple[bool, bool, int]:
        is_open = not recording.windows[place].is_last
        return is_open, starts[place] >= focus_start_ns, ends[place] - starts[place]

    return max(found, key=worth, default=None)


def _lines(trace: Trace, places: Sequence[KeptPlace]) -> tuple[KeptLine, ...]:
    functions = {(frame.file, frame.line): frame.function for frame in trace.frames}
    found: dict[tuple[str, int], list[tuple[Frame, KeptPlace]]] = {}
    for kept in places:
        if AGENT in kept.stack[0][1]:
            continue  # what recording keeps is not the program's
        frames = [Frame(n or functions.get((f, at), ""), f, at) for n, f, at in kept.stack]
        user = next((frame for frame in frames if is_user_file(frame.file)), frames[0])
        found.setdefault((user.file, user.line), []).append((user, kept))
    lines = [_line(rows) for rows in found.values()]
    lines.sort(key=lambda line: (-line.kept_bytes, line.where.file, line.where.line))
    return tuple(lines[:MOST_LINES])


def _line(rows: Sequence[tuple[Frame, KeptPlace]]) -> KeptLine:
    where = rows[0][0]
    largest = max((kept for _, kept in rows), key=lambda kept: kept.kept_bytes)
    name, file, number = largest.stack[0]
    inner = Frame(name, file, number)
    return KeptLine(
        where=where,
        kept_bytes=sum(kept.kept_bytes for _, kept in rows),
        count=sum(kept.count for _, kept in rows),
        allocator=None if (file, number) == (where.file, where.line) else inner,
    )
