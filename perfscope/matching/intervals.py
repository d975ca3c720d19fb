"""Arithmetic on intervals of integer nanoseconds: layers, innermost cover, time inside a window."""

from __future__ import annotations

import numpy as np

from perfscope.arrays import Bools, Ints
from perfscope.engine import engine
from perfscope.structures import dataclass

Times = Ints
Indices = Ints

NOTHING = -1
"""Value of a layer where no interval is."""


@dataclass(frozen=True)
class Layer:
    """A step function of time: `values[i]` holds on [starts[i], starts[i + 1]), the last forever.

    Before the first start, and where no interval is, the value is `NOTHING`. Starts ascend
    strictly.
    """

    starts: Times
    values: Indices

    def at(self, times: Times) -> Indices:
        """The values at some moments; cheapest where those are in order of time."""
        return engine.layer_at(_packed(self.starts), _packed(self.values), _packed(times))


def distinct(moments: Times) -> Times:
    """The moments in order, each once; fast where long parts are in order already."""
    return engine.distinct(_packed(moments))


EMPTY_LAYER = Layer(np.empty(0, np.int64), np.empty(0, np.int64))


def disjoint_layer(starts: Times, ends: Times, values: Indices) -> Layer:
    """The layer of intervals that are sorted by start; where two overlap, the earlier one wins."""
    return Layer(*engine.disjoint_layer(_packed(starts), _packed(ends), _packed(values)))


def innermost_layer(starts: Times, ends: Times, values: Indices) -> Layer:
    """At each moment the value of the covering interval that started last (of those, the shortest).

    Of equal intervals it is the last one; empty ones are nowhere.
    """
    return Layer(*engine.innermost_layer(_packed(starts), _packed(ends), _packed(values)))


def union(starts: Times, ends: Times) -> tuple[Times, Times]:
    """The union of intervals as disjoint intervals in order of time."""
    return engine.union(_packed(starts), _packed(ends))


def _packed(column: Times) -> Times:
    return np.ascontiguousarray(column, np.int64)


@dataclass(frozen=True)
class Cumulative:
    """How much of some disjoint segments lies before a moment, in ns."""

    boundaries: Times
    before: Times  # ns inside the segments before each boundary
    inside: Bools  # of each segment

    @classmethod
    def of(cls, boundaries: Times, inside: Bools) -> Cumulative:
        """Of the segments between the boundaries that are marked."""
        if len(boundaries) < 2:
            return cls(boundaries, np.zeros(len(boundaries), np.int64), inside)
        edges, marks = _packed(boundaries), np.ascontiguousarray(inside, np.bool_)
        return cls(edges, engine.time_before(edges, marks.view(np.uint8)), marks)

    def at(self, times: Times) -> Times:
        """Nanoseconds inside before each moment; beyond the boundaries nothing is inside."""
        if len(self.boundaries) < 2:
            return np.zeros(len(times), np.int64)
        chosen = self.inside.view(np.uint8)
        return engine.time_until(self.boundaries, chosen, self.before, _packed(times))

    def between(self, starts: Times, ends: Times) -> Times:
        """Nanoseconds inside each [start, end)."""
        return self.at(ends) - self.at(starts)
