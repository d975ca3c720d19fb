"""One Kineto or Chrome trace file as tables; what is compressed is decompressed on the way."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from perfscope.engine import engine
from perfscope.errors import UnreadableInputError
from perfscope.files import head_of, parse_json
from perfscope.readers.blocks import Growth, blocks
from perfscope.readers.detect import GZIP
from perfscope.trace.devices import DEVICE_DTYPE
from perfscope.trace.model import Table

GROWTH = Growth(ratio=200, most_bytes=1 << 40)
"""A trace shrinks to a tenth or a thirtieth; what is smaller still was made to fill memory."""
EPOCH_NS = 10**18
"""Times from here on (2001) count from 1970 even where a file does not say so."""
LONGEST_NS = 400 * 86400 * 10**9

HOST_DTYPE = np.dtype(
    [
        ("t0", "i8"),
        ("t1", "i8"),
        ("name", "u4"),
        ("thread", "u4"),  # place in KinetoContents.threads
        ("kind", "u4"),
        ("flags", "u4"),  # RowFlag
    ]
)
ANNOTATION, RUNTIME, BACKWARD, OTHER = range(4)
"""Kinds of host rows, as the engine numbers them."""
SAMPLE_DTYPE = np.dtype([("t", "i8"), ("name", "u4"), ("process", "u4"), ("value", "f8")])
CALL_DTYPE = np.dtype(
    [
        ("t0", "i8"),
        ("t1", "i8"),
        ("seq", "i8"),  # ordinal of a collective in its group, -1 none
        ("sent", "i8"),
        ("received", "i8"),
        ("name", "u4"),
        ("thread", "u4"),
        ("group", "i4"),  # place in KinetoContents.groups, -1 none
        ("root", "i4"),  # -1 none
        ("is_background", "u4"),
        ("flags", "u4"),  # RowFlag
    ]
)
"""Calls of communication libraries, as perfscope exports them."""
LAUNCH_DTYPE = np.dtype([("correlation", "i8"), ("process", "i8"), ("t", "i8")])
ACTION = "Write the trace again, or give the other files of the run without this one."


@dataclass(frozen=True)
class Thread:
    """Where events happened: a thread of the host or a stream, as the file names it."""

    process: str
    thread: str
    name: str
    events: int

    def number(self, otherwise: int) -> int:
        """The thread's number, or another where its name is no number."""
        text = self.thread
        return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else otherwise


@dataclass(frozen=True)
class ProcessName:
    """A process as the file names it; a device counts as one there."""

    number: str
    name: str
    labels: str


@dataclass(frozen=True)
class ToldGroup:
    """A process group as the arguments of a collective tell it; "", -1 and 0 where they do not."""

    name: str
    ranks: str
    start: int
    stride: int
    size: int


@dataclass(frozen=True)
class Part:
    """Which process of a file this is, and what its name there tells; "" and None are unknown."""

    process: str = ""  # as the file numbers it, where it holds several
    rank: int | None = None
    host: str = ""
    pid: str = ""


@dataclass
class KinetoContents:
    """What one file holds; times in ns since 1970 where `has_base`, else as the file counts."""

    path: Path
    device: Table  # `comm` is a place in `groups`
    device_processes: npt.NDArray[np.uint32]  # of each device row, place in `processes`
    host: Table
    calls: Table
    counters: Table
    names: list[str]
    threads: list[Thread]
    processes: list[ProcessName]
    groups: list[ToldGroup]
    launches: Table  # of the runtime, where several processes launched
    members: Mapping[str, Any]
    counts: Mapping[str, int]
    start_ns: int
    end_ns: int
    has_base: bool
    cut_at: int | None
    part: Part = Part()

    @property
    def host_name(self) -> str:
        """Where the process ran, "" unknown."""
        return str(self.part.host or self.members.get("host_name") or "")[:200]

    @property
    def rank(self) -> object:
        """The rank as the file says it, of whatever type that is; None where it does not."""
        told = None if self.part.process else self.distributed.get("rank")
        return self.part.rank if told is None else told

    @property
    def distributed(self) -> Mapping[str, Any]:
        """What the process said of its place in the job."""
        found = self.members.get("distributedInfo")
        return found if isinstance(found, Mapping) else {}


def _ignore(_: str) -> None:
    """The engine finds where the text of a cut file ends."""


def read_kineto(path: Path) -> KinetoContents:
    """The tables of one file.

    Raises:
        UnreadableInputError: it is damaged, holds no events, or grows without bound.
    """
    file = engine.KinetoFile(str(path))
    try:
        if head_of(path, len(GZIP)) == GZIP:
            for block in blocks(path, _ignore, GROWTH):
                file.feed(block)
        else:
            file.read()
        file.finish()
    except engine.FormatError as error:
        _, offset, reason = error.args
        where = "of the uncompressed text" if path.suffix == ".gz" else "of the file"
        raise UnreadableInputError(
            f"{path} cannot be read as a Kineto or Chrome trace.",
            why=f"At byte {offset} {where}: {reason}.",
            action=ACTION,
        ) from error
    except OSError as error:
        raise UnreadableInputError(
            f"Cannot read {path}.",
            why=f"{error.strerror or error}.",
            action="Make it readable for you, or give a copy.",
        ) from error
    return _contents(path, file)


def _contents(path: Path, file: engine.KinetoFile) -> KinetoContents:
    start, end = file.extent
    if start > end:
        raise UnreadableInputError(
            f"{path} holds no event with a time.",
            why=f"It holds {file.counts()['events']} events, none with a duration and a time.",
            action="Keep the profiler active for some steps of the run.",
        )
    if end - start > LONGEST_NS:
        raise UnreadableInputError(
            f"The times in {path} make no sense.",
            why=f"From its first to its last event pass {(end - start) / 86400e9:,.0f} days.",
            action=ACTION,
        )
    return KinetoContents(
        path=path,
        device=file.take_device().view(DEVICE_DTYPE),
        device_processes=file.take_device_processes(),
        calls=file.take_calls().view(CALL_DTYPE),
        processes=[ProcessName(*process) for process in file.processes()],
        groups=[ToldGroup(*group) for group in file.groups()],
        launches=file.take_launches().view(LAUNCH_DTYPE),
        host=file.take_host().view(HOST_DTYPE),
        counters=file.take_counters().view(SAMPLE_DTYPE),
        names=file.names(),
        threads=[Thread(*thread) for thread in file.threads()],
        members={name: _value(text) for name, text in file.members().items()},
        counts=file.counts(),
        start_ns=start,
        end_ns=end,
        has_base=file.has_base,
        cut_at=file.cut_at,
    )


def _value(text: str) -> Any:
    try:
        return parse_json(text, [])
    except ValueError:
        return None
