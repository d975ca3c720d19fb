"""Type aliases for NumPy arrays, rows and values by what they are, and how counters grow."""

import math
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from perfscope.engine import engine

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
Int32s = npt.NDArray[np.int32]
SmallCodes = npt.NDArray[np.signedinteger[Any]]
"""Small numbers, -1 none: in 8 or 16 bits each where those hold them all, else in 32."""


def narrowed(numbers: SmallCodes) -> SmallCodes:
    """The same numbers with as few bytes each as hold them all, at most as many as they have.

    What is reckoned with them may need more: that is for those who reckon.
    """
    kind = narrowest([numbers])
    return numbers.astype(kind) if kind.itemsize < numbers.itemsize else numbers


def narrowest(parts: Sequence[SmallCodes]) -> np.dtype[np.signedinteger[Any]]:
    """The type of the fewest bytes that holds each number of some arrays."""
    filled = [part for part in parts if len(part)]
    least = min((int(part.min()) for part in filled), default=0)
    most = max((int(part.max()) for part in filled), default=0)
    for kind in (np.int8, np.int16, np.int32):
        bounds = np.iinfo(kind)
        if bounds.min <= least and most <= bounds.max:
            return np.dtype(kind)
    return np.dtype(np.int64)


MOST_FEW = 1 << 16
"""NumPy orders numbers of 16 bits in a tenth of the time of others."""


def rows_by(key: Ints) -> list[Ints]:
    """The rows of each value, ascending; values in their order."""
    if not len(key):
        return []
    order, starts = grouped(key)
    return np.split(order, starts[1:-1])


def grouped(key: Ints) -> tuple[Ints, Ints]:
    """The rows of one value after the other, as `rows_by`; where each value begins, and the end."""
    if not len(key):
        return np.empty(0, np.int64), np.zeros(1, np.int64)
    least, most = int(key.min()), int(key.max())
    if least >= 0 and most < len(key):
        places, starts = engine.grouped(np.ascontiguousarray(key, np.int64), most + 1)
        is_there = starts[1:] > starts[:-1]
        return places, np.append(starts[:-1][is_there], len(key))
    few = key.astype(np.uint16) if least >= 0 and most < MOST_FEW else key
    order = np.argsort(few, kind="stable")
    behind = np.flatnonzero(np.diff(key[order])) + 1
    return order, np.concatenate([[0], behind, [len(key)]])


def joined(parts: Iterable[npt.NDArray[Any]]) -> npt.NDArray[Any]:
    """One array behind the other; of one alone there is no copy."""
    every = list(parts)
    return every[0] if len(every) == 1 else np.concatenate(every)


def neighbors(sizes: Sequence[int], most: int) -> list[range]:
    """The places of neighboring tables that have at most so many rows together, or are alone."""
    if not sizes:
        return []
    behind, cuts = sizes[0], [0]
    for place, size in enumerate(sizes[1:], 1):
        if behind + size > most:
            cuts.append(place)
            behind = 0
        behind += size
    return [range(first, last) for first, last in pairwise([*cuts, len(sizes)])]


def median(values: npt.NDArray[Any]) -> float:
    """What `np.median` gives of numbers, of few in a tenth of its time; there is one at least."""
    middle = len(values) // 2
    low, high, most = _in_order(values, (len(values) - 1) // 2, middle, -1)
    return most if math.isnan(most) else float((low + high) / 2)


def quantile(values: npt.NDArray[Any], share: float) -> float:
    """What `np.quantile` gives of numbers, of few in a tenth of its time; there is one at least."""
    place = (len(values) - 1) * share
    first = int(place)
    low, high, most = _in_order(values, first, min(first + 1, len(values) - 1), -1)
    return most if math.isnan(most) else float(between(low, high, place - first))


def _in_order(values: npt.NDArray[Any], *places: int) -> list[float]:
    """What stands at places of the sorted values; where any is no number, at the last one."""
    found: list[float] = np.partition(values, places).take(places).tolist()
    return found


def between(first: npt.ArrayLike, second: npt.ArrayLike, part: npt.ArrayLike) -> Floats:
    """So far on the way from one to the other, to the last bit as numpy's linear quantiles."""
    low, high, share = np.asarray(first), np.asarray(second), np.asarray(part)
    way = high - low
    found: Floats = np.where(share >= 0.5, high - way * (1.0 - share), low + way * share)
    return found


def ordinals(*keys: Ints) -> Ints:
    """Numbers the rows that are alike in all keys, from 0 on, in their order."""
    order = np.lexsort(keys[::-1])
    is_first = np.ones(len(order), np.bool_)
    is_first[1:] = np.any([np.diff(key[order]) != 0 for key in keys], axis=0)
    place = np.arange(len(order))
    found = np.empty(len(order), np.int64)
    found[order] = place - np.maximum.accumulate(np.where(is_first, place, 0))
    return found


def mapped(values: npt.NDArray[Any], result_of: Callable[[int], int]) -> Ints:
    """What a function makes of each number, which it is asked once for each different one."""
    every, places = np.unique(values, return_inverse=True)
    found = np.array([result_of(value) for value in every.tolist()], np.int64)
    return found[places.reshape(-1)]


BLOCK = 1 << 16


def blocks(rows: int) -> list[slice]:
    """All rows, some at a time: what is made of their columns stays in a processor's cache."""
    return [slice(begin, min(begin + BLOCK, rows)) for begin in range(0, rows, BLOCK)]


def taken(values: npt.NDArray[Any], places: npt.NDArray[np.integer]) -> npt.NDArray[Any]:
    """What stands at places of few bits: `take` makes places of 64 bits of them, here of some."""
    found = np.empty(len(places), values.dtype)
    for here in blocks(len(places)):
        found[here] = values.take(places[here])
    return found


def is_one_of(values: npt.NDArray[Any], few: Iterable[int]) -> Bools:
    """Which values are one of a few: of the short tables of many ranks sooner than `np.isin`."""
    found = np.zeros(values.shape, np.bool_)
    for number in few:
        found |= values == number
    return found


def counter_growth(edges: npt.ArrayLike, times: npt.ArrayLike, readings: npt.ArrayLike) -> Floats:
    """How much a counter grows from each edge to the next, evenly between two of its readings.

    Args:
        edges: ascending, shape (n,), in the unit of `times`.
        times: of the readings, ascending, shape (m,). Before the first and after the last the
            counter stands still; without any it is not known to grow.
        readings: of the counter, shape (m,).

    Returns:
        Shape (n - 1,), in the unit of the readings.

    Columns of tables have a type that no checker knows: NumPy's overloads take it seconds to try.
    """
    at, known = np.asarray(edges, np.float64), np.asarray(times, np.float64)
    if not len(known):
        return np.zeros(len(at) - 1)
    found: Floats = np.diff(np.interp(at, known, np.asarray(readings, np.float64)))
    return found
