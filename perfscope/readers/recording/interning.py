"""One numbering of names, frames, stacks and communicators for all ranks."""

from perfscope.places import INLINE
from perfscope.readers.recording.definitions import CommunicatorDefinition, Definitions, frame_of
from perfscope.readers.recording.numbering import Numbering
from perfscope.schema.enums import PhaseKind
from perfscope.trace.model import Communicator, Frame

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
            kind_names={
                kind: self._names.setdefault(kind.name.lower(), len(self._names))
                for kind in PhaseKind
            },
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
        members = definition.members
        if max(members) >= self._world_size or rank not in members:
            self.notes.append(
                f"Rank {rank}: a communicator with members outside the world was ignored."
            )
            return None
        known = self._by_identity.get(definition.identity)
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

    Code that only the function around it calls is a part of it, also where Python does not say so.
    """
    found: list[Frame] = []
    for level in levels:
        above = found[-1].function if found and level.partition("\x1f")[0] in INLINE else ""
        frame = known.get((level, above))
        if frame is None:
            frame = frame_of(level)
            if above and found[-1].file == frame.file:
                frame = Frame(above, frame.file, frame.line)
            known[level, above] = frame
        found.append(frame)
    return found
