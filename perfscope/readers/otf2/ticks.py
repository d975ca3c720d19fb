"""Ticks of an OTF2 clock as nanoseconds."""

import numpy as np

from perfscope.arrays import Ints
from perfscope.structures import dataclass

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
