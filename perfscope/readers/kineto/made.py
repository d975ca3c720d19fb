"""Profiles of other tools made into events that the decoder of this format takes.

What they tell is what a profile of Kineto tells, stored otherwise: kernels, copies and fills with
the calls that launched them, ranges that the program named, and calls of MPI. So all that is known
of devices, launches, process groups and phases holds for them, too. Times are in nanoseconds.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from perfscope.engine import engine
from perfscope.readers.kineto.file import KinetoContents, Part, contents_of

BLOCK_CHARACTERS = 1 << 20
Event = dict[str, Any]


def interval(
    category: str, name: str, begin: int, end: int, thread: int, arguments: Mapping[str, Any]
) -> Event:
    """An event with a length, in the category that Kineto has for its kind."""
    return {
        "ph": "X",
        "cat": category,
        "name": name,
        "ts": begin,
        "dur": end - begin,
        "tid": thread,
        "args": arguments,
    }


def contents_from(
    path: Path, events: Iterable[Event], members: Mapping[str, Any], part: Part
) -> KinetoContents:
    """One process of a file of another tool.

    Args:
        path: the file.
        events: what the process did.
        members: what stands beside the events.
        part: which process it is.

    Raises:
        UnreadableInputError: nothing has a time, or the times make no sense.
    """
    file = engine.KinetoFile("", True)
    for block in _blocks(_texts(events, members)):
        file.feed(block)
    file.finish()
    return replace(contents_of(path, file), part=part)


def _texts(events: Iterable[Event], members: Mapping[str, Any]) -> Iterator[str]:
    encode = json.JSONEncoder(default=_nothing).encode
    yield encode({**members, "traceEvents": []})[: -len("]}")]
    before = ""
    for event in events:
        yield before + encode(event)
        before = ",\n"
    yield "]}"


def _nothing(_: object) -> None:
    """What stands for bytes, which a damaged database may hold in the place of a number or text."""


def _blocks(texts: Iterator[str]) -> Iterator[bytes]:
    """The texts in pieces that are worth a call."""
    held: list[str] = []
    length = 0
    for text in texts:
        held.append(text)
        length += len(text)
        if length > BLOCK_CHARACTERS:
            yield "".join(held).encode()
            held, length = [], 0
    yield "".join(held).encode()
