"""The file of one process's records: its header, checked, and the slots in which something is."""

import errno
import os
from collections.abc import Iterator
from dataclasses import field
from pathlib import Path
from typing import BinaryIO, Protocol

import numpy as np

from perfscope.errors import UnreadableInputError
from perfscope.files import open_input
from perfscope.readers.recording.layout import (
    FORMAT_VERSION,
    HEADER_BYTES,
    HEADER_DTYPE,
    MAGIC,
    RECORD_BYTES,
    RECORD_DTYPE,
    RecordKind,
)
from perfscope.structures import dataclass
from perfscope.trace.model import Table

MAX_LIFE_NS = 400 * 86400 * 10**9
"""No process of a training job lives longer: later times are damage."""

MAX_RANKS = 1 << 20
"""A larger world is damage."""

BLOCK_BYTES = 1 << 18
"""Read at once: what a processor's own cache holds, so that records are taken apart there."""

_BLOCK_SLOTS = BLOCK_BYTES // RECORD_BYTES
_RECENT_SLOTS = 4096
_MOST_RECENT_SLOTS = 1 << 22
_OF_A_THREAD = (RecordKind.OPERATION, RecordKind.PHASE, RecordKind.STEP)
"""Records that tell where a thread is."""


@dataclass
class RecordFile:
    """What a file of records holds."""

    header: np.void
    records: Table  # its slots, without blocks of empty ones; none where others took them
    missing: int = 0  # records that the process had claimed and that the file does not hold
    notes: list[str] = field(default_factory=list)  # what is unusual about it


class Taker(Protocol):
    """Takes the records of a file as they are read."""

    def begin(self, header: np.void, slots: int) -> None:
        """The header is known, and that so many slots follow at most."""

    def take(self, records: Table) -> int:
        """Takes some of them, and tells the number of slots up to the last used one.

        The memory in which they are is used again.
        """


def read_record_file(
    path: Path, *, recent_s: float | None = None, into: Taker | None = None
) -> RecordFile:
    """The header and the records in a file.

    The records are read, not mapped: a file that another process cuts short meanwhile would end
    this one. Memory is needed for what was written, not for what a sparse file claims.

    `recent_s` is for the records of the last seconds alone, with what the main thread did last;
    None for all of them. Without anything to put them into they are kept.

    Raises:
        UnreadableInputError: the file is damaged beyond its header.
    """
    try:
        with open_input(path) as file:
            size = os.fstat(file.fileno()).st_size
            if size < HEADER_BYTES:
                why = f"It has {size} bytes, less than its header of {HEADER_BYTES}."
                raise unreadable(path, why)
            header = np.frombuffer(file.read(HEADER_DTYPE.itemsize), HEADER_DTYPE, count=1)[0]
            _check(path, header)
            slots = (size - HEADER_BYTES) // RECORD_BYTES
            kept = _Kept()
            taker: Taker = kept if into is None else into
            if recent_s is not None:
                taker.begin(header, 0)
                taker.take(_recent(file, header, slots, round(recent_s * 1e9)))
                return RecordFile(header, kept.records)
            used = _take_written(file, header, slots, taker)
    except OSError as error:
        raise unreadable(path, f"{error.strerror or type(error).__name__}.") from error
    except ValueError as error:  # it is shorter by now than when it was opened
        raise unreadable(path, "It became shorter while it was read.") from error
    claimed = min(int(header["claimed"]), int(header["capacity"]))
    found = RecordFile(header, kept.records, missing=max(claimed - slots, 0))
    if found.missing > 1:
        found.notes.append(
            f"the file is cut off: {found.missing} records that were claimed are not there."
        )
    elif used > claimed:
        found.notes.append("it holds more records than its header says; all of them are read.")
    return found


class _Kept:
    """Keeps the records, without blocks of empty slots."""

    def __init__(self) -> None:
        self._room, self._count = np.empty(0, RECORD_DTYPE), 0

    @property
    def records(self) -> Table:
        """Those that were kept."""
        found: Table = self._room[: self._count]
        return found

    def begin(self, _: np.void, slots: int) -> None:
        """Makes room."""
        self._room = np.empty(slots, RECORD_DTYPE)

    def take(self, records: Table) -> int:
        """Copies them."""
        is_used = records["kind"] != RecordKind.NONE
        used = len(records) - int(is_used[::-1].argmax()) if np.any(is_used) else 0
        if used or np.any(records["t0_ns"]):
            kept = records[records["kind"] != RecordKind.THINNED]
            end = self._count + len(kept)
            if end > len(self._room):
                self._room = np.concatenate([self.records, np.empty(len(kept), RECORD_DTYPE)])
            self._room[self._count : end] = kept
            self._count = end
        return used


