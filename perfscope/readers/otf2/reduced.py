"""What the engine reduced of an OTF2 archive, and the names that its rows refer to."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from perfscope.arrays import Ints, mapped
from perfscope.readers.otf2.ranks import Location
from perfscope.readers.otf2.regions import Region
from perfscope.structures import dataclass
from perfscope.trace.counters import CounterKind
from perfscope.trace.model import Table

ACCUMULATED, ABSOLUTE, RELATIVE = range(3)
"""The lower half of a mode (OTF2_MetricValueProperty)."""


@dataclass(frozen=True)
class Member:
    """A metric as the archive defines it."""

    id: int
    name: str
    unit: str
    mode: int

    @property
    def kind(self) -> CounterKind:
        """What its values in the trace are; the engine has added up relative ones."""
        grows = self.mode & 0xF in {ACCUMULATED, RELATIVE}
        return CounterKind.GROWING if grows else CounterKind.VALUE


def counter_kinds(members: Iterable[Member]) -> dict[str, CounterKind]:
    """The kind by name; where metrics of one name differ, their values are only values."""
    found: dict[str, CounterKind] = {}
    for member in members:
        if found.setdefault(member.name, member.kind) is not member.kind:
            found[member.name] = CounterKind.VALUE
    return found


NS = 1_000_000_000
_EXACT = (1 << 63) // NS // 2


@dataclass(frozen=True)
class Ticks:
    """A clock: ticks per second, and the tick at which the trace begins."""

    resolution: int
    offset: int

    def ns(self, ticks: int) -> int:
        """Nanoseconds since the beginning of the trace, rounded."""
        scaled = (ticks - self.offset) * NS
        half = self.resolution // 2
        if scaled < 0:
            return -((-scaled + half) // self.resolution)
        return (scaled + half) // self.resolution

    def durations_ns(self, ticks: Ints) -> Ints:
        """Durations in nanoseconds, rounded; shape as given."""
        if self.resolution == NS:
            return ticks
        if self.resolution > _EXACT:
            return np.array([round(t * NS / self.resolution) for t in ticks.tolist()], np.int64)
        whole, rest = np.divmod(ticks, self.resolution)
        exact: Ints = whole * NS + (rest * NS + self.resolution // 2) // self.resolution
        return exact


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

    def region_names(self, regions: npt.NDArray[np.integer]) -> Ints:
        """Indices of the names of regions."""
        return mapped(regions, self._region_name)

    def _region_name(self, place: int) -> int:
        known = place < len(self.regions)
        return self.name(self.regions[place].name if known else "undefined region")

    def member_name(self, number: int) -> int:
        """The index of the name of a metric."""
        known = self.members.get(number)
        return self.name(known.name if known else f"metric {number}")

    def rows(self, places: Sequence[Location], table: str, dtype: np.dtype[Any]) -> Table:
        """The rows of some locations, sorted by their first column."""
        parts = [self.locations[place.index][table].view(dtype) for place in places]
        rows: Table = np.concatenate(parts) if parts else np.empty(0, dtype)
        assert dtype.names
        first: Ints = rows[dtype.names[0]]
        if np.all(first[1:] >= first[:-1]):
            return rows
        return rows[np.argsort(first, kind="stable")]
