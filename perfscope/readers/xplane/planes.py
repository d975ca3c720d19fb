"""XSpace, a message of protocol buffers, as planes whose lines give their events as rows."""

from enum import IntFlag
from pathlib import Path

import numpy as np

from perfscope.engine import engine
from perfscope.errors import UnreadableInputError
from perfscope.memory import rows_that_fit
from perfscope.readers.common.blocks import Growth, as_text, blocks
from perfscope.structures import dataclass
from perfscope.trace.model import Table

GROWTH = Growth(ratio=200, most_bytes=1 << 31)
"""A message of protocol buffers has at most 2 GiB."""
ENTRY_BYTES = 250
"""What each event takes at the peak (docs/engine.md), and some room."""
ACTION = "Copy the file again, or profile again."
EVENT_DTYPE = np.dtype(
    [
        ("t0", "i8"),
        ("t1", "i8"),
        ("step", "u8"),
        ("correlation", "u8"),
        ("name", "u4"),  # place in Plane.names
        ("told", "u4"),  # Told
    ]
)


class Told(IntFlag):
    """Which statistics an event has."""

    STEP = 1
    CORRELATION = 2
    ROOT = 4


@dataclass(frozen=True)
class Plane:
    """A host or device."""

    name: str  # what it is called
    lines: list[str]  # threads, streams and summaries, by their names
    names: list[str]  # of its events; the last one stands for those that the file does not name
    devices: int  # as many as its collectives are among, at least; 0 where none says so


class Space:
    """One file: its planes, and the hosts that it names."""

    def __init__(self, path: Path) -> None:
        """Reads it.

        Raises:
            UnreadableInputError: it cannot be read, is no XSpace, or holds too much.
        """
        self._path = path
        self._file = engine.XPlaneFile(as_text(path), rows_that_fit(row_bytes=ENTRY_BYTES))
        left = GROWTH.most_bytes
        for block in blocks(path, lambda _: None, GROWTH):
            left -= len(block)
            if left < 0:
                raise self._too_long(f"It has more than {GROWTH.most_bytes >> 20:,} MiB")
            self._file.feed(block)
        try:
            self._file.finish()
        except engine.FormatError as error:
            raise self._damaged(error) from error
        if self._file.is_full:
            raise self._too_long("It has more events and names than fit into half of the memory")
        self.planes = [
            Plane(name, lines, [one or "unknown" for one in (*names, "")], devices)
            for name, lines, names, devices in self._file.planes()
        ]
        self.hosts = self._file.hosts()
        self.program_devices = self._file.program_devices()
        """On so many devices the largest of its programs runs; 0 where one does not say so."""

    @property
    def without_time(self) -> int:
        """Events of the lines that were asked for, at times that cannot be."""
        return self._file.without_time

    def events(self, plane: int, line: int) -> Table:
        """The events of a line that last any time, as rows of EVENT_DTYPE.

        Raises:
            UnreadableInputError: they are damaged.
        """
        try:
            return self._file.events(plane, line).view(EVENT_DTYPE)
        except engine.FormatError as error:
            raise self._damaged(error) from error

    def told(self, plane: int, name: str) -> int | None:
        """A whole number that the file tells of a plane, None where it does not.

        Raises:
            UnreadableInputError: what it tells is damaged.
        """
        try:
            return self._file.told(plane, name)
        except engine.FormatError as error:
            raise self._damaged(error) from error

    def _damaged(self, error: ValueError) -> UnreadableInputError:
        _, offset, reason = error.args
        return UnreadableInputError(
            f"{self._path} cannot be read as a profile of TensorFlow or JAX.",
            why=f"It is cut off or damaged at byte {offset:,}: {reason}.",
            action=ACTION,
        )

    def _too_long(self, why: str) -> UnreadableInputError:
        return UnreadableInputError(
            f"{self._path} is too long.", why=f"{why}.", action="Profile fewer steps."
        )
