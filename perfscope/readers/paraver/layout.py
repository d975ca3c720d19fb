"""What the engine gives of a Paraver trace, and the labels beside it (.pcf, .row)."""

import re
from collections.abc import Callable, Iterator
from dataclasses import field
from pathlib import Path

import numpy as np

from perfscope.errors import UnreadableInputError
from perfscope.readers.common.blocks import blocks
from perfscope.structures import dataclass
from perfscope.trace.operations import BY_NAME, MPI_OTHER

CALL_DTYPE = np.dtype(
    [
        ("t0", "i8"),
        ("t1", "i8"),
        ("sent", "i8"),
        ("received", "i8"),
        ("location", "i4"),
        ("value", "i4"),
        ("communicator", "i4"),
        ("kind", "u2"),
        ("flags", "u2"),
        ("is_root", "u2"),
    ]
)
MESSAGE_DTYPE = np.dtype(
    [
        ("send", "i8"),
        ("sent", "i8"),
        ("receive", "i8"),
        ("received", "i8"),
        ("bytes", "i8"),
        ("sender", "i4"),
        ("receiver", "i4"),
        ("tag", "i4"),
    ]
)
COUNTER_DTYPE = np.dtype([("t", "i8"), ("value", "i8"), ("location", "i4"), ("type", "i4")])
STATE_DTYPE = np.dtype([("t0", "i8"), ("t1", "i8"), ("location", "i4")])

CALL_TYPES = (50000001, 50000002, 50000003)
MOST_LABEL_BYTES = 64 << 20
# Numbers of Extrae's calls that a trace without .pcf is read with (its own .pcf files say so).
CALLS = {
    1: "MPI_Send",
    2: "MPI_Recv",
    3: "MPI_Isend",
    4: "MPI_Irecv",
    5: "MPI_Wait",
    6: "MPI_Waitall",
    7: "MPI_Bcast",
    8: "MPI_Barrier",
    9: "MPI_Reduce",
    10: "MPI_Allreduce",
    11: "MPI_Alltoall",
    12: "MPI_Alltoallv",
    13: "MPI_Gather",
    14: "MPI_Gatherv",
    15: "MPI_Scatter",
    16: "MPI_Scatterv",
    17: "MPI_Allgather",
    18: "MPI_Allgatherv",
    31: "MPI_Init",
    32: "MPI_Finalize",
    41: "MPI_Sendrecv",
}


@dataclass
class Labels:
    """What numbers of a trace mean: calls by value, counters by type."""

    calls: dict[int, str] = field(default_factory=lambda: dict(CALLS))
    types: dict[int, str] = field(default_factory=dict)
    nodes: list[str] = field(default_factory=list)

    def operation(self, value: int) -> int:
        """The code of a call; MPI_OTHER for one that perfscope does not tell apart."""
        known = BY_NAME.get(self.calls.get(value, ""))
        return known.code if known else MPI_OTHER

    def counter(self, kind: int) -> str:
        """The name of a hardware counter: the first word of its label."""
        label = self.types.get(kind, "").split()
        return label[0] if label else f"counter {kind}"


def beside(path: Path, ending: str) -> Path | None:
    """The file of labels that belongs to a trace: same name, other ending, also compressed."""
    base = re.sub(r"(\.prv)?(\.gz)?$", "", path.name)
    for name in (f"{base}.{ending}", f"{base}.{ending}.gz"):
        found = path.with_name(name)
        if base and found.is_file() and found != path:
            return found
    return None


def read_labels(path: Path, tell: Callable[[str], None]) -> Labels:
    """The labels beside a trace; what cannot be read is told and left out."""
    labels = Labels()
    if (pcf := beside(path, "pcf")) is not None:
        _guarded(pcf, lambda: _read_pcf(pcf, labels, tell), tell)
    else:
        tell(
            f"There is no {path.name.partition('.')[0]}.pcf beside the trace: calls have the "
            "numbers of Extrae, and counters have no names."
        )
    if (row := beside(path, "row")) is not None:
        _guarded(row, lambda: _read_row(row, labels, tell), tell)
    return labels


def _guarded(path: Path, read: Callable[[], None], tell: Callable[[str], None]) -> None:
    try:
        read()
    except UnreadableInputError as error:
        tell(f"{path.name} was left out: {error.why}")


def _lines(path: Path, tell: Callable[[str], None]) -> Iterator[str]:
    content = bytearray()
    for block in blocks(path, tell):
        content += block
        if len(content) > MOST_LABEL_BYTES:
            tell(f"{path.name} was read up to {MOST_LABEL_BYTES >> 20} MiB only.")
            break
    yield from content.decode("utf-8", "replace").splitlines()


def _read_pcf(path: Path, labels: Labels, tell: Callable[[str], None]) -> None:
    """EVENT_TYPE blocks: `gradient type label` lines, then VALUES with `value label` lines."""
    section, types = "", list[int]()
    for line in _lines(path, tell):
        words = line.split(maxsplit=2)
        if len(words) == 1 and not words[0].isdigit():
            section = words[0]
            types = [] if section == "EVENT_TYPE" else types
        elif section == "EVENT_TYPE" and len(words) == 3 and _is_number(words[1]):
            types.append(int(words[1]))
            labels.types[int(words[1])] = words[2].strip()
        elif section == "VALUES" and _is_number(words[0] if words else ""):
            if set(types) & set(CALL_TYPES):
                labels.calls[int(words[0])] = " ".join(words[1:])
        elif not words:
            section = "" if section == "VALUES" else section


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 18


def _read_row(path: Path, labels: Labels, tell: Callable[[str], None]) -> None:
    """The names after `LEVEL NODE SIZE n`."""
    left = 0
    for line in _lines(path, tell):
        words = line.split()
        if words[:2] == ["LEVEL", "NODE"] and len(words) == 4 and _is_number(words[3]):
            left = int(words[3])
        elif words[:1] == ["LEVEL"] or not words:
            left = 0
        elif left:
            labels.nodes.append(line.strip())
            left -= 1
