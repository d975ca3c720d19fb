"""Which rows of a pool are of which class, as numpy looks it up and as the engine does."""

import numpy as np
import numpy.typing as npt
import pytest

from perfscope import _core
from perfscope.matching.pool import Pool
from perfscope.trace.operations import KNOWN, OperationClass, codes_mask


def _of_codes(codes: npt.NDArray[np.uint16]) -> Pool:
    pool = Pool.of([], [])
    object.__setattr__(pool, "op", codes)
    return pool


@pytest.mark.parametrize("classes", [(OperationClass.SEND,), tuple(OperationClass), ()])
def test_rows_of_a_class_are_those_that_numpy_finds(classes: tuple[OperationClass, ...]) -> None:
    random = np.random.default_rng(7)
    codes = random.integers(0, len(KNOWN), 1000).astype(np.uint16)
    pool, wanted = _of_codes(codes), codes_mask(classes)[codes]
    assert np.array_equal(pool.is_of(*classes), wanted)
    rows = random.integers(0, len(codes), 50)
    assert np.array_equal(pool.is_of(*classes, rows=rows), wanted[rows])
    assert np.array_equal(pool.is_of(*classes, rows=slice(3, 700, 2)), wanted[3:700:2])


def test_a_code_that_nothing_is_said_of_is_refused() -> None:
    with pytest.raises(ValueError, match="nothing is said of"):
        _core.of_codes(np.ones(3, np.uint8), np.array([1, 3], np.uint16))
