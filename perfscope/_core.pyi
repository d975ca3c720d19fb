"""The trace engine: decoders and reductions that work on a trace in one pass, without the GIL."""

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Bytes: TypeAlias = npt.NDArray[np.uint8]
"""Packed rows of a table: `Bytes.view(DTYPE)`, `table.view(np.uint8)`."""

class FormatError(ValueError):
    """A file is damaged or of another format: path, byte offset and reason, in `args`."""

class HorovodTimeline:
    """Decodes a HOROVOD_TIMELINE file from its bytes; tables are bytes of packed rows."""

    def __init__(self, path: str) -> None: ...
    def feed(self, block: bytes) -> None:
        """Reads the next bytes of the file."""
    def finish(self) -> None:
        """Closes what is open; to be called once, after the last bytes."""
    def facts(self) -> dict[str, Any]:
        """Counts of events, times of the first and last, whether the list was closed or cut."""
    def ranks(self) -> list[int]:
        """Ranks that became ready, in order."""
    def names(self) -> list[bytes]:
        """Names of operations and activities."""
    def tensors(self) -> list[bytes]:
        """Names of tensors."""
    def negotiations(self) -> npt.NDArray[np.uint8]:
        """Rows of NEGOTIATION_DTYPE; can be taken once."""
    def ticks(self) -> npt.NDArray[np.uint8]:
        """Rows of TICK_DTYPE; can be taken once."""
    def activities(self) -> npt.NDArray[np.uint8]:
        """Rows of TENSOR_ACTIVITY_DTYPE; can be taken once."""

class ParaverTrace:
    """Decodes a Paraver .prv file from its bytes; tables are bytes of packed rows."""

    def __init__(self, path: str) -> None: ...
    def feed(self, block: bytes) -> None:
        """Reads the next bytes of the file."""
    def finish(self) -> None:
        """Closes what is open; to be called once, after the last bytes."""
    def facts(self) -> dict[str, Any]:
        """Date, duration, tasks of each application, nodes of the tasks, counts of records."""
    def communicators(self) -> list[tuple[int, int, list[int]]]:
        """Application, number and ranks of each communicator."""
    def locations(self) -> list[dict[str, Any]]:
        """Rank and thread of each location, and what was added up over it."""
    def event_types(self) -> dict[int, int]:
        """How many events there were of each type, counters left out."""
    def counter_types(self) -> list[int]:
        """Types of hardware counters, in the order of their number."""
    def calls(self) -> Bytes:
        """Rows of CALL_DTYPE; can be taken once."""
    def messages(self) -> Bytes:
        """Rows of MESSAGE_DTYPE; can be taken once."""
    def counters(self) -> Bytes:
        """Rows of COUNTER_DTYPE; can be taken once."""
    def file_states(self) -> Bytes:
        """Rows of STATE_DTYPE: times of input and output; can be taken once."""

def row_layouts() -> dict[str, dict[str, int]]:
    """Byte offsets of the fields of each packed row; under the empty name the size of a row."""

class KinetoFile:
    """A Chrome or Kineto trace of one process: fed or read, then finished, then taken apart."""

    def __init__(self, path: str) -> None: ...
    def read(self) -> None:
        """Reads all of a plain file, in blocks and without the GIL."""

    def feed(self, block: bytes) -> None:
        """Takes the next bytes of the uncompressed text."""

    def finish(self) -> None:
        """Ends the text, joins launches with what they launched and orders the tables."""

    def take_device(self) -> Bytes:
        """Rows of the device table; names and process groups (`comm`) are places in `names()`."""

    def take_host(self) -> Bytes:
        """Annotations, calls of the device's runtime and nodes of autograd."""

    def take_counters(self) -> Bytes:
        """Samples of counters (`C` events)."""

    def names(self) -> list[str]:
        """Texts by their number."""

    def threads(self) -> list[tuple[str, str, str, int]]:
        """Process, thread, name and number of events of each thread of the host and stream."""

    def members(self) -> dict[str, str]:
        """What the file says besides its events, as JSON texts by name."""

    def counts(self) -> dict[str, int]:
        """How many events there were of each sort, and how many could not be used."""

    @property
    def extent(self) -> tuple[int, int]:
        """The first and the last moment of all events, in ns; first > last without any."""

    @property
    def has_base(self) -> bool:
        """Whether the file names the moment that its times count from."""

    @property
    def cut_at(self) -> int | None:
        """Where the last whole event ends in a file that was cut off, in bytes; else None."""

def device_use(
    rows: Bytes, windows: Sequence[tuple[int, int]]
) -> list[tuple[int, list[list[int]], list[list[int]]]]:
    """By device: its number; by window the ns in each of 16 states; rows of each kind begun.

    Bit k of a state says that something of DeviceKind k was at work; state 0 is idle.
    """

def stream_idle(
    rows: Bytes, window: tuple[int, int], kernel_wait_below_ns: int
) -> list[tuple[int, int, int, int, int, int, int, int]]:
    """By stream: device, stream, rows, and ns: busy, host wait, kernel wait, other, edges."""

def kernel_totals(
    rows: Bytes, window: tuple[int, int]
) -> list[tuple[int, int, int, int, int, int, int, int, int]]:
    """By name: name, kind, count, ns in all, least, most, bytes, launches known, launch delay."""
