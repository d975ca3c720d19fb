"""Times that were packed are the same when they are unpacked, whatever they are."""

import numpy as np
import pytest

from perfscope import _core
from perfscope.arrays import Ints
from perfscope.packed import PackedTimes, PutsAway
from perfscope.trace.columns import Columns

FAR = (1 << 32) - 1
"""So much later than the first of its block, a moment has no room in 32 bits."""


def times_by_lot(seed: int) -> Ints:
    """Calls after each other, some after a long break, in one order or any."""
    lot = np.random.default_rng(seed)
    steps = lot.integers(0, 1000, int(lot.integers(0, 700)))
    steps[lot.random(len(steps)) < 0.02] = int(lot.integers(FAR - 1000, 4 * FAR))
    times = np.cumsum(steps) + int(lot.integers(-(1 << 60), 1 << 60))
    return times if seed % 2 else lot.permutation(times)


@pytest.mark.parametrize("seed", range(40))
def test_all_some_and_single_times_come_back(seed: int) -> None:
    times = times_by_lot(seed)
    packed, lot = PackedTimes(times), np.random.default_rng(seed)
    assert len(packed) == len(times)
    assert packed.all().tolist() == times.tolist()
    first, end = np.sort(lot.integers(0, len(times) + 1, 2)).tolist()
    assert packed.between(first, end).tolist() == times[first:end].tolist()
    rows = lot.integers(0, max(len(times), 1), 50 if len(times) else 0)
    assert packed.at(rows).tolist() == times[rows].tolist()


@pytest.mark.parametrize("later", [FAR - 1, FAR, FAR + 1])
def test_times_that_just_fit_and_just_do_not_come_back(later: int) -> None:
    times = np.array([7, 7 + later, 8], np.int64)
    assert PackedTimes(times).all().tolist() == times.tolist()


def test_the_first_and_the_last_moment_that_there_are_come_back() -> None:
    bounds = np.iinfo(np.int64)
    times = np.array([bounds.max, bounds.min, 0, bounds.max], np.int64)
    packed = PackedTimes(times)
    assert packed.all().tolist() == times.tolist()
    assert packed.at(np.array([3, 1, 0])).tolist() == times[[3, 1, 0]].tolist()


def test_near_times_take_half_of_their_room() -> None:
    base, after, far, _ = _core.packed_times(np.arange(64_000, dtype=np.int64) * 1000)
    assert (base.nbytes + after.nbytes, len(far)) == (8 * 1000 + 4 * 64_000, 0)


def test_rows_that_there_are_not_are_refused() -> None:
    packed = PackedTimes(np.arange(10, dtype=np.int64))
    with pytest.raises(ValueError, match="do not fit"):
        packed.between(3, 11)
    with pytest.raises(ValueError, match="do not fit"):
        packed.at(np.array([-1]))


class Table(PutsAway):
    def __init__(self, times: Ints) -> None:
        self.times = times


def test_a_column_that_is_put_away_is_unpacked_for_whoever_asks() -> None:
    times = times_by_lot(1)
    table, columns = Table(times), Columns(np.dtype([("t", np.int64)]), {"t": times[5:]})
    held = table.put_away("times")
    assert table.put_away("times") is held
    assert "times" not in vars(table)
    columns.share_away("t", held, 5)
    for found, wanted in ((table.times, times), (columns["t"], times[5:])):
        assert found.tolist() == wanted.tolist()
    assert table.some("times", np.array([3, 0])).tolist() == times[[3, 0]].tolist()
    for key in (slice(2, 40), slice(40, 2, -3), slice(None), np.array([4, 1]), 3):
        assert columns[key]["t"].tolist() == times[5:][key].tolist()
    with pytest.raises(AttributeError, match="no attribute 'other'"):
        table.other  # noqa: B018 - there is none
