"""What the ids in a process's records stand for: names, communicators, stacks (.def files)."""

import struct
from collections.abc import Iterator
from dataclasses import field
from functools import lru_cache
from pathlib import Path

import numpy as np

from perfscope import files, places
from perfscope.readers.recording.layout import (
    COMMUNICATOR_DTYPE,
    DEFINITION_DTYPE,
    DEFINITIONS_MAGIC,
    NO_ID,
    DefinitionType,
)
from perfscope.structures import dataclass
from perfscope.trace.model import Frame

_HEAD = struct.Struct(
    "<" + "".join(DEFINITION_DTYPE[name].char for name in DEFINITION_DTYPE.names or ())
)
"""Of a definition: a rank has dozens, and numpy takes longer for one than for all of a table."""

NAME, STACK, COMMUNICATOR = (
    int(kind) for kind in (DefinitionType.NAME, DefinitionType.STACK, DefinitionType.COMMUNICATOR)
)
"""As plain numbers: members of an enumeration take longer to compare than a name to be read."""

MOST_BYTES = 1 << 30
"""A larger file of definitions is damage."""
MOST_SHARED = 64
"""Communicators whose members are kept for the next rank: with 10,000 ranks each list has 80 kB."""


@dataclass(frozen=True)
class CommunicatorDefinition:
    """A communicator as one process knows it; `parent` is its index there, None for the world."""

    identity: int
    parent: int | None
    members: tuple[int, ...]


@dataclass
class Definitions:
    """All definitions of one process; what could not be read is missing and said in `notes`."""

    names: dict[int, str] = field(default_factory=dict)
    communicators: dict[int, CommunicatorDefinition] = field(default_factory=dict)
    stacks: dict[int, tuple[int, ...]] = field(default_factory=dict)
    library: str = ""
    affinity: str = ""
    devices: dict[int, dict[str, str]] = field(default_factory=dict)
    """What is known of each GPU, by key; number 0 says why none was sampled."""
    notes: list[str] = field(default_factory=list)


def read_definitions(path: Path) -> Definitions:
    """The definitions in a .def file; a damaged one gives what is readable and a note."""
    definitions = Definitions()
    try:
        content = files.read_bytes(path, MOST_BYTES)
    except OSError as error:
        reason = error.strerror or type(error).__name__
        definitions.notes.append(
            f"{path.name}: the definitions cannot be read ({reason}); names are unknown."
        )
        return definitions
    if not content.startswith(DEFINITIONS_MAGIC):
        definitions.notes.append(f"{path.name}: not a definitions file; names are unknown.")
        return definitions
    damaged = 0
    for kind, number, payload in entries(content, path.name, definitions.notes):
        if kind == NAME:  # most are
            definitions.names.setdefault(number, payload.decode("utf-8", "replace"))
        elif not _take(definitions, kind, number, payload):
            damaged += 1
    if damaged:
        definitions.notes.append(f"{path.name}: {damaged} damaged definitions were left out.")
    return definitions


def entries(content: bytes, name: str, notes: list[str]) -> Iterator[tuple[int, int, bytes]]:
    """Type, id and payload of each definition in a file; what is cut off is said in `notes`."""
    position, end = len(DEFINITIONS_MAGIC), len(content)
    head_bytes, taken_apart = _HEAD.size, _HEAD.unpack_from
    while position + head_bytes <= end:
        kind, _, number, size = taken_apart(content, position)
        start = position + head_bytes
        if kind == 0 and size == 0:
            return  # room allocated ahead and never used
        behind = start + size
        if behind > end:
            break
        yield kind, number, content[start:behind]
        position = behind
    if position < end:
        notes.append(f"{name}: cut off after {position} of {end} bytes.")


def _take(definitions: Definitions, kind: int, number: int, payload: bytes) -> bool:
    if kind == STACK:
        if len(payload) % 4:
            return False
        definitions.stacks.setdefault(number, struct.unpack(f"<{len(payload) // 4}I", payload))
    elif kind == COMMUNICATOR:
        communicator = _communicator(payload)
        if communicator is None:
            return False
        definitions.communicators.setdefault(number, communicator)
    elif kind == DefinitionType.LIBRARY:
        definitions.library = definitions.library or payload.decode("utf-8", "replace")
    elif kind == DefinitionType.AFFINITY:
        # MPI libraries bind the process when they start: the last mask is that of the work
        definitions.affinity = payload.decode("ascii", "replace")
    elif kind == DefinitionType.DEVICE:
        lines = payload.decode("utf-8", "replace").splitlines()
        pairs = [line.split("=", 1) for line in lines if "=" in line]
        definitions.devices.setdefault(number, {}).update((key, value) for key, value in pairs)
    elif kind == DefinitionType.NOTE:
        definitions.notes.append(payload.decode("utf-8", "replace"))
    return True


def _communicator(payload: bytes) -> CommunicatorDefinition | None:
    head_bytes = COMMUNICATOR_DTYPE.itemsize
    if len(payload) < head_bytes:
        return None
    identity, parent, _, size, my_rank = np.frombuffer(payload, COMMUNICATOR_DTYPE, 1).item()
    if size == 0 or len(payload) != head_bytes + 4 * size or my_rank >= size:
        return None
    members = _members(payload[head_bytes:])
    if len(members) != size:
        return None
    return CommunicatorDefinition(
        identity=identity, parent=None if parent == NO_ID else parent, members=members
    )


@lru_cache(MOST_SHARED)
def _members(content: bytes) -> tuple[int, ...]:
    """The members, held once for all ranks that say the same; none where one comes twice."""
    members = tuple(np.frombuffer(content, "<u4").tolist())
    return members if len(set(members)) == len(members) else ()


def frame_of(text: str) -> Frame:
    """The frame that a name of the form function, file, line (separated by 0x1f) describes.

    Comprehensions and lambdas are part of the function that they stand in, as they are to people.
    """
    function, _, rest = text.partition("\x1f")
    file, _, line = rest.partition("\x1f")
    return Frame(
        places.named_function(function), file, int(line) if line.isascii() and line.isdigit() else 0
    )
