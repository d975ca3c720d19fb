"""Process groups of Kineto profiles: what each rank says of them becomes communicators."""

import hashlib
import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from perfscope.readers.kineto.file import GroupArguments, KinetoContents
from perfscope.trace.model import Communicator

MOST_RANKS = 1_000_000
MOST_MEMBERS = 1 << 24
"""Of all groups that one rank names; beyond them groups are unknown."""
_LIST = re.compile(r"\[\s*(?:\d{1,7}(?:\s*,\s*\d{1,7})*)?\s*\]")
_NUMBER = re.compile(r"\d+")


class Groups:
    """Communicators of the process groups, by name and members; the first one is the world."""

    def __init__(self, world_size: int) -> None:
        self.world_size = world_size
        self.communicators = [Communicator(0, tuple(range(world_size)), -1)]
        self.of_file: list[int] = []
        """Communicators of the groups of the rank that was learnt last; -1 unknown."""
        self._by_name: dict[str, int] = {}
        self._left = 0  # members that may still be named
        self._by_members: dict[tuple[str, tuple[int, ...]], int] = {}

    def learn(self, contents: KinetoContents) -> None:
        """Takes the process groups that one rank names, as a whole and with its collectives."""
        self._by_name, self._left = {}, MOST_MEMBERS
        config = contents.distributed.get("pg_config")
        for group in config if isinstance(config, Sequence) else ():
            if isinstance(group, Mapping):
                self._take(str(group.get("pg_name", "")), _members(group.get("ranks")))
        is_configured = bool(self._by_name)
        own = []
        for told in contents.groups:
            own.append(self._take(told.name, ranks_of(told, self.world_size)))
            if told.name and not is_configured and told.size in (0, self.world_size):
                self._take(told.name, range(self.world_size))
        self.of_file = [
            place if place is not None else self._index(told)
            for place, told in zip(own, contents.groups, strict=True)
        ]

    def _take(self, name: str, ranks: Sequence[int]) -> int | None:
        """The place of the group of a name with these members, None where they make no sense.

        Processes of one file may use a name for groups of other members: the first one is that of
        collectives which tell the name alone.
        """
        if not ranks or len(ranks) > min(self.world_size, self._left):
            return None
        self._left -= len(ranks)
        key = (name, tuple(ranks))
        if max(ranks) >= self.world_size:
            return None
        if len(ranks) == self.world_size and 0 not in self._by_members.values():
            self._by_members.setdefault(key, 0)
        if key not in self._by_members:
            digest = hashlib.blake2b(repr(key).encode(), digest_size=7).digest()
            self._by_members[key] = len(self.communicators)
            self.communicators.append(Communicator(int.from_bytes(digest, "little"), key[1], 0))
        place = self._by_members[key]
        self._by_name.setdefault(name, place)
        return place

    def _index(self, told: GroupArguments) -> int:
        known = self._by_name.get(told.name)
        if known is not None:
            return known
        is_nameless = not told.name and told.size in (0, self.world_size)
        return self.only if is_nameless else -1

    @property
    def only(self) -> int:
        """The communicator of collectives that name none: the world, if there is no other."""
        wide = set(self._by_name.values())
        return 0 if not wide or wide == {0} else -1


def _members(ranks: Any) -> tuple[int, ...]:
    if not isinstance(ranks, Sequence) or isinstance(ranks, str) or len(ranks) > MOST_RANKS:
        return ()
    members = tuple(rank for rank in ranks if type(rank) is int and 0 <= rank < MOST_RANKS)
    return members if len(set(members)) == len(ranks) else ()


def ranks_of(told: GroupArguments, world_size: int) -> Sequence[int]:
    """The members of a group as far as its collectives tell them.

    The profiler writes them as a text: `[0, 1]`, and `[]` for the world. It shortens long ones
    (`[0, 1, ..., 62, 63]`), of which only the first rank, the stride and the size are known.
    """
    text = told.ranks.strip()
    if _LIST.fullmatch(text):
        ranks = [int(number) for number in _NUMBER.findall(text)]
        return _members(ranks) if ranks else range(world_size)
    if not text or min(told.start, told.size - 1) < 0 or not 0 < told.stride < MOST_RANKS:
        return ()
    last = told.start + told.stride * (told.size - 1)
    return range(told.start, last + 1, told.stride) if last < MOST_RANKS else ()


def ranks_named(contents: KinetoContents) -> int:
    """How many ranks a file shows the job to have, at least: by its process groups, for one."""
    found = max(contents.part.shown_ranks, 1)
    for told in contents.groups:
        ranks = ranks_of(told, min(told.size, MOST_RANKS))
        if ranks:
            last = ranks[-1] if isinstance(ranks, range) else max(ranks)
            found = max(found, last + 1)
        elif told.size <= MOST_RANKS and len(np.unique(contents.device["device"])) == 1:
            found = max(found, told.size)  # of several devices of a rank each is a member
    return found
