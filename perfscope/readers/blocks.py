"""The bytes of a file in blocks, decompressed where it is a gzip file; memory stays bounded."""

from __future__ import annotations

import importlib
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from perfscope.errors import UnreadableInputError
from perfscope.files import open_input
from perfscope.readers.detect import GZIP

BLOCK_BYTES = 4 << 20
BOMB_BYTES = 256 << 20
"""From here on a file that grows too many times is taken for a bomb."""


@dataclass(frozen=True)
class Growth:
    """How much a compressed file may become: times its size, and bytes in all.

    Traces compress 5 to 50 times; deflate cannot do better than 1032 times.
    """

    ratio: int = 300
    most_bytes: int = 1 << 62


USUAL = Growth()


def blocks(path: Path, tell: Callable[[str], None], growth: Growth = USUAL) -> Iterator[bytes]:
    """The content of a file, plain or gzip.

    Args:
        path: the file.
        tell: is told when a compressed file is cut off; what came before it counts.
        growth: how much it may become when it is decompressed.

    Raises:
        UnreadableInputError: the system refuses, or compressed data are damaged or a bomb.
    """
    try:
        with open_input(path) as file:
            stored = iter(lambda: file.read(BLOCK_BYTES), b"")
            first = next(stored, b"")
            if first.startswith(GZIP):
                yield from _decompressed(path, _chain(first, stored), tell, growth)
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
    path: Path, stored: Iterator[bytes], tell: Callable[[str], None], growth: Growth
) -> Iterator[bytes]:
    """The members of a gzip file, one after the other."""
    read = written = 0
    library = _fastest()
    decoder = library.decompressobj(wbits=31)
    for block in stored:
        read += len(block)
        data = block
        while data:
            if decoder.eof:
                if not data.lstrip(b"\0"):
                    break  # padding
                decoder = library.decompressobj(wbits=31)
            try:
                out = bytes(decoder.decompress(data, BLOCK_BYTES))
            except library.error as error:
                raise _undecodable(path, read - len(data), error) from error
            written += len(out)
            if written > min(max(growth.ratio * read, BOMB_BYTES), growth.most_bytes):
                raise _bomb(path, written, read, growth)
            if out:
                yield out
            data = decoder.unused_data if decoder.eof else decoder.unconsumed_tail
    if not decoder.eof:
        tell(f"{path} is cut off: the compressed data end after {read:,} bytes without an end.")


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


def _bomb(path: Path, written: int, read: int, growth: Growth) -> UnreadableInputError:
    return UnreadableInputError(
        f"{path} was not read to its end: it grows too much when it is decompressed.",
        why=(
            f"{read:,} bytes of it became {written:,}: at most {growth.ratio} times as much and "
            f"{growth.most_bytes:,} bytes in all are read."
        ),
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
