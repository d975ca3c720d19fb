"""The ranks that train together: MPI's world, or this process alone."""

from __future__ import annotations

import os
import sys
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

SIZE_VARIABLES = ("OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_NTASKS")


class Ranks(Protocol):
    """What data-parallel training needs of its peers."""

    rank: int
    size: int

    def add_up(self, buffer: npt.NDArray[Any]) -> None:
        """Replaces the buffer by its sum over all ranks."""

    def copy_from_first(self, buffer: npt.NDArray[Any]) -> None:
        """Replaces the buffer by that of rank 0."""

    def ratio(self, part: int, whole: int) -> float:
        """The parts of all ranks divided by their wholes."""


class Alone:
    """One process without MPI."""

    rank = 0
    size = 1

    def add_up(self, buffer: npt.NDArray[Any]) -> None:
        """The sum over one rank is the buffer itself."""

    def copy_from_first(self, buffer: npt.NDArray[Any]) -> None:
        """This is rank 0."""

    def ratio(self, part: int, whole: int) -> float:
        """The ratio of one rank."""
        return part / whole


class World:
    """All ranks of MPI_COMM_WORLD."""

    def __init__(self, mpi: Any) -> None:
        self._mpi = mpi
        self._world = mpi.COMM_WORLD
        self.rank = int(self._world.Get_rank())
        self.size = int(self._world.Get_size())
        sys.excepthook = self._abort

    def add_up(self, buffer: npt.NDArray[Any]) -> None:
        """One blocking allreduce."""
        self._world.Allreduce(self._mpi.IN_PLACE, buffer)

    def copy_from_first(self, buffer: npt.NDArray[Any]) -> None:
        """One broadcast."""
        self._world.Bcast(buffer, root=0)

    def ratio(self, part: int, whole: int) -> float:
        """One allreduce of two numbers."""
        both = np.array([part, whole], np.float64)
        self.add_up(both)
        return float(both[0] / both[1])

    def _abort(self, *error: Any) -> None:
        """Ends all ranks when one fails; the others would wait for it forever."""
        sys.__excepthook__(*error)
        self._world.Abort(1)


def find_ranks() -> Ranks:
    """MPI's world when mpi4py and an MPI library can be loaded, else this process alone."""
    try:
        from mpi4py import MPI
    except (ImportError, RuntimeError) as error:
        if any(int(os.environ.get(name, "1")) > 1 for name in SIZE_VARIABLES):
            sys.exit(
                f"train_numpy: started as one of several ranks, but MPI cannot be loaded: {error}"
            )
        return Alone()
    return World(MPI)