def _take_written(file: BinaryIO, header: np.void, slots: int, taker: Taker) -> int:
    """Hands over what is stored, block by block; gives the number behind the last used slot."""
    extents = list(_extents(file.fileno(), slots))
    stored = sum(end - first for first, end in extents)
    taker.begin(header, stored)
    room = np.empty(min(stored, _BLOCK_SLOTS), RECORD_DTYPE)
    used = 0
    for first, end in extents:
        file.seek(HEADER_BYTES + first * RECORD_BYTES)
        for start in range(first, end, _BLOCK_SLOTS):
            block = room[: end - start]
            got = file.readinto(block.view(np.uint8)) // RECORD_BYTES  # type: ignore[attr-defined]
            if behind := taker.take(block[:got]):
                used = start + behind
    return used


def _recent(file: BinaryIO, header: np.void, slots: int, recent_ns: int) -> Table:
    """The last records, in order: those of a time, and back to one of the main thread.

    A rank that has hung for long has written samples alone since its last call, which is open.
    """
    threads = (int(header["main_tid"]), int(header["pid"]))
    end = min(int(header["claimed"]), int(header["capacity"]), slots)
    kept: list[Table] = []
    since_ns, is_place_known = 0, False
    for first, behind in _backwards(header, end):
        file.seek(HEADER_BYTES + first * RECORD_BYTES)
        content = file.read((behind - first) * RECORD_BYTES)
        block = np.frombuffer(content, RECORD_DTYPE, count=len(content) // RECORD_BYTES)
        block = block[block["kind"] != RecordKind.THINNED]
        moments = np.maximum(block["t0_ns"], block["t1_ns"])
        latest_ns = int(moments.max(initial=0))
        since_ns = since_ns or max(latest_ns, int(header["alive_ns"])) - recent_ns
        if latest_ns < since_ns:
            if is_place_known:
                break
            block = block[np.isin(block["kind"], (*_OF_A_THREAD, RecordKind.STACK))]
        kept.append(block)
        is_own = np.isin(block["tid"], threads) & np.isin(block["kind"], _OF_A_THREAD)
        is_place_known = is_place_known or bool(np.any(is_own))
    found: Table = np.concatenate(kept[::-1]) if kept else np.empty(0, RECORD_DTYPE)
    return found


def _backwards(header: np.void, end: int) -> Iterator[tuple[int, int]]:
    """First slot and end of parts of a file, the one that was filled last first."""
    is_reusing = bool(header["thinning"]["is_reusing"])
    cursor = min(int(header["thinning"]["cursor"]), end) if is_reusing else end
    left = _MOST_RECENT_SLOTS
    for behind, first in ((cursor, 0), (end, cursor)):
        position = behind
        while position > first and left > 0:
            start = max(first, position - _RECENT_SLOTS)
            yield start, position
            left -= position - start
            position = start


def _extents(descriptor: int, slots: int) -> Iterator[tuple[int, int]]:
    """First slot and end of each part of the file that is stored; the others are all zero."""
    position, end = HEADER_BYTES, HEADER_BYTES + slots * RECORD_BYTES
    while position < end:
        try:
            start = max(os.lseek(descriptor, position, os.SEEK_DATA), position)
            stop = min(os.lseek(descriptor, start, os.SEEK_HOLE), end)
        except OSError as error:
            if error.errno == errno.ENXIO:  # nothing more is stored
                return
            start, stop = position, end  # a file system that does not tell
        first = (start - HEADER_BYTES) // RECORD_BYTES
        behind = -(-(stop - HEADER_BYTES) // RECORD_BYTES)
        yield first, behind
        position = HEADER_BYTES + behind * RECORD_BYTES


def _check(path: Path, header: np.void) -> None:
    if bytes(header["magic"]) != MAGIC:
        raise unreadable(path, "It does not begin with the mark of a recording.")
    if int(header["version"]) != FORMAT_VERSION:
        raise unreadable(
            path,
            f"It has format version {int(header['version'])}; this perfscope reads version "
            f"{FORMAT_VERSION}.",
            action="Analyze it with the version of perfscope that recorded it.",
        )
    sizes = (int(header["header_bytes"]), int(header["record_bytes"]))
    if sizes != (HEADER_BYTES, RECORD_BYTES):
        raise unreadable(path, f"Its header claims sizes of {sizes}, which no version writes.")
    if int(header["size"]) > MAX_RANKS:
        raise unreadable(path, f"Its header claims {int(header['size'])} ranks.")
    start_ns, mono0_ns, real0_ns = (
        int(header[name]) for name in ("process_start_ns", "mono0_ns", "real0_ns")
    )
    plausible = 0 < start_ns < 1 << 61 and 0 < real0_ns < 1 << 62
    if not plausible or abs(mono0_ns - start_ns) > MAX_LIFE_NS:
        raise unreadable(path, "The times in its header are damaged.")


def unreadable(path: Path, why: str, *, action: str = "") -> UnreadableInputError:
    """The error about a file of records."""
    return UnreadableInputError(
        f"The recording {path.name} cannot be read.",
        why=why,
        action=action or "Record the run again; the recordings of other processes may be intact.",
    )
