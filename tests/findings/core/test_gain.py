"""Intervals of gains whose edits were made by what samples show."""

import pytest

from perfscope.findings.core.finding import Gain
from perfscope.findings.core.gain import with_error
from perfscope.schema.enums import Basis


@pytest.mark.parametrize(
    ("interval", "wider"), [((8.0, 12.0), (6.0, 15.0)), ((-4.0, 12.0), (-5.0, 15.0))]
)
def test_an_error_makes_an_interval_wider_on_both_sides(
    interval: tuple[float, float], wider: tuple[float, float]
) -> None:
    gain = Gain(10.0, 0.1, basis=Basis.REPLAY, interval_s=interval)
    assert with_error(gain, 0.25).interval_s == wider


def test_what_few_samples_tell_is_no_less_than_nothing() -> None:
    gain = Gain(10.0, 0.1, basis=Basis.REPLAY, interval_s=(8.0, 12.0))
    assert with_error(gain, 1.5).interval_s == (0.0, 30.0)


def test_a_bound_has_no_error() -> None:
    bound = Gain(10.0, 0.1, basis=Basis.UPPER_BOUND, interval_s=(8.0, 12.0))
    assert with_error(bound, 0.25) is bound
