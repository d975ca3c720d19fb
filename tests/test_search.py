"""Moments are found where numpy finds them, in whatever order they are looked for."""

from typing import Literal

import numpy as np
import pytest

from perfscope import _core
from perfscope.search import FEW, places


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("spread", [3, 10_000, 1 << 62])
def test_places_are_those_of_numpy(side: Literal["left", "right"], spread: int) -> None:
    random = np.random.default_rng(spread)
    for size in (0, 1, 2, 1_500):
        ordered = np.sort(random.integers(-spread, spread, size))
        for order in ("random", "ascending", "descending"):
            moments = random.integers(-spread, spread, 2 * FEW)
            if order != "random":
                moments.sort()
            if order == "descending":
                moments = moments[::-1]
            found = places(ordered, moments, side)
            assert found.tolist() == np.searchsorted(ordered, moments, side=side).tolist()


def test_a_few_moments_and_other_numbers_are_found_too() -> None:
    ordered = np.arange(0, 9_000, 3)
    assert places(ordered, np.array([3, 4])).tolist() == [1, 2]
    floats = np.linspace(0, 100, 2 * FEW)
    assert np.array_equal(
        places(ordered, floats),  # type: ignore[arg-type]
        np.searchsorted(ordered, floats),
    )
    assert places(ordered[::2], np.arange(2 * FEW), "right")[:8].tolist() == [1] * 6 + [2] * 2


def test_extreme_moments_are_found() -> None:
    limits = np.iinfo(np.int64)
    ordered = np.array([limits.min, limits.min, 0, limits.max, limits.max])
    for behind in (False, True):
        side: Literal["left", "right"] = "right" if behind else "left"
        found = _core.places(ordered, ordered, behind)
        assert found.tolist() == np.searchsorted(ordered, ordered, side=side).tolist()
