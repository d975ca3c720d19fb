"""Reads what `perfscope run --memory-detail` left beside the records of a rank."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from perfscope.readers.common.amounts import MAX_AMOUNT
from perfscope.readers.recording import agent_metadata
from perfscope.readers.recording.process_file import ProcessFile
from perfscope.trace.model import Rank
from perfscope.trace.stack_spans import (
    MEMORY_WINDOW_DTYPE,
    KeptPlace,
    MemoryRecording,
    MemoryWindow,
)

ENDING = ".memory.json"
MOST_WINDOWS = 64
MOST_PLACES = 200
MOST_FRAMES = 32
LONGEST_TEXT = 1000


def read_memory_detail(rank: Rank, process: ProcessFile, offset_ns: int) -> MemoryRecording | None:
    """Fills `Rank.memory_windows`; None where memory of this rank was not recorded by line."""
    path = process.path.with_suffix(ENDING)
    if not path.exists():
        return None
    state, note = agent_metadata.read_json(path)
    told = state.get("windows")
    rows, windows = [], []
    for entry in told[:MOST_WINDOWS] if isinstance(told, list) else ():
        if isinstance(entry, dict) and (times := _times(entry)) is not None:
            rows.append((times[0] + offset_ns, times[1] + offset_ns))
            windows.append(_window(entry))
    rank.memory_windows = np.array(rows, MEMORY_WINDOW_DTYPE)
    reason = note or agent_metadata.text(state, "reason")
    if not windows and not reason:
        reason = "the rank ended before a window of it was over"
    engine = agent_metadata.text(state, "engine")[:LONGEST_TEXT]
    is_growth = state.get("is_growth") is True
    return MemoryRecording(rank.number, engine, windows, reason, is_growth)


def _times(entry: Mapping[str, Any]) -> tuple[int, int] | None:
    begin = agent_metadata.integer(entry, "begin_ns")
    end = agent_metadata.integer(entry, "end_ns")
    return (begin, end) if begin is not None and end is not None and end > begin >= 0 else None


def _window(entry: Mapping[str, Any]) -> MemoryWindow:
    told = entry.get("places")
    places = [
        place
        for row in (told[:MOST_PLACES] if isinstance(told, list) else ())
        if isinstance(row, dict) and (place := _place(row)) is not None
    ]
    kept, count = _amount(entry, "kept_bytes"), _amount(entry, "count")
    return MemoryWindow(kept, count, places, entry.get("is_last") is True)


def _place(row: Mapping[str, Any]) -> KeptPlace | None:
    told = row.get("stack")
    if not isinstance(told, list):
        return None
    stack = tuple(
        (str(frame[0])[:LONGEST_TEXT], str(frame[1])[:LONGEST_TEXT], frame[2])
        for frame in told[:MOST_FRAMES]
        if isinstance(frame, list) and len(frame) == 3 and _is_line(frame[2])
    )
    return KeptPlace(_amount(row, "bytes"), _amount(row, "count"), stack) if stack else None


def _is_line(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 31


def _amount(row: Mapping[str, Any], key: str) -> int:
    value = agent_metadata.integer(row, key)
    return value if value is not None and 0 <= value < MAX_AMOUNT else 0
