"""What is shared by all that works on NumPy arrays."""

import numpy as np
import numpy.typing as npt
import pytest

from perfscope import _core
from perfscope.arrays import (
    BLOCK,
    between,
    grouped,
    is_one_of,
    median,
    neighbors,
    quantile,
    rows_by,
    taken,
)
from perfscope.schema.enums import PhaseKind

KINDS = (PhaseKind.TRAIN, PhaseKind.USER)


@pytest.mark.parametrize("few", [(), (3,), (0, 255), (7, 7, 1), (-1, 300), KINDS])
@pytest.mark.parametrize("dtype", [np.uint8, np.int16, np.uint32, np.int64])
def test_one_of_a_few_values_is_what_numpy_finds(
    few: tuple[int, ...], dtype: npt.DTypeLike
) -> None:
    values = np.random.default_rng(1).integers(0, 9, 200).astype(dtype)
    values[:3] = 0, 3, np.iinfo(dtype).max
    expected = np.isin(values.astype(np.int64), np.array(few, np.int64))
    assert is_one_of(values, few).tolist() == expected.tolist()


def test_one_of_a_few_values_of_a_column_keeps_its_shape() -> None:
    rows = np.array([(1, 2), (3, 4), (5, 2)], np.dtype([("tid", "<u4"), ("kind", "<u2")]))
    assert is_one_of(rows["tid"], (0, 5)).tolist() == [False, False, True]
    assert is_one_of(rows["kind"][:0], (2,)).shape == (0,)


@pytest.mark.parametrize(
    "spread", [(0, 1), (0, 7), (3, 150), (-4, 9), (0, 10**6), (70_000, 80_000)]
)
@pytest.mark.parametrize("size", [0, 1, 200])
def test_rows_of_one_value_lie_together_in_their_order(size: int, spread: tuple[int, int]) -> None:
    key = np.random.default_rng(size).integers(*spread, size)
    expected = [np.flatnonzero(key == value).tolist() for value in np.unique(key)]
    assert [rows.tolist() for rows in rows_by(key)] == expected
    order, starts = grouped(key)
    assert order.tolist() == [row for rows in expected for row in rows]
    assert starts.tolist() == np.cumsum([0, *map(len, expected)]).tolist()


def test_a_number_beyond_those_that_were_told_is_refused() -> None:
    for number in (-1, 3):
        with pytest.raises(ValueError, match="beyond"):
            _core.grouped(np.array([0, number]), 3)


@pytest.mark.parametrize("size", [0, 5, 2 * BLOCK + 1])
@pytest.mark.parametrize("dtype", [np.uint16, np.int32, np.int64])
def test_what_is_taken_in_blocks_is_what_stands_there(size: int, dtype: npt.DTypeLike) -> None:
    random = np.random.default_rng(size)
    values, places = random.random(50), random.integers(0, 50, size).astype(dtype)
    assert taken(values, places).tolist() == values[places].tolist()
    with pytest.raises(IndexError):
        taken(values, np.array([50], dtype))


@pytest.mark.parametrize("size", [1, 2, 3, 4, 11, 50, 501])
@pytest.mark.parametrize("dtype", [np.int8, np.uint32, np.int64, np.float64])
def test_medians_and_quantiles_are_those_of_numpy(size: int, dtype: npt.DTypeLike) -> None:
    for seed in range(20):
        lot = np.random.default_rng(seed)
        values = (lot.normal(50, 20, size) * (1 + 9 * (seed % 2))).clip(0, 100).astype(dtype)
        assert median(values) == float(np.median(values))
        share = float(lot.choice([0.0, 0.05, 0.25, 0.5, 0.9, 0.95, 1.0]))
        assert quantile(values, share) == float(np.quantile(values, share))


@pytest.mark.parametrize("values", [[np.nan], [2.0, np.nan], [np.nan, 3.0, 1.0]])
def test_values_that_are_no_numbers_make_none_as_in_numpy(values: list[float]) -> None:
    column = np.array(values)
    np.testing.assert_equal(median(column), float(np.median(column)))
    for share in (0.0, 0.25, 1.0):
        np.testing.assert_equal(quantile(column, share), float(np.quantile(column, share)))


@pytest.mark.parametrize("size", [2, 7, 40])
def test_what_lies_between_neighbors_is_a_quantile_of_numpy(size: int) -> None:
    values = np.sort(np.random.default_rng(size).normal(50, 20, size))
    shares = np.linspace(0, 1, 50)[:-1]
    place = (size - 1) * shares
    first = place.astype(np.int64)
    found = between(values[first], values[first + 1], place - first)
    assert found.tolist() == np.quantile(values, shares).tolist()


def test_neighbors_lie_together_as_long_as_there_is_room() -> None:
    assert neighbors([], 10) == []
    assert neighbors([3, 4, 3, 1, 40, 0, 2], 10) == [
        range(3),
        range(3, 4),
        range(4, 5),
        range(5, 7),
    ]
