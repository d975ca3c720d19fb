"""Which lines of a rank kept memory, from the allocations that were recorded on it."""

from collections.abc import Sequence

from perfscope.attribution.preparation import Prepared
from perfscope.attribution.stack_rules import AGENT, is_user_file
from perfscope.schema.common import Place
from perfscope.schema.resources import MemoryLine, MemoryLinesOfRank
from perfscope.trace.model import Rank, Trace
from perfscope.trace.stack_spans import KeptPlace, MemoryRecording

MOST_LINES = 10


def memory_detail(prepared: Prepared) -> tuple[MemoryLinesOfRank, ...]:
    """What each rank kept whose memory was recorded by line."""
    ranks = {rank.number: rank for rank in prepared.trace.ranks}
    return tuple(
        _detail(prepared, ranks[recording.rank], recording)
        for recording in prepared.trace.memory_recordings
        if recording.rank in ranks
    )


def _detail(prepared: Prepared, rank: Rank, recording: MemoryRecording) -> MemoryLinesOfRank:
    place = _window(rank, recording, prepared.focus.start_ns)
    if place is None:
        reason = recording.reason or "no window of it was over"
        nothing = ((0.0, 0.0), False, 0, (), recording.is_growth)
        return MemoryLinesOfRank(rank.number, recording.engine, reason, *nothing)
    row, window = rank.memory_windows[place], recording.windows[place]
    start_s, length_s = int(row["t0"]) / 1e9, int(row["t1"] - row["t0"]) / 1e9
    return MemoryLinesOfRank(
        rank=rank.number,
        engine=recording.engine,
        reason=recording.reason or None,
        window_s=(start_s, start_s + length_s),
        is_whole_life=window.is_last,
        kept_bytes=window.kept_bytes,
        lines=_lines(prepared.trace, window.places),
        is_growth=recording.is_growth,
    )


def _window(rank: Rank, recording: MemoryRecording, focus_start_ns: int) -> int | None:
    """The longest window that began inside the focus and that the program's end did not close."""
    found = range(len(recording.windows))
    starts, ends = rank.memory_windows["t0"].tolist(), rank.memory_windows["t1"].tolist()

    def worth(place: int) -> tuple[bool, bool, int]:
        is_open = not recording.windows[place].is_last
        return is_open, starts[place] >= focus_start_ns, ends[place] - starts[place]

    return max(found, key=worth, default=None)


def _lines(trace: Trace, places: Sequence[KeptPlace]) -> tuple[MemoryLine, ...]:
    functions = {(frame.file, frame.line): frame.function for frame in trace.frames}
    found: dict[tuple[str, int], list[tuple[Place, KeptPlace]]] = {}
    for kept in places:
        if AGENT in kept.stack[0][1]:
            continue  # what recording keeps is not the program's
        frames = [Place(f, at, n or functions.get((f, at), "")) for n, f, at in kept.stack]
        user = next((frame for frame in frames if is_user_file(frame.file)), frames[0])
        found.setdefault((user.file, user.line), []).append((user, kept))
    lines = [_line(rows) for rows in found.values()]
    lines.sort(key=lambda line: (-line.kept_bytes, line.file, line.line))
    return tuple(lines[:MOST_LINES])


def _line(rows: Sequence[tuple[Place, KeptPlace]]) -> MemoryLine:
    where = rows[0][0]
    largest = max((kept for _, kept in rows), key=lambda kept: kept.kept_bytes)
    name, file, number = largest.stack[0]
    inner = Place(file, number, name)
    return MemoryLine(
        **vars(where),
        kept_bytes=sum(kept.kept_bytes for _, kept in rows),
        count=sum(kept.count for _, kept in rows),
        allocator=None if (file, number) == (where.file, where.line) else inner,
    )
