"""What is shared by all that works on NumPy arrays."""

import numpy as np
import numpy.typing as npt
import pytest

from perfscope.arrays import is_one_of
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
