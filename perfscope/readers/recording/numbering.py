"""How the ids of one process translate to indices of the trace."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain

import numpy as np
import numpy.typing as npt

from perfscope.arrays import Bools, Ints
from perfscope.readers.recording.layout import NO_ID
from perfscope.structures import dataclass

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
    def of(cls, tables: Sequence[Mapping[int, int]]) -> Ids:
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
