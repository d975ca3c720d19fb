"""Steps of two kinds are told apart, and those of one are not."""

import numpy as np
import pytest

from perfscope.arrays import Floats
from perfscope.judging import ALONE
from perfscope.metrics.efficiency.step_kinds import step_kinds
from perfscope.schema.run import StepKind

QUANTILES = (np.arange(1000) + 0.5) / 1000


def every(tenth: float, other: float = 0.1) -> Floats:
    """200 steps, of which each tenth takes so long."""
    return np.where(np.arange(200) % 10 == 9, tenth, other)


def test_every_tenth_step_that_takes_three_times_as_long_is_a_kind_of_its_own() -> None:
    assert step_kinds(every(0.3)) == (StepKind(180, 0.1), StepKind(20, 0.3))


@pytest.mark.parametrize(
    "seconds",
    [
        every(0.1),
        every(0.14),
        np.array([0.1] * 198 + [9.0] * 2),
        0.1 + QUANTILES,  # uniform: the best cut explains three quarters
        -0.1 * np.log(1.0 - QUANTILES),
        np.array([0.1, 9.0]),
        np.empty(0),
    ],
)
def test_steps_of_one_kind_are_not_split(seconds: Floats) -> None:
    assert step_kinds(seconds) == ()


def test_the_best_cut_of_a_uniform_distribution_explains_less_than_two_kinds_must() -> None:
    low, high = QUANTILES[:500], QUANTILES[500:]
    between = (high.mean() - low.mean()) ** 2 / 4
    assert between / QUANTILES.var() == pytest.approx(0.75, abs=1e-3)
    assert ALONE > 0.75
