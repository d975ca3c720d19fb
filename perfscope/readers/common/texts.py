"""Files of text: lines of logs, and JSON documents that are read whole."""

import re
import shlex
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from perfscope.errors import UnreadableInputError
from perfscope.files import MOST_JSON_BYTES, parse_json
from perfscope.readers.common.amounts import MAX_AMOUNT
from perfscope.readers.common.blocks import Growth, blocks

LONGEST_LINE = 1 << 16
GROWTH = Growth(ratio=100, most_bytes=MOST_JSON_BYTES)
_NO_NUMBER = re.compile(rb"(:\s*)[-+]?(?:nan|inf)\b", re.IGNORECASE)
"""What printf makes of a division by zero, which is no JSON."""


def lines(path: Path, tell: Callable[[str], None]) -> Iterator[str]:
    """The lines of a file, plain or gzip; of a very long one the beginning.

    Raises:
        UnreadableInputError: the system refuses, or compressed data are damaged.
    """
    rest = b""
    for block in blocks(path, tell):
        *whole, rest = (rest + block).split(b"\n")
        for line in whole:
            yield line[:LONGEST_LINE].decode("utf-8", "replace").rstrip("\r")
        rest = rest[:LONGEST_LINE]
    if rest:
        yield rest.decode("utf-8", "replace")


def read_document(path: Path, what: str, action: str) -> Any:
    """The value in a JSON file, plain or gzip; numbers that are not finite are null.

    Errors say `what` it was taken for and, of a damaged one, the `action`.

    Raises:
        UnreadableInputError: it cannot be read, is no JSON, or is too large.
    """
    cut: list[str] = []
    content = content_of(path, cut.append, action)
    try:
        return parse_json(_NO_NUMBER.sub(rb"\1null", content), [])
    except ValueError as error:
        why = cut[0] if cut else f"Its JSON ends early or is damaged: {error}."
        raise UnreadableInputError(
            f"{path} cannot be read as {what}.", why=why, action=action
        ) from error


def content_of(path: Path, tell: Callable[[str], None], action: str) -> bytes:
    """All of a file that is not too large to be read whole, plain or gzip.

    Raises:
        UnreadableInputError: it cannot be read, or is too large.
    """
    parts, size = [], 0
    for block in blocks(path, tell, GROWTH):
        parts.append(block)
        size += len(block)
        if size > MOST_JSON_BYTES:
            why = f"It holds more than {MOST_JSON_BYTES >> 20} MiB."
            raise UnreadableInputError(f"{path} is too large.", why=why, action=action)
    return b"".join(parts)


def amount(row: Mapping[str, Any], key: str) -> float | None:
    """A number that is not negative and can be an amount; None for anything else."""
    value = row.get(key)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return value if 0 <= value < MAX_AMOUNT else None


def whole(row: Mapping[str, Any], key: str) -> int | None:
    """The same of a whole number."""
    value = row.get(key)
    return value if isinstance(value, int) and amount(row, key) is not None else None


def text(row: Mapping[str, Any], key: str) -> str:
    """A text, "" for anything else."""
    value = row.get(key)
    return value if isinstance(value, str) else ""


def mapping(value: object) -> Mapping[str, Any]:
    """The value where it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def rows(value: object) -> list[Mapping[str, Any]]:
    """The objects in a list, none of anything else."""
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def words(command: str) -> tuple[str, ...]:
    """The words of a command line; those between blanks where its quotes make no sense."""
    try:
        return tuple(shlex.split(command))
    except ValueError:
        return tuple(command.split())
