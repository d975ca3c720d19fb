"""Waits and units of rows, and sums over some rows, against a few lines of plain Python."""

from bisect import bisect_right

import numpy as np
import pytest

from perfscope import _core
from perfscope.arrays import Ints, SmallCodes

WAITING = 3


def waited_until(moment: int, boundaries: list[int], accounts: list[int]) -> int:
    """How long a rank waited up to a moment."""
    pairs = zip(boundaries, boundaries[1:], accounts, strict=False)
    return sum(
        max(0, min(end, moment) - begin) for begin, end, account in pairs if account == WAITING
    )


@pytest.mark.parametrize("seed", range(20))
def test_waits_of_rows(seed: int) -> None:
    chance = np.random.default_rng(seed)
    boundaries = np.unique(chance.integers(0, 500, int(chance.integers(0, 60)))).astype(np.int64)
    accounts = chance.integers(2, 5, max(0, len(boundaries) - 1)).astype(np.uint8)
    boundaries = boundaries[: len(accounts) + 1] if len(boundaries) else np.zeros(1, np.int64)
    moments = np.sort(chance.integers(-50, 550, 80)).astype(np.int64)
    enter, leave = moments[::2].copy(), moments[1::2].copy()
    calls = np.sort(chance.choice(40, int(chance.integers(0, 40)), replace=False)).astype(np.int32)
    start, end = 20, 470
    inside, places, before = _core.row_waits(
        boundaries, accounts, WAITING, calls, enter, leave, start, end
    )

    def waited(moment: int) -> int:
        return waited_until(moment, boundaries.tolist(), accounts.tolist())

    left, wanted, behind = waited(start), [], {}
    for place, call in enumerate(calls.tolist()):
        entered = waited(min(max(int(enter[call]), start), end))
        if entered != left:
            behind[place] = entered - left
        left = waited(min(max(int(leave[call]), start), end))
        wanted.append(left - entered)
    assert inside.tolist() == [*wanted, waited(end) - left]
    assert dict(zip(places.tolist(), before.tolist(), strict=True)) == behind


def unit_at(moment: int, clock: tuple[list[int], list[int]]) -> int:
    """The number of the unit that began last."""
    return clock[1][max(bisect_right(clock[0], moment) - 1, 0)]


@pytest.mark.parametrize("seed", range(20))
def test_units_of_rows(seed: int) -> None:
    chance = np.random.default_rng(seed)
    ranks, segments = int(chance.integers(1, 5)), int(chance.integers(1, 8))
    clocks = []
    for _ in range(ranks):
        starts = np.unique(chance.integers(0, 200, int(chance.integers(1, 20)))).astype(np.int64)
        clocks.append((starts, np.arange(len(starts), dtype=np.int64) + int(chance.integers(0, 3))))
    edges = np.concatenate([[0], np.cumsum(chance.integers(0, 30, ranks))]).astype(np.int64)
    rows = int(edges[-1])
    segment = chance.integers(0, segments, rows).astype(np.int32)
    first = np.sort(chance.integers(0, 20, segments + 1)).astype(np.int32)
    enter = chance.integers(-5, 220, 50).astype(np.int64)
    calls = chance.integers(-1, 50, rows).astype(np.int32)
    rank = np.repeat(np.arange(ranks), np.diff(edges)).tolist()

    def bounded(moment: int, place: int, row: int) -> int:
        starts, numbers = clocks[rank[place]]
        number = unit_at(moment, (starts.tolist(), numbers.tolist()))
        low, high = first[segment[row]], first[segment[row] + 1]
        return int(min(max(number, low), high))

    found = _core.units_of_calls(clocks, edges, segment, first, calls, enter, 7)
    begins = [7 if call < 0 else int(enter[call]) for call in calls.tolist()]
    assert found.tolist() == [bounded(at, row, row) for row, at in enumerate(begins)]
    of = chance.integers(0, max(rows, 1), rows).astype(np.int32)
    moments = chance.integers(-5, 220, rows).astype(np.int64)
    found = _core.units_of_moments(clocks, edges, segment, first, moments, of)
    told = enumerate(zip(moments.tolist(), of.tolist(), strict=True))
    assert found.tolist() == [bounded(at, place, row) for place, (at, row) in told]


