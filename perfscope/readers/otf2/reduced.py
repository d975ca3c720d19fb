"""What the engine reduced of an OTF2 archive, and the names that its rows refer to."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from perfscope.arrays import Ints
from perfscope.readers.otf2.metrics import Member
from perfscope.readers.otf2.ranks import Location
from perfscope.readers.otf2.regions import Region
from perfscope.readers.otf2.ticks import Ticks
from perfscope.trace.model import Table


class Reduced:
    """The engine's reduction, and the names that its rows refer to."""

    def __init__(
        self,
        found: Mapping[str, Any],
        clock: Mapping[str, Any],
        regions: Sequence[Region],
        members: Sequence[Member],
        names: list[str],
    ) -> None:
        self.locations: list[dict[str, Any]] = found["locations"]
        self.rows_dropped: bool = found["rows_dropped"]
        self.phases_dropped: bool = found["phases_dropped"]
        self.impossible_sizes = 0
        """Calls of which the bytes cannot be true."""
        self.ticks = Ticks(clock["resolution"], clock["offset"])
        self.regions = regions
        self.members = {member.id: member for member in members}
        self.names = names
        self._index = {name: place for place, name in enumerate(names)}

    def name(self, text: str) -> int:
        """The index of a name in Trace.names."""
        if text not in self._index:
            self._index[text] = len(self.names)
            self.names.append(text)
        return self._index[text]

    def region_names(self, regions: npt.NDArray[np.integer]) -> npt.NDArray[np.int32]:
        """Indices of the names of regions."""
        distinct, inverse = np.unique(regions, return_inverse=True)
        names = [
            self.name(self.regions[place].name if place < len(self.regions) else "undefined region")
            for place in distinct.tolist()
        ]
        found: npt.NDArray[np.int32] = np.array(names, np.int32)[inverse.reshape(-1)]
        return found

    def rows(self, places: Sequence[Location], table: str, dtype: np.dtype[Any]) -> Table:
        """The rows of some locations, sorted by their first column."""
        parts = [self.locations[place.index][table].view(dtype) for place in places]
        rows: Table = np.concatenate(parts) if parts else np.empty(0, dtype)
        assert dtype.names
        first: Ints = rows[dtype.names[0]]
        if np.all(first[1:] >= first[:-1]):
            return rows
        return rows[np.argsort(first, kind="stable")]
