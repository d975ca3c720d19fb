"""The bytes of a file in blocks, decompressed where it is a gzip file; memory stays bounded."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

from perfscope.errors import UnreadableInputError
from perfscope.readers.detect import GZIP

BLOCK_BYTES = 4 << 20
BOMB_BYTES = 256 << 20
"""From here on a file that grows more than `BOMB_RATIO` times is taken for a bomb."""
BOMB_RATIO = 300
"""Traces compress 5 to 50 times; deflate cannot do better than 1032 times."""


def blocks(path: Path, tell: Callable[[str], None]) -> Iterator[bytes]:
    """The content of a file, plain or gzip.

    Args:
        path: the file.
        tell: is told when a compressed file is cut off; what came before it counts.

    Raises:
        UnreadableInputError: the system refuses, or compressed data are damaged or a bomb.
    """
    try:
        with path.open("rb") as file:
            stored = iter(lambda: file.read(BLOCK_BYTES), b"")
            first = next(stored, b"")
            if first.startswith(GZIP):
                yield from _decompressed(path, _chain(first, stored), tell)
            else:
                yield from _chain(first, stored)
    except OSError as error:
        raise UnreadableInputError(
            f"Cannot read {path}.",
            why=f"{error.strerror or error}.",
            action="Make it readable for you, or give a copy.",
        ) from error


def _chain(first: bytes, rest: Iterator[bytes]) -> Iterator[bytes]:
    if first:
        yield first
    yield from rest


def _decompressed(
    path: Path, stored: Iterator[bytes], tell: Callable[[str], None]
) -> Iterator[bytes]:
    """The members of a gzip file, one after the other."""
    read = written = 0
    decoder = zlib.decompressobj(wbits=31)
    for block in stored:
        read += len(block)
        data = block
        while data:
            if decoder.eof:
                if not data.lstrip(b"\0"):
                    break  # padding
                decoder = zlib.decompressobj(wbits=31)
            out = _inflate(path, decoder, data, read - len(data))
            written += len(out)
            if written > BOMB_BYTES and written > BOMB_RATIO * read:
                raise _bomb(path, written, read)
            if out:
                yield out
            data = decoder.unused_data if decoder.eof else decoder.unconsumed_tail
    if not decoder.eof:
        tell(f"{path} is cut off: the compressed data end after {read:,} bytes without an end.")


def _inflate(path: Path, decoder: zlib._Decompress, data: bytes, offset: int) -> bytes:
    try:
        return decoder.decompress(data, BLOCK_BYTES)
    except zlib.error as error:
        raise UnreadableInputError(
            f"{path} is damaged.",
            why=f"The compressed data cannot be decompressed after byte {offset:,}: {error}.",
            action="Copy the file again from where it was recorded, or give it uncompressed.",
        ) from error


def _bomb(path: Path, written: int, read: int) -> UnreadableInputError:
    return UnreadableInputError(
        f"{path} grows too much when it is decompressed.",
        why=f"{read:,} bytes became more than {written:,}; no trace is that repetitive.",
        action="If it is a trace all the same, decompress it yourself and give the result.",
    )


def damaged(error: Exception, action: str) -> UnreadableInputError:
    """What the user reads when the engine finds a file damaged (a `_core.FormatError`)."""
    path, offset, reason = error.args
    return UnreadableInputError(
        f"{path} is damaged or not what it seems to be.",
        why=f"At byte {offset:,}: {reason}.",
        action=action,
    )
