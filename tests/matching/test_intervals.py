"""Interval arithmetic against the plainest possible oracle."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from perfscope.matching.intervals import (
    NOTHING,
    Cumulative,
    disjoint_layer,
    distinct,
    innermost_layer,
    union,
)

Interval = tuple[int, int]
INTERVALS = st.lists(
    st.tuples(st.integers(0, 60), st.integers(0, 30)).map(lambda p: (p[0], p[0] + p[1])),
    max_size=12,
)
MOMENTS = np.arange(-2, 95, dtype=np.int64)


@st.composite
def nested(draw: st.DrawFn) -> list[Interval]:
    """Intervals that nest: made by splitting ranges."""
    result: list[Interval] = []

    def fill(low: int, high: int, depth: int) -> None:
        at = low
        while at < high and depth < 4 and draw(st.booleans()):
            start = draw(st.integers(at, high))
            end = draw(st.integers(start, high))
            result.append((start, end))
            fill(start, end, depth + 1)
            at = end

    fill(0, 80, 0)
    return result


def columns(intervals: list[Interval]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    table = np.array(intervals, np.int64).reshape(-1, 2)
    return table[:, 0], table[:, 1], np.arange(len(table), dtype=np.int64)


def innermost_slowly(intervals: list[Interval], moment: int) -> int:
    covering = [
        (start, -end, place)
        for place, (start, end) in enumerate(intervals)
        if start <= moment < end
    ]
    return max(covering)[2] if covering else NOTHING


@given(intervals=nested())
def test_innermost_of_nested_intervals(intervals: list[Interval]) -> None:
    layer = innermost_layer(*columns(intervals))
    expected = [innermost_slowly(intervals, moment) for moment in MOMENTS.tolist()]
    assert layer.at(MOMENTS).tolist() == expected
    assert np.all(np.diff(layer.starts) > 0)


@given(intervals=INTERVALS)
def test_innermost_of_intervals_that_cross(intervals: list[Interval]) -> None:
    layer = innermost_layer(*columns(intervals))
    expected = [innermost_slowly(intervals, moment) for moment in MOMENTS.tolist()]
    assert layer.at(MOMENTS).tolist() == expected


@given(intervals=INTERVALS)
def test_of_overlapping_intervals_the_earlier_wins(intervals: list[Interval]) -> None:
    ordered = sorted(intervals)
    starts, ends, places = columns(ordered)
    layer = disjoint_layer(starts, ends, places)
    for moment, value in zip(MOMENTS.tolist(), layer.at(MOMENTS).tolist(), strict=True):
        covering = [i for i, (low, high) in enumerate(ordered) if low <= moment < high]
        assert value == (covering[0] if covering else NOTHING)


@given(intervals=INTERVALS)
def test_union_and_cumulative(intervals: list[Interval]) -> None:
    starts, ends, _ = columns(intervals)
    low, high = union(starts, ends)
    inside = {m for s, e in intervals for m in range(s, e)}
    assert {
        m for s, e in zip(low.tolist(), high.tolist(), strict=True) for m in range(s, e)
    } == inside
    assert np.all(low[1:] > high[:-1])
    boundaries = distinct(np.concatenate([low, high, np.array([0, 100], np.int64)]))
    covered = np.array([b in inside for b in boundaries[:-1].tolist()], np.bool_)
    total = Cumulative.of(boundaries, covered)
    moments = (50, -5, 0, 200, 13, 99)  # in no order: each is looked for from the one before
    expected = [sum(1 for m in inside if m < moment) for moment in moments]
    assert total.at(np.array(moments, np.int64)).tolist() == expected
    span = total.between(np.array([10], np.int64), np.array([20], np.int64))
    assert span.tolist() == [len(inside & set(range(10, 20)))]


def test_nothing() -> None:
    none = np.empty(0, np.int64)
    assert innermost_layer(none, none, none).at(MOMENTS[:2]).tolist() == [NOTHING, NOTHING]
    assert union(none, none)[0].tolist() == []
    assert Cumulative.of(none, none.astype(np.bool_)).at(MOMENTS[:1]).tolist() == [0]
