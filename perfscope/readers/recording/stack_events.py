"""Decodes py-spy's chrome traces: begin and end of frames become spans of whole stacks."""

import json
import re
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import field
from pathlib import Path
from typing import Any

from perfscope.files import read_bytes
from perfscope.structures import dataclass
from perfscope.trace.stack_spans import StackForest

MOST_BYTES = 256 * 1024 * 1024
"""Decompressed, of one file: what a minute at the highest rate does not reach."""
MOST_PACKED_BYTES = 48 * 1024 * 1024
MOST_GROWTH, SURELY_READ_BYTES = 200, 16 * 1024 * 1024
"""A file that grows more often when it is decompressed is read up to there."""
MOST_US = 1 << 48
"""Times beyond are damage."""
LONGEST_NAME = 300
LONGEST_FILE = 1000
_GZIP_WINDOW = 31
_BETWEEN = re.compile(r"[, \n\r\t]*")
_PROCESS = re.compile(r"process \d+(:|$)")

Span = tuple[int, int, int, int, int]
"""Process id, thread, begin and end in microseconds since the file's zero, node."""


class Forest:
    """A `StackForest` that grows."""

    def __init__(self) -> None:
        self.stacks = StackForest()
        self._children: dict[tuple[int, int], int] = {}
        self._frames: dict[tuple[str, str, int], int] = {}

    def child(self, node: int, frame: tuple[str, str, int]) -> int:
        """The node of this frame called from a node."""
        place = self._frames.setdefault(frame, len(self._frames))
        if place == len(self.stacks.frames):
            self.stacks.frames.append(frame)
        found = self._children.setdefault((node, place), len(self.stacks.parents))
        if found == len(self.stacks.parents):
            self.stacks.parents.append(node)
            self.stacks.places.append(place)
        return found

    def parent(self, node: int) -> int:
        """The node that called it; the empty stack has none and stays."""
        return max(self.stacks.parents[node], 0)


@dataclass
class Decoded:
    """The spans of one file, in the order in which they ended."""

    spans: list[Span] = field(default_factory=list)  # what the threads did
    last_us: int = 0  # time of the last event, since the file's zero
    # whether the file ends in the middle or holds what py-spy does not write
    is_damaged: bool = False


def decode(path: Path, forest: Forest) -> Decoded:
    """Reads one compressed chrome trace; of a damaged one what lies before the damage.

    Raises:
        OSError: it cannot be read.
    """
    text, is_whole = _decompressed(path)
    decoded = decode_events(text, forest)
    decoded.is_damaged |= not is_whole
    return decoded


def decode_events(text: str, forest: Forest) -> Decoded:
    """The same of the text of such a file."""
    threads = _Threads(forest)
    is_sound = threads.feed(_events(text))
    return Decoded(threads.close(), threads.last_us, not is_sound)


def _decompressed(path: Path) -> tuple[str, bool]:
    unpacker = zlib.decompressobj(_GZIP_WINDOW)
    packed = read_bytes(path, MOST_PACKED_BYTES)
    most_bytes = min(MOST_BYTES, max(MOST_GROWTH * len(packed), SURELY_READ_BYTES))
    try:
        data = unpacker.decompress(packed, most_bytes)
    except zlib.error:
        return "", False
    return data.decode("utf-8", "replace"), unpacker.eof


def _events(text: str) -> Iterator[Mapping[str, Any]]:
    """The events of a JSON array one by one.

    Raises:
        ValueError: the text ends too early or is no JSON.
    """
    decoder = json.JSONDecoder()
    place = text.find("[") + 1
    if place == 0:
        raise ValueError("no array")
    while True:
        between = _BETWEEN.match(text, place)
        place = between.end() if between else place
        if text[place : place + 1] == "]":
            return
        event, place = decoder.raw_decode(text, place)
        if not isinstance(event, dict):
            raise ValueError("no event")
        yield event


@dataclass
class _Thread:
    """What one thread number stands for: forked processes share those of their parents."""

    node: int = 0
    owner: int = -1
    changed_us: int = 0
    open: dict[int, tuple[int, int]] = field(default_factory=dict)  # by process: node, since


class _Threads:
    """Follows the stack of every thread through the events.

    py-spy keeps one stack for each thread number and writes how it changes from sample to sample,
    also where two processes have threads of one number; the events of a sample say whose it is.
    """

    def __init__(self, forest: Forest) -> None:
        self._forest = forest
        self._threads: dict[int, _Thread] = {}
        self._spans: list[Span] = []
        self._sample: tuple[int, int, int] | None = None
        self.last_us = 0

    def feed(self, events: Iterator[Mapping[str, Any]]) -> bool:
        """Takes all events; whether they were sound to the end."""
        try:
            for event in events:
                if event.get("ph") in ("B", "E"):
                    self._take(event)
        except (ValueError, RecursionError):
            return False
        return True

    def _take(self, event: Mapping[str, Any]) -> None:
        number, pid, now_us = (_count(event.get(key)) for key in ("tid", "pid", "ts"))
        if not self.last_us <= now_us < MOST_US:
            raise ValueError("time goes backwards")
        sample = (number, pid, now_us)
        if sample != self._sample:
            self._settle()
            self._sample = sample
        self.last_us = now_us
        thread = self._threads.setdefault(number, _Thread())
        if event["ph"] == "E":
            thread.node = self._forest.parent(thread.node)
        else:
            thread.node = self._forest.child(thread.node, _frame(event))

    def _settle(self) -> None:
        """A sample is complete: its stack holds from its time on."""
        if self._sample is None:
            return
        number, pid, now_us = self._sample
        thread = self._threads[number]
        if thread.owner == pid:
            # All threads are in every sample: another process that was not in this one is gone.
            for other in [known for known in thread.open if known != pid]:
                self._end(thread, number, other, thread.changed_us)
        self._end(thread, number, pid, now_us)
        thread.open[pid] = (thread.node, now_us)
        thread.owner, thread.changed_us = pid, now_us

    def _end(self, thread: _Thread, number: int, pid: int, now_us: int) -> None:
        node, since_us = thread.open.pop(pid, (0, 0))
        if node and now_us > since_us:
            self._spans.append((pid, number, since_us, now_us, node))

    def close(self) -> list[Span]:
        """All spans; what is still open ends with the last event."""
        self._settle()
        for number, thread in self._threads.items():
            for pid in list(thread.open):
                self._end(thread, number, pid, self.last_us)
        return self._spans


def _frame(event: Mapping[str, Any]) -> tuple[str, str, int]:
    arguments = event.get("args")
    if not isinstance(arguments, Mapping):
        arguments = {}
    name, file, line = event.get("name"), arguments.get("filename"), arguments.get("line")
    function = name[:LONGEST_NAME] if isinstance(name, str) else ""
    place = file[:LONGEST_FILE] if isinstance(file, str) else ""
    number = line if isinstance(line, int) and not isinstance(line, bool) else 0
    if not place and _PROCESS.match(function):
        function = "process"
    return function, place, number if 0 <= number < 1 << 31 else 0


def _count(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 1 << 64:
        raise ValueError("no number")
    return value
