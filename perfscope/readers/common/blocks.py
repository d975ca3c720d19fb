"""The bytes of a file in blocks, decompressed where it is a gzip file; memory stays bounded."""

import importlib
import os
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from perfscope.errors import UnreadableInputError, refused
from perfscope.files import open_input
from perfscope.readers.detect import GZIP
from perfscope.readers.encoding import in_utf8
from perfscope.structures import dataclass

BLOCK_BYTES = 4 << 20
PIECE_BYTES = 1 << 16
BOMB_BYTES = 64 << 20
"""From here on a file that grows too many times is taken for a bomb."""
MOST_SMALL_MEMBERS = 1000
SMALL_MEMBER_BYTES = 256
"""More members than that, smaller than that on average, are no way to store a trace."""


MOST_BOMBS = 3
"""So many compressed files of one directory are tried that grow too much."""


class GrowthError(UnreadableInputError):
    """A compressed file would cost more to read than a trace of its size can."""


@dataclass(frozen=True)
class Growth:
    """How much a compressed file may become: times its size, and bytes in all.

    Traces compress 5 to 50 times; deflate cannot do better than 1032 times.
    """

    ratio: int = 300
    most_bytes: int = 1 << 40


USUAL = Growth()


def as_text(path: Path) -> str:
    """A path as the engine takes it: what is no text in it is replaced."""
    return os.fsencode(path).decode("utf-8", "replace")


def blocks(path: Path, tell: Callable[[str], None], growth: Growth = USUAL) -> Iterator[bytes]:
    """The content of a file, plain or gzip; a text with a byte-order mark as plain UTF-8.

    `tell` is told when a compressed file is cut off; what came before it counts.

    Raises:
        UnreadableInputError: the system refuses, or compressed data are damaged or a bomb.
    """
    try:
        with open_input(path) as file:
            stored = iter(lambda: file.read(BLOCK_BYTES), b"")
            first = next(stored, b"")
            if first.startswith(GZIP):
                yield from in_utf8(_decompressed(path, _chain(first, stored), tell, growth))
            else:
                yield from in_utf8(_chain(first, stored))
    except OSError as error:
        raise refused(path, error) from error


def _chain(first: bytes, rest: Iterator[bytes]) -> Iterator[bytes]:
    if first:
        yield first
    yield from rest


def _decompressed(
    path: Path, stored: Iterator[bytes], tell: Callable[[str], None], growth: Growth
) -> Iterator[bytes]:
    """The members of a gzip file, one after the other."""
    unpacking = _Unpacking(path, growth)
    for block in stored:
        # small pieces: what is behind the end of a member is copied each time
        for start in range(0, len(block), PIECE_BYTES):
            yield from unpacking.blocks_of(block[start : start + PIECE_BYTES])
    if not unpacking.is_complete:
        tell(
            f"{path} is cut off: the compressed data end after {unpacking.read:,} bytes without "
            "an end."
        )


class _Unpacking:
    """Decompresses a gzip file piece by piece, and refuses one that costs too much to be a trace.

    Attributes:
        read: compressed bytes that were taken.
        written: bytes that they became.
        members: gzip files that were found one behind the other.
    """

    def __init__(self, path: Path, growth: Growth) -> None:
        self._path, self._growth = path, growth
        self._library = _fastest()
        self._decoder = self._library.decompressobj(wbits=31)
        self.read = self.written = 0
        self.members = 1

    @property
    def is_complete(self) -> bool:
        """Whether the last member has its end."""
        return bool(self._decoder.eof)

    def blocks_of(self, piece: bytes) -> Iterator[bytes]:
        """What a piece of the file becomes."""
        data = piece
        while data:
            if self._decoder.eof:
                if not data.lstrip(b"\0"):
                    self.read += len(data)
                    return  # padding
                self._decoder = self._library.decompressobj(wbits=31)
                self.members += 1
            try:
                out = bytes(self._decoder.decompress(data, BLOCK_BYTES))
            except self._library.error as error:
                raise _undecodable(self._path, self.read, error) from error
            is_end = self._decoder.eof
            rest = self._decoder.unused_data if is_end else self._decoder.unconsumed_tail
            self.read += len(data) - len(rest)
            self.written += len(out)
            self._check()
            if out:
                yield out
            data = rest

    def _check(self) -> None:
        most = min(max(self._growth.ratio * self.read, BOMB_BYTES), self._growth.most_bytes)
        if self.written > most:
            raise _bomb(self._path, self.written, self.read, self._growth)
        if self.members > MOST_SMALL_MEMBERS and self.read < self.members * SMALL_MEMBER_BYTES:
            raise GrowthError(
                f"{self._path} was not read to its end: it is made of too many small parts.",
                why=f"{self.members:,} gzip files in a row have {self.read:,} bytes together.",
                action="If it is a trace all the same, decompress it and give the result.",
            )


def _fastest() -> Any:
    """The library to decompress with: isal's where it is installed, three times as fast as zlib."""
    try:
        return importlib.import_module("isal.isal_zlib")
    except ImportError:
        return zlib


def _undecodable(path: Path, offset: int, error: Exception) -> UnreadableInputError:
    return UnreadableInputError(
        f"{path} is damaged.",
        why=f"The compressed data cannot be decompressed after byte {offset:,}: {error}.",
        action="Copy the file again from where it was recorded, or give it uncompressed.",
    )


def _bomb(path: Path, written: int, read: int, growth: Growth) -> GrowthError:
    return GrowthError(
        f"{path} was not read to its end: it grows too much when it is decompressed.",
        why=(
            f"{read:,} bytes of it became {written:,}: at most {growth.ratio} times as much and "
            f"{growth.most_bytes >> 30:,} GiB in all are read."
        ),
        action="If it is a trace all the same, decompress it yourself and give the result.",
    )


def not_tried(name: str, bombs: int) -> UnreadableInputError:
    """What the user reads of a file beside `bombs` others that grow too much."""
    return UnreadableInputError(
        f"{name} was not read.",
        why=f"{bombs} compressed files beside it grow too much when they are decompressed.",
        action="Give the trace itself instead of the directory.",
    )


def too_many_events(path: Path) -> UnreadableInputError:
    """What the user reads of a file whose events would fill the memory."""
    return UnreadableInputError(
        f"{path} has too many events to be read.",
        why="They do not fit into half of the memory that is left.",
        action="Record a shorter part of the run.",
    )


def damaged(error: Exception, action: str) -> UnreadableInputError:
    """What the user reads when the engine finds a file damaged (a `_core.FormatError`)."""
    path, offset, reason = error.args
    return UnreadableInputError(
        f"{path} is damaged or not what it seems to be.",
        why=f"At byte {offset:,}: {reason}.",
        action=action,
    )
