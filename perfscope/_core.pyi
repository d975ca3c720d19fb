"""The trace engine: decoders and reductions that work on a trace in one pass, without the GIL."""

from typing import Any

import numpy as np
import numpy.typing as npt

class FormatError(ValueError):
    """A file is damaged or of another format: path, byte offset and reason, in `args`."""

def row_layouts() -> dict[str, dict[str, int]]:
    """Byte offsets of the fields of each packed row; under the empty name the size of a row."""

class Otf2Archive:
    """An OTF2 archive whose anchor and global definitions have been read.

    Args:
        path: the anchor file, as os.fsencode gives it.

    Raises:
        FormatError: it is damaged, or of a kind that is not read (SION, zlib).
        OSError: a file cannot be read.
    """

    def __init__(self, path: bytes) -> None: ...
    def anchor(self) -> dict[str, Any]:
        """What the anchor file says: version, machine, creator, description, properties."""

    def clock(self) -> dict[str, Any]:
        """Ticks per second and at the start, length in ticks, wall clock of the start in ns."""

    def locations(self) -> list[tuple[int, str, int, int, int]]:
        """Of each location its id, name, type, number of events as defined, and group."""

    def location_groups(self) -> list[tuple[int, str, int, int, int]]:
        """Of each group its id, name, type, node of the system tree, and the group's creator."""

    def system_nodes(self) -> list[tuple[int, str, str, int]]:
        """Of each node of the system tree its id, name, class and parent."""

    def regions(self) -> list[tuple[int, str, str, str, int, int, int]]:
        """Of each region its id, name, canonical name, file, line, role and paradigm."""

    def metric_members(self) -> list[tuple[int, str, str, int, int, int, int]]:
        """Of each metric its id, name, unit, mode, value type, base and exponent."""

    def communicators(self) -> list[tuple[int, int, npt.NDArray[np.int32]]]:
        """Of each communicator its id, parent and members as world ranks; the world first."""

    def definition_counts(self) -> dict[int, int]:
        """How many definitions of each type there are."""

    def world(self) -> npt.NDArray[np.uint64]:
        """Ids of the locations of the MPI ranks, in their order; empty without MPI."""

    def events(
        self, location: int, apply_mappings: bool = True, apply_clock: bool = True
    ) -> dict[str, Any]:
        """All events of a location as columns; memory grows with their number.

        Event i is types[i] at times[i] ticks with the fields values[starts[i]:starts[i + 1]] as
        64-bit patterns, and attributes (id, type, bits) from attribute_starts[i] on.
        """

    def reduce(
        self, roles: bytes, rows: int, phases: int, counter_samples: int, threads: int
    ) -> dict[str, Any]:
        """Profile, sums, MPI calls, phases, device work and counters of all locations.

        Args:
            roles: of each region (operation u2, kind of call u1, phase u1, name i4), packed.
            rows: how many MPI calls and completions to keep; above it none, and their time by bins.
            phases: how many phases and pieces of device work to keep; above it none.
            counter_samples: samples to keep of each counter on each location.
            threads: how many threads work.
        """
