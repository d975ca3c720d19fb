"""Gives the bytes of a .prv file to the engine, in the order of their times."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from perfscope.engine import engine
from perfscope.errors import UnreadableInputError
from perfscope.readers.common.blocks import as_text, blocks, damaged

MOST_SORTED_BYTES = 512 << 20
"""A file whose records are out of order is held in memory as a whole."""

_TIME = 5
"""Place of the time, or of the beginning, among the fields of a record."""
_ACTION = "Copy the file again from where it was made; a file that only ends too early can be read."


def decoded(path: Path, tell: Callable[[str], None]) -> tuple[engine.ParaverTrace, bool]:
    """What a file holds, and whether its compressed data end too early.

    Raises:
        UnreadableInputError: the file is damaged, or too large for records out of order.
    """
    said: list[str] = []
    found = _fed(path, lambda decoder: _feed_blocks(path, decoder, said.append))
    if found.facts()["disordered"]:
        content = _content(path)
        found = _fed(path, lambda decoder: decoder.feed(in_order(content)))
        tell(f"{path.name} has records out of order: they were sorted by their times.")
    for sentence in said:
        tell(sentence)
    return found, bool(said)


def _fed(path: Path, feed: Callable[[engine.ParaverTrace], None]) -> engine.ParaverTrace:
    decoder = engine.ParaverTrace(as_text(path))
    try:
        feed(decoder)
        decoder.finish()
    except engine.FormatError as error:
        raise damaged(error, _ACTION) from error
    return decoder


def _feed_blocks(path: Path, decoder: engine.ParaverTrace, tell: Callable[[str], None]) -> None:
    for block in blocks(path, tell):
        decoder.feed(block)


def _content(path: Path) -> bytes:
    content = bytearray()
    for block in blocks(path, lambda _: None):
        content += block
        if len(content) > MOST_SORTED_BYTES:
            raise UnreadableInputError(
                f"The records of {path} are out of order.",
                why=f"It is longer than {MOST_SORTED_BYTES >> 20} MiB and so is not sorted here.",
                action="Sort its lines, after the header and the communicators, by their sixth "
                "field, or save it again with Paraver.",
            )
    return bytes(content)


def in_order(content: bytes) -> bytes:
    """The lines of a file with its records by time; those of one time keep their order."""
    whole, newline, rest = content.rpartition(b"\n")
    lines = whole.split(b"\n")
    records = [line for line in lines if line[:1].isdigit()]
    others = [line for line in lines if not line[:1].isdigit()]
    records.sort(key=_time)
    return b"\n".join([*others, *records]) + newline + rest


def _time(line: bytes) -> int:
    fields = line.split(b":", _TIME + 1)
    try:
        return int(fields[_TIME])
    except (IndexError, ValueError):
        return 0  # a record of an unknown kind
