"""Arithmetic on intervals of integer nanoseconds: layers, innermost cover, time inside a window."""

from __future__ import annotations

from dataclasses import dataclass
from heapq import heappop, heappush

import numpy as np
import numpy.typing as npt

from perfscope.search import places

Times = npt.NDArray[np.int64]
Indices = npt.NDArray[np.int64]

NOTHING = -1
"""Value of a layer where no interval is."""


@dataclass(frozen=True)
class Layer:
    """A step function of time: `values[i]` holds on [starts[i], starts[i + 1]), the last for ever.

    Before the first start, and where no interval is, the value is `NOTHING`. Starts ascend
    strictly.
    """

    starts: Times
    values: Indices

    def at(self, times: Times) -> Indices:
        """The values at some moments."""
        if not len(self.starts):
            return np.full(len(times), NOTHING, np.int64)
        place = places(self.starts, times, "right") - 1
        return np.where(place >= 0, self.values[np.maximum(place, 0)], NOTHING)

    def at_ordered(self, times: Times) -> Indices:
        """The values at some moments in order of time; cheap where the layer has few changes."""
        if not len(self.starts):
            return np.full(len(times), NOTHING, np.int64)
        changes = places(times, self.starts)
        lengths = np.diff(changes, prepend=0, append=len(times))
        return np.repeat(np.concatenate([[NOTHING], self.values]), lengths)


def distinct(moments: Times) -> Times:
    """The moments in order, each once; fast where long parts are in order already."""
    ordered = np.sort(moments, kind="stable")
    keep = np.ones(len(ordered), np.bool_)
    keep[1:] = ordered[1:] != ordered[:-1]
    return ordered[keep]


EMPTY_LAYER = Layer(np.empty(0, np.int64), np.empty(0, np.int64))


def disjoint_layer(starts: Times, ends: Times, values: Indices) -> Layer:
    """The layer of intervals that are sorted by start; where two overlap, the earlier one wins."""
    if not len(starts):
        return EMPTY_LAYER
    reach = np.maximum.accumulate(ends)
    begin = starts.copy()
    begin[1:] = np.maximum(begin[1:], reach[:-1])
    keep = ends > begin
    begin, finish, kept = begin[keep], ends[keep], values[keep]
    times = np.empty(2 * len(begin), np.int64)
    marks = np.empty(2 * len(begin), np.int64)
    times[0::2], times[1::2] = begin, finish
    marks[0::2], marks[1::2] = kept, NOTHING
    return ordered_layer(times, marks)


def innermost_layer(starts: Times, ends: Times, values: Indices) -> Layer:
    """At each moment the value of the covering interval that started last (of those, the shortest).

    Works on whole arrays where intervals nest, and one by one where some cross.
    """
    keep = np.flatnonzero(ends > starts)
    if not len(keep):
        return EMPTY_LAYER
    order = keep[np.lexsort((keep, -ends[keep], starts[keep]))]
    starts, ends, values = starts[order], ends[order], values[order]
    return _nested(starts, ends, values) or _crossing(starts, ends, values)


def _nested(starts: Times, ends: Times, values: Indices) -> Layer | None:
    """The layer of intervals sorted outer first, None when two of them cross."""
    count = len(starts)
    if bool(np.all(starts[1:] >= ends[:-1])):
        return disjoint_layer(starts, ends, values)
    closing = np.lexsort((-np.arange(count), -starts, ends))
    # an interval opens after everything that ended before or at its start has closed
    opens_at = np.arange(count) + np.searchsorted(ends[closing], starts, side="right")
    is_open = np.zeros(2 * count, np.bool_)
    is_open[opens_at] = True
    which = np.empty(2 * count, np.int64)
    which[opens_at] = np.arange(count)
    which[~is_open] = closing
    times = np.where(is_open, starts[which], ends[which])
    depth = np.cumsum(np.where(is_open, 1, -1))
    current = np.full(2 * count, NOTHING, np.int64)
    closed = np.where(is_open, NOTHING, depth + 1)
    for level in range(1, int(depth.max()) + 1):
        opened = np.where(is_open & (depth == level), np.arange(2 * count), NOTHING)
        latest = np.maximum.accumulate(opened)
        ending = closed == level
        if np.any(which[np.maximum(latest[ending], 0)] != which[ending]):
            return None
        here = depth == level
        current[here] = values[which[latest[here]]]
    return ordered_layer(times, current)


def _crossing(starts: Times, ends: Times, values: Indices) -> Layer:
    moments = distinct(np.concatenate([starts, ends]))
    result = np.full(len(moments), NOTHING, np.int64)
    open_ones: list[tuple[int, int]] = []  # innermost (latest in the order) first
    following = 0
    for place, moment in enumerate(moments.tolist()):
        while following < len(starts) and starts[following] <= moment:
            heappush(open_ones, (-following, int(ends[following])))
            following += 1
        while open_ones and open_ones[0][1] <= moment:
            heappop(open_ones)
        if open_ones:
            result[place] = values[-open_ones[0][0]]
    return ordered_layer(moments, result)


def ordered_layer(times: Times, values: Indices) -> Layer:
    """The layer that takes each value at its moment, moments in order; of equal ones the last."""
    last = np.flatnonzero(np.append(times[1:] != times[:-1], True)[: len(times)])
    chosen = values[last]
    changes = np.flatnonzero(np.append(True, chosen[1:] != chosen[:-1])[: len(chosen)])
    return Layer(times[last[changes]], chosen[changes])


def union(starts: Times, ends: Times) -> tuple[Times, Times]:
    """The union of intervals as disjoint intervals in order of time."""
    keep = ends > starts
    starts, ends = starts[keep], ends[keep]
    if not len(starts):
        return starts, ends
    order = np.argsort(starts, kind="stable")
    starts, reach = starts[order], np.maximum.accumulate(ends[order])
    first = np.ones(len(starts), np.bool_)
    first[1:] = starts[1:] > reach[:-1]
    last = np.append(np.flatnonzero(first)[1:] - 1, len(starts) - 1)
    return starts[first], reach[last]


@dataclass(frozen=True)
class Cumulative:
    """How much of some disjoint segments lies before a moment, in ns."""

    boundaries: Times
    before: Times  # ns inside the segments before each boundary
    inside: npt.NDArray[np.bool_]  # of each segment

    @classmethod
    def of(cls, boundaries: Times, inside: npt.NDArray[np.bool_]) -> Cumulative:
        """Of the segments between the boundaries that are marked."""
        lengths = np.where(inside, np.diff(boundaries), 0)
        return cls(boundaries, np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64), inside)

    def at(self, times: Times) -> Times:
        """Nanoseconds inside before each moment; beyond the boundaries nothing is inside."""
        if len(self.boundaries) < 2:
            return np.zeros(len(times), np.int64)
        moments = np.clip(times, self.boundaries[0], self.boundaries[-1])
        place = np.searchsorted(self.boundaries, moments, side="right") - 1
        place = np.minimum(place, len(self.inside) - 1)
        part = np.where(self.inside[place], moments - self.boundaries[place], 0)
        return self.before[place] + part

    def between(self, starts: Times, ends: Times) -> Times:
        """Nanoseconds inside each [start, end)."""
        return self.at(ends) - self.at(starts)
