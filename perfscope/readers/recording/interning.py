"""One numbering of names, frames, stacks and communicators for all ranks: ids become indices."""

from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import chain

import numpy as np
import numpy.typing as npt

from perfscope.arrays import Bools, Ints
from perfscope.places import INLINE
from perfscope.readers.recording.definitions import CommunicatorDefinition, Definitions, frame_of
from perfscope.readers.recording.layout import NO_ID
from perfscope.schema.enums import PhaseKind
from perfscope.structures import dataclass
from perfscope.trace.model import Communicator, Frame

_ID_BITS = 32


@dataclass
class Numbering:
    """How the ids of one process translate to indices of the trace."""

    names: Mapping[int, int]
    stacks: Mapping[int, int]
    communicators: Mapping[int, int]
    kind_names: Mapping[int, int]
    """Index of the name to use for a phase whose own name is not known, by PhaseKind."""
    world_size: int


@dataclass(frozen=True)
class Ids:
    """The ids of several processes, and the indices of the trace that they stand for."""

    known: Ints  # place of the process and id in one number, ascending
    values: Ints

    @classmethod
    def of(cls, tables: Sequence[Mapping[int, int]]) -> "Ids":
        """Those in the tables of the processes, in their order."""
        sizes = [len(table) for table in tables]
        process = np.repeat(np.arange(len(tables)), sizes)
        ids, values = (
            np.fromiter(chain.from_iterable(column), np.int64, sum(sizes))
            for column in (tables, (table.values() for table in tables))
        )
        keys = process << _ID_BITS | ids
        order = np.argsort(keys)
        return cls(keys[order], values[order])

    def translated(self, ids: npt.NDArray[np.uint32], process: Ints) -> tuple[Ints, Bools]:
        """Indices of the trace for ids of processes, -1 where unknown, and which are unknown."""
        if not len(self.known):
            return np.full(len(ids), -1, np.int64), ids != NO_ID
        keys = process << _ID_BITS | ids.astype(np.int64)
        place = np.minimum(np.searchsorted(self.known, keys), len(self.known) - 1)
        found = self.known[place] == keys
        return np.where(found, self.values[place], -1), ~found & (ids != NO_ID)


def translated(ids: npt.NDArray[np.uint32], table: Mapping[int, int]) -> tuple[Ints, Bools]:
    """The same for ids of one process."""
    return Ids.of([table]).translated(ids, np.zeros(len(ids), np.int64))


MAX_FRAMES = 1000
"""Deeper stacks than Python allows are damage."""


class Interning:
    """Collects the definitions of all ranks; equal things get equal indices."""

    def __init__(self, world_size: int) -> None:
        self._world_size = world_size
        self._names: dict[str, int] = {}
        self._frames: dict[Frame, int] = {}
        self._stacks: dict[tuple[int, ...], int] = {}
        self._by_texts: dict[tuple[str, ...], int] = {}
        self._levels: dict[tuple[str, str], Frame] = {}
        self.communicators: list[Communicator] = [Communicator(0, tuple(range(world_size)), -1)]
        self._by_identity: dict[int, int] = {}
        self.notes: list[str] = []

    @property
    def names(self) -> list[str]:
        """All names, by index."""
        return list(self._names)

    @cached_property
    def _kind_names(self) -> dict[int, int]:
        return {
            kind: self._names.setdefault(kind.name.lower(), len(self._names)) for kind in PhaseKind
        }

    @property
    def frames(self) -> list[Frame]:
        """All frames, by index."""
        return list(self._frames)

    @property
    def stacks(self) -> list[tuple[int, ...]]:
        """All stacks, by index."""
        return list(self._stacks)

    def number(self, definitions: Definitions, *, rank: int) -> Numbering:
        """How the ids of one rank translate; adds what is new."""
        names = {
            number: self._names.setdefault(text, len(self._names))
            for number, text in definitions.names.items()
            if "\x1f" not in text
        }
        return Numbering(
            names=names,
            stacks=self._number_stacks(definitions),
            communicators=self._number_communicators(definitions, rank),
            kind_names=self._kind_names,
            world_size=self._world_size,
        )

    def _number_stacks(self, definitions: Definitions) -> dict[int, int]:
        stacks: dict[int, int] = {}
        for number, levels in definitions.stacks.items():
            if not levels or len(levels) > MAX_FRAMES:
                continue
            try:
                texts = tuple(map(definitions.names.__getitem__, levels))
            except KeyError:
                continue
            if texts not in self._by_texts:
                self._by_texts[texts] = self._stack(texts)
            stacks[number] = self._by_texts[texts]
        return stacks

    def _stack(self, texts: tuple[str, ...]) -> int:
        """The index of a stack as files spell it."""
        found = _frames(texts, self._levels)
        key = tuple(self._frames.setdefault(frame, len(self._frames)) for frame in found)
        return self._stacks.setdefault(key, len(self._stacks))

    def _number_communicators(self, definitions: Definitions, rank: int) -> dict[int, int]:
        indices: dict[int, int] = {}
        for number, definition in sorted(definitions.communicators.items()):
            index = self._communicator(definition, rank, indices)
            if index is not None:
                indices[number] = index
        return indices

    def _communicator(
        self, definition: CommunicatorDefinition, rank: int, indices: dict[int, int]
    ) -> int | None:
        members, known = definition.members, self._by_identity.get(definition.identity)
        if known == 0 and members is self.communicators[0].members and 0 <= rank < self._world_size:
            return 0  # the world, whose members are held once: of n ranks n are not asked for n
        if max(members) >= self._world_size or rank not in members:
            self.notes.append(
                f"Rank {rank}: a communicator with members outside the world was ignored."
            )
            return None
        if known is not None:
            if self.communicators[known].members == members:
                return known
            self.notes.append(
                f"Rank {rank}: a communicator has other members than on other ranks; ignored."
            )
            return None
        is_world = definition.parent is None and members == tuple(range(self._world_size))
        if is_world and 0 not in self._by_identity.values():
            index = 0
            self.communicators[0] = Communicator(definition.identity, members, -1)
        else:
            index = len(self.communicators)
            parent = indices.get(-1 if definition.parent is None else definition.parent, -1)
            self.communicators.append(Communicator(definition.identity, members, parent))
        self._by_identity[definition.identity] = index
        return index


def _frames(levels: tuple[str, ...], known: dict[tuple[str, str], Frame]) -> list[Frame]:
    """The frames of a stack, outermost first.

    Code that only the function around it calls is a part of it, also where Python does not say so:
    at the same line it is the same frame, as newer Pythons have it.
    """
    found: list[Frame] = []
    for level in levels:
        name = level.partition("\x1f")[0]
        is_inline = name.rpartition(".")[2] in INLINE
        above = found[-1].function if found and name in INLINE else ""
        frame = known.get((level, above))
        if frame is None:
            frame = frame_of(level)
            if above and found[-1].file == frame.file:
                frame = Frame(above, frame.file, frame.line)
            known[level, above] = frame
        if not (is_inline and found and found[-1] == frame):
            found.append(frame)
    return found
