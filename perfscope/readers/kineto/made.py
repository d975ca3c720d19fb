"""Profiles of other tools made into events that the decoder of this format takes.

What they tell is what a profile of Kineto tells, stored otherwise: kernels, copies and fills with
the calls that launched them, ranges that the program named, and calls of MPI. So all that is known
of devices, launches, process groups and phases holds for them, too. Times are in nanoseconds.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from perfscope.engine import engine
from perfscope.readers.kineto.file import KinetoContents, Part, contents_of

BLOCK_CHARACTERS = 1 << 20
Event = dict[str, Any]
MADE_DTYPE = np.dtype(
    [
        ("t0", "i8"),
        ("t1", "i8"),
        ("correlation", "i8"),
        ("bytes", "i8"),
        ("thread", "i8"),
        ("device", "i4"),
        ("stream", "i4"),
        ("name", "u4"),  # places in lists of texts
        ("category", "u4"),
    ]
)
"""Intervals as rows, for formats that the engine decodes; numbers below 0 are not told."""


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
    path: Path,
    events: Iterable[Event],
    members: Mapping[str, Any],
    part: Part,
    *,
    without_time: int = 0,
) -> KinetoContents:
    """One process of a file of another tool.

    `members` stand beside the events; of `without_time` events more nobody knows when they were.

    Raises:
        UnreadableInputError: nothing has a time, or the times make no sense.
    """
    file = begun(members)
    feed(file, events)
    return ended(path, file, part, without_time=without_time)


def begun(members: Mapping[str, Any]) -> engine.KinetoFile:
    """A process of which no event is told yet, with what stands beside its events."""
    file = engine.KinetoFile("", True)
    file.feed(_ENCODE({**members, "traceEvents": []})[: -len("]}")].encode())
    return file


def feed(file: engine.KinetoFile, events: Iterable[Event]) -> None:
    """Tells the next events."""
    for block in _blocks(_ENCODE(event) + ",\n" for event in events):
        file.feed(block)


def ended(
    path: Path, file: engine.KinetoFile, part: Part, *, without_time: int = 0
) -> KinetoContents:
    """What was told of a process.

    Of `without_time` events more nobody knows when they were.

    Raises:
        UnreadableInputError: nothing has a time, or the times make no sense.
    """
    file.feed(b"]}")
    file.finish()
    found = contents_of(path, file, part.lived_ns)
    counts = {**found.counts, "without_time": found.counts["without_time"] + without_time}
    return replace(found, part=part, counts=counts)


def _nothing(_: object) -> None:
    """What stands for bytes, which a damaged database may hold in the place of a number or text."""


_ENCODE = json.JSONEncoder(default=_nothing).encode


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
