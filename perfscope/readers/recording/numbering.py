"""How the ids of one process translate to indices of the trace."""

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from perfscope.arrays import Bools, Ints
from perfscope.readers.recording.layout import NO_ID
from perfscope.structures import dataclass


@dataclass
class Numbering:
    """How the ids of one process translate to indices of the trace."""

    names: Mapping[int, int]
    stacks: Mapping[int, int]
    communicators: Mapping[int, int]
    kind_names: Mapping[int, int]
    """Index of the name to use for a phase whose own name is not known, by PhaseKind."""
    world_size: int


def translated(ids: npt.NDArray[np.uint32], table: Mapping[int, int]) -> tuple[Ints, Bools]:
    """Indices of the trace for ids of a process, -1 where unknown, and which are unknown ids."""
    known = np.array(sorted(table), np.int64)
    values = np.array([table[number] for number in known.tolist()], np.int64)
    if not len(known):
        return np.full(len(ids), -1, np.int64), ids != NO_ID
    place = np.minimum(np.searchsorted(known, ids.astype(np.int64)), len(known) - 1)
    found = known[place] == ids
    return np.where(found, values[place], -1), ~found & (ids != NO_ID)