@pytest.mark.parametrize("seed", range(10))
def test_sums_over_some_rows(seed: int) -> None:
    chance = np.random.default_rng(seed)
    rows = np.flatnonzero(chance.random(60) < 0.5)
    values = chance.random(len(rows))
    keys = chance.integers(-1, 5, 60).astype(np.int32)
    of_key = chance.integers(0, 3, 5)
    known = keys[rows] >= 0
    wanted = np.bincount(keys[rows][known], values[known], 5)
    assert _core.sums_by_key(values, rows, keys, 5).tolist() == wanted.tolist()
    wanted = np.bincount(of_key[keys[rows][known]], values[known], 3)
    assert _core.sums_by_key(values, rows, keys, 3, of_key).tolist() == wanted.tolist()
    row = np.sort(chance.integers(0, 60, 200)).astype(np.int32)
    ns, wide = chance.random(200), chance.integers(-1, 4, 200)
    phases: Ints = wide.astype(np.int32) if seed % 2 else wide.astype(np.int16)
    meant = np.isin(row, rows)
    wanted = np.bincount(np.where(phases < 0, 4, phases)[meant], ns[meant], 5)
    assert _core.work_by_phase(row, ns, phases, rows, 60, 4).tolist() == wanted.tolist()


@pytest.mark.parametrize("seed", range(10))
def test_work_before_some_rows(seed: int) -> None:
    chance = np.random.default_rng(seed)
    row, ns = chance.integers(0, 60, 200).astype(np.int32), chance.random(200)
    rows = chance.permutation(60)[: int(chance.integers(0, 60))]
    factor, times, before = chance.random(len(rows)), ns.copy(), np.zeros(60)
    for piece, of in enumerate(row.tolist()):
        before[of] += ns[piece]
        for place in np.flatnonzero(rows == of).tolist():
            times[piece] *= factor[place]
    assert _core.work_before(row, ns, rows, 60).tolist() == before[rows].tolist()
    assert _core.times_before(row, ns, rows, factor, 60).tolist() == times.tolist()


@pytest.mark.parametrize("seed", range(10))
def test_sums_by_unit_and_rank(seed: int) -> None:
    """Rows of a unit and rank mostly follow each other, and some come later."""
    chance = np.random.default_rng(seed)
    unit = np.repeat(chance.integers(0, 4, 20), chance.integers(1, 6, 20)).astype(np.int32)
    of_row = np.repeat(chance.integers(0, 3, len(unit)), 2)[: len(unit)]
    rank: SmallCodes = of_row.astype(np.int8)
    gap, transfer = chance.random((2, len(unit)))
    wanted = np.zeros((4, 3, 2))
    for place in range(len(unit)):
        wanted[unit[place], rank[place]] += gap[place] + transfer[place], transfer[place]
    found = _core.sums_by_unit(gap, transfer, unit, rank, units=4, ranks=3)
    assert found.tolist() == wanted.ravel().tolist()


def test_times_that_do_not_fit_are_refused() -> None:
    some, small, two = np.arange(3), np.zeros(3, np.int32), np.zeros(2, np.uint8)
    ns = np.zeros(3)
    with pytest.raises(ValueError, match="do not fit"):
        _core.row_waits(some, two[:1], WAITING, small, some, some, 0, 1)
    with pytest.raises(ValueError, match="do not fit"):
        _core.row_waits(some, two, WAITING, small + 3, some, some, 0, 1)
    clock, edges = [(some, some)], np.array([0, 3])
    for segment, first, calls in (
        (small + 1, small[:2], small),
        (small, small[:2], small + 3),
        (small, small[:2], small[:2]),
        (small, small[:0], small),
    ):
        with pytest.raises(ValueError, match="do not fit"):
            _core.units_of_calls(clock, edges, segment, first, calls, some, 0)
    for clocks, at in (([], edges), ([(some, some[:2])], edges), (clock, np.array([0, 2]))):
        with pytest.raises(ValueError, match="do not fit"):
            _core.units_of_moments(clocks, at, small, small[:2], some, small)
    with pytest.raises(ValueError, match="does not fit"):
        _core.sums_by_key(np.zeros(3), some, small + 2, 2)
    for row, rows, factor in ((small + 3, some, ns), (small, some + 1, ns), (small, some, ns[:2])):
        with pytest.raises(ValueError, match="does not fit"):
            _core.times_before(row, ns, rows, factor, 3)
    with pytest.raises(ValueError, match="does not fit"):
        _core.work_by_phase(small, np.zeros(3), small, some + 1, 3, 1)
