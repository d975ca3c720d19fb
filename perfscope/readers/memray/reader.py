"""Reads captures of `memray run`: memory over time, and the lines that held it.

Captures are LZ4 frames of records whose layout changes with memray's releases, so that memray
itself reads them, in a process of its own: compiled code may crash on a damaged file.
"""

import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from perfscope.errors import UnreadableInputError
from perfscope.files import head_of, parse_json
from perfscope.readers.common import texts
from perfscope.readers.common.tool_reports import not_told_of_memory, report, table
from perfscope.readers.detect import Place, Reader, ReadOptions, Tells
from perfscope.schema.enums import EndKind, Quantity
from perfscope.schema.other_tools import ToolTable
from perfscope.trace.model import Communicator, Ending, Format, Rank, Trace
from perfscope.trace.samples import PROCESS_SAMPLE_DTYPE
from perfscope.trace.stack_spans import (
    MEMORY_WINDOW_DTYPE,
    KeptPlace,
    MemoryRecording,
    MemoryWindow,
)
from perfscope.units import format_bytes

MAGIC, LZ4 = b"memray\0", b"\x04\x22\x4d\x18"
FORMAT_AT_MOST = 64  # bytes from the begin on, also of a compressed capture
LONGEST_S = 600
LATEST_MS = 4 * 10**12
MS = 10**6
NOT_RECORDED = not_told_of_memory("memray")
RELEASES = {11: "1.13 to 1.18", 12: "1.19", 13: "1.20"}
"""Which releases of memray write which format, and read no other, as those that were tried say."""
ACTION = "Copy it again, or record again: python -m memray run -o capture.bin train.py"


def _recognizes(place: Place) -> bool:
    head = place.head
    return head.startswith(MAGIC) or (head.startswith(LZ4) and MAGIC[:-1] in head[:64])


def _open(paths: Sequence[Path], _: ReadOptions) -> Trace:
    """The process that a capture tells of.

    Raises:
        UnreadableInputError: memray is not installed or cannot read it, or it tells no time.
    """
    path = paths[0]
    told = _read(path)
    begin, end = (texts.whole(told, key) or 0 for key in ("begin_ms", "end_ms"))
    rows = [row for row in _snapshots(told) if begin <= row[0] < LATEST_MS]
    end = max([end, *(row[0] for row in rows)])
    if not 0 < begin <= end < LATEST_MS:
        raise _unreadable(path, "It does not say when it was made.")
    ending = Ending(EndKind.EXITED, source="the end of the capture")
    pid = texts.whole(told, "pid") or 0
    rank = Rank(0, "", pid if pid < 1 << 31 else 0, 0, (end - begin) * MS, 0, ending)
    rank.process_samples = np.zeros(len(rows), PROCESS_SAMPLE_DTYPE)
    rank.process_samples["t"] = [(row[0] - begin) * MS for row in rows]
    rank.process_samples["rss_bytes"] = [row[1] for row in rows]
    rank.process_samples["blocked"] = -1
    rank.process_samples.sort(order="t", kind="stable")
    left = texts.mapping(told.get("left"))
    rank.memory_windows = np.array([(0, rank.end_ns)], MEMORY_WINDOW_DTYPE)
    window = MemoryWindow(
        texts.whole(left, "bytes") or 0, texts.whole(left, "count") or 0, _places(left), True
    )
    return Trace(
        command=texts.words(texts.text(told, "command")),
        origin_unix_ns=begin * MS,
        wall_ns=rank.end_ns,
        world_size=1,
        ranks=[rank],
        communicators=[Communicator(0, (0,), -1)],
        source=str(path),
        format=Format.MEMRAY,
        not_recorded=NOT_RECORDED,
        memory_recordings=[MemoryRecording(0, "memray", [window], "")],
        tool_reports=[report("memray", path, _sentences(told), [_at_peak(told)])],
    )


def _read(path: Path) -> Mapping[str, Any]:
    """What memray says of a capture."""
    words = ["-I", "-m", "perfscope.readers.memray.child", str(path.absolute())]
    try:
        done = subprocess.run(
            [sys.executable, *words], capture_output=True, timeout=LONGEST_S, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise _unreadable(path, f"memray took longer than {LONGEST_S} s over it.") from error
    try:
        found = texts.mapping(parse_json(done.stdout))
    except ValueError as error:
        why = f"memray ended with {done.returncode} while it read it."
        raise _unreadable(path, why) from error
    if found.get("missing"):
        raise UnreadableInputError(
            f"{path} is a capture of memray, which is needed to read it.",
            why="It is not installed where perfscope is.",
            action="Install it: python -m pip install memray",
        )
    if said := texts.text(found, "error"):
        if "incompatible" in said:
            raise _of_another_release(path)
        raise _unreadable(path, f"memray says: {said.rstrip('.')}.")
    return found


def _of_another_release(path: Path) -> UnreadableInputError:
    """That memray reads no captures of this format, and which release does, as far as is known."""
    head = head_of(path, FORMAT_AT_MOST)
    place = head.find(MAGIC) + len(MAGIC)
    number = int.from_bytes(head[place : place + 4], "little")
    known = RELEASES.get(number)
    which = f"format {number}" if MAGIC in head else "a format"
    return UnreadableInputError(
        f"{path} is a capture of another release of memray.",
        why=f"It has {which}, which the memray that is installed beside perfscope does not read.",
        action=f"Install memray {known}." if known else "Install the release that wrote it.",
    )


def _unreadable(path: Path, why: str) -> UnreadableInputError:
    return UnreadableInputError(f"{path} cannot be read as a capture.", why=why, action=ACTION)


def _snapshots(told: Mapping[str, Any]) -> list[tuple[int, int]]:
    """When, and how much memory was resident."""
    rows = told.get("snapshots")
    return [
        (row[0], row[1])
        for row in (rows if isinstance(rows, list) else [])
        if isinstance(row, list) and len(row) == 3 and all(isinstance(one, int) for one in row)
    ]


def _places(part: Mapping[str, Any]) -> list[KeptPlace]:
    found = []
    for row in texts.rows(part.get("places")):
        frames = row.get("stack")
        stack = tuple(
            (str(frame[0]), str(frame[1]), int(frame[2]))
            for frame in (frames if isinstance(frames, list) else [])
            if isinstance(frame, list) and len(frame) == 3 and isinstance(frame[2], int)
        )
        if stack:
            size, count = texts.whole(row, "bytes") or 0, texts.whole(row, "count") or 0
            found.append(KeptPlace(size, count, stack))
    return found


def _at_peak(told: Mapping[str, Any]) -> ToolTable:
    peak = texts.mapping(told.get("peak"))
    columns = {
        "Function": Quantity.CODE,
        "File": Quantity.CODE,
        "Line": Quantity.COUNT,
        "Held": Quantity.BYTES,
        "Allocations": Quantity.COUNT,
    }
    rows = [(*place.stack[0], place.kept_bytes, place.count) for place in _places(peak)]
    return table("What was held when the heap was largest", columns, rows)


def _sentences(told: Mapping[str, Any]) -> list[str]:
    places = _places(texts.mapping(told.get("peak")))
    peak = texts.whole(told, "peak_bytes")
    if not places or not peak:
        return []
    name, file, line = places[0].stack[0]
    said = (
        f"The heap was {format_bytes(peak)} when it was largest; the largest part, "
        f"{format_bytes(places[0].kept_bytes)}, was allocated in {name} ({file}:{line})."
    )
    return [said]


READER = Reader(
    format=Format.MEMRAY,
    description="a capture of memray (memray run, .bin)",
    recognizes=_recognizes,
    open=_open,
    tells=Tells(resources="memory of a process, the lines that held and kept it", clock="yes"),
)
