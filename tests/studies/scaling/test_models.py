"""Laws of growth: series of known laws must give these laws back."""

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perfscope.schema.scaling import Amdahl
from perfscope.student_t import student_95
from perfscope.studies.common.regression import fit
from perfscope.studies.scaling.models import EXPONENTS, Law, Model, amdahl, model

SIZES = (1, 2, 4, 8, 16, 32)
KNOWN: dict[str, tuple[float, float, Law]] = {
    "a + b/p": (3.0, 20.0, Law(Fraction(-1), 0)),
    "b/p": (0.0, 20.0, Law(Fraction(-1), 0)),
    "a + b log p": (1.0, 0.5, Law(Fraction(0), 1)),
    "a + b log^2 p": (1.0, 0.1, Law(Fraction(0), 2)),
    "a + b sqrt p": (2.0, 0.3, Law(Fraction(1, 2), 0)),
    "a + b p": (1.0, 0.1, Law(Fraction(1), 0)),
    "a + b p log p": (1.0, 0.01, Law(Fraction(1), 1)),
    "a + b p^2": (1.0, 0.1, Law(Fraction(2), 0)),
    "a + b p^-1/2": (1.0, 5.0, Law(Fraction(-1, 2), 0)),
    "constant": (4.0, 0.0, Law(Fraction(0), 0)),
}


def modeled(sizes: list[int] | tuple[int, ...], values: list[float]) -> Model:
    found = model(sizes, values)
    assert isinstance(found, Model), found
    return found


@pytest.mark.parametrize("name", KNOWN)
@pytest.mark.parametrize("sizes", [SIZES, SIZES[1:], (3, 5, 9, 17, 40)])
def test_a_known_law_is_found_with_its_coefficients(name: str, sizes: tuple[int, ...]) -> None:
    constant, slope, law = KNOWN[name]
    found = modeled(sizes, [constant + slope * law.at(p) for p in sizes])
    assert found.law == law
    assert found.constant == pytest.approx(constant, abs=1e-8)
    assert found.slope == pytest.approx(slope, abs=1e-8)
    assert found.cross_validation_error < 1e-9
    for forecast, times in zip(found.forecasts, (2, 4), strict=True):
        assert forecast.size == times * max(sizes)
        assert forecast.value == pytest.approx(constant + slope * law.at(forecast.size))


@pytest.mark.parametrize("name", ["a + b/p", "a + b log p", "a + b p", "constant"])
def test_with_noise_and_repeats_the_law_is_mostly_found_and_the_interval_holds(name: str) -> None:
    """2 % noise, five repeats of six sizes, 20 series; the interval is for 95 % of further runs."""
    constant, slope, law = KNOWN[name]
    random = np.random.default_rng(7)
    sizes = [p for p in SIZES for _ in range(5)]
    right = inside = 0
    for _ in range(20):
        values = [(constant + slope * law.at(p)) * random.normal(1, 0.02) for p in sizes]
        found = modeled(sizes, values)
        right += found.law == law
        forecast = found.forecasts[0]
        assert forecast.interval is not None
        true = constant + slope * law.at(forecast.size)
        inside += forecast.interval[0] <= true <= forecast.interval[1]
    assert right >= 16
    assert inside >= 18


@pytest.mark.parametrize(("serial", "whole"), [(0.1, 10.0), (0.5, 3.0), (0.0, 8.0), (1.0, 2.0)])
@pytest.mark.parametrize("sizes", [(1, 2, 4), (2, 4, 8, 16)])
def test_amdahl(serial: float, whole: float, sizes: tuple[int, ...]) -> None:
    values = [whole * (serial + (1 - serial) * sizes[0] / p) for p in sizes]
    found = amdahl(sizes, values)
    assert isinstance(found, Amdahl)
    assert found.serial_share == pytest.approx(serial, abs=1e-9)
    assert found.most_speedup == (None if serial == 0 else pytest.approx(1 / serial))
    assert found.constant_s + found.parallel_s == pytest.approx(whole)
    assert found.forecasts[0].value == pytest.approx(
        whole * (serial + (1 - serial) * sizes[0] / (2 * sizes[-1]))
    )


def test_the_interval_of_the_serial_share_holds_what_is_true() -> None:
    random = np.random.default_rng(3)
    inside = 0
    for _ in range(200):
        sizes = [1, 1, 2, 2, 4, 4]
        values = [10 * (0.2 + 0.8 / p) * random.normal(1, 0.01) for p in sizes]
        found = amdahl(sizes, values)
        assert isinstance(found, Amdahl)
        assert found.serial_interval is not None
        inside += found.serial_interval[0] <= 0.2 <= found.serial_interval[1]
    assert inside >= 180


@pytest.mark.parametrize("serial", [0.001, 0.003])
def test_a_serial_share_near_zero_is_not_falsely_certain(serial: float) -> None:
    """Half of the fits hold it at zero, where no error was propagated."""
    random, rounds, inside = np.random.default_rng(7), 400, 0
    for _ in range(rounds):
        sizes = [1, 2, 4, 8]
        values = [10 * (serial + (1 - serial) / p) * random.normal(1, 0.02) for p in sizes]
        found = amdahl(sizes, values)
        assert isinstance(found, Amdahl)
        assert found.serial_interval is not None
        low, high = found.serial_interval
        inside += low <= serial <= high
        if found.serial_share == 0 and high > 0:
            assert found.most_speedup is None
            assert found.most_speedup_at_least == pytest.approx(1 / high)
    assert inside / rounds == pytest.approx(0.95, abs=0.03)


def test_a_forecast_with_a_constant_held_at_zero_is_not_falsely_certain() -> None:
    random, inside = np.random.default_rng(11), 0
    for _ in range(200):
        sizes = [1, 2, 4, 8]
        values = [10 * (0.003 + 0.997 / p) * random.normal(1, 0.02) for p in sizes]
        found = fit(sizes, values, lambda p: 1 / p)
        assert found is not None
        interval = found.interval(64)
        assert interval is not None
        inside += interval[0] <= 10 * (0.003 + 0.997 / 64) <= interval[1]
    assert inside >= 184


def test_too_few_sizes_give_the_reason() -> None:
    assert amdahl([1, 2, 2], [4.0, 2.0, 2.1]) == (
        "Amdahl's law needs runs of 3 sizes, and 2 are there"
    )
    assert model([1] * 9, [4.0] * 9) == (
        "a performance model needs runs of 3 sizes, and 1 is there"
    )


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ([23.0, 13.0, 8.0], "3 + 20 p^(-1)"),
        ([3.0, 5.0, 7.0], "3 + 2 log2(p)"),
        ([5.0, 7.0, 11.0], "3 + 2 p"),
        ([4.0, 4.0, 4.0], "4"),
    ],
)
def test_three_sizes_are_enough_for_plain_laws(values: list[float], text: str) -> None:
    """The exact values of a law at 1, 2 and 4, with its interval at the sizes beyond."""
    found = modeled([1, 2, 4], values)
    assert found.text == text
    assert [forecast.size for forecast in found.forecasts] == [8, 16]
    assert all(forecast.interval for forecast in found.forecasts)


def test_of_three_sizes_the_law_that_predicts_best_is_taken_and_the_others_named() -> None:
    found = modeled([1, 2, 4], [2.01, 2.45, 5.53])
    assert found.text.endswith(" p")
    assert found.law not in found.alternatives


def test_an_interval_needs_freedom() -> None:
    found = fit([1, 2, 4], [10.0, 6.0, 4.1], lambda p: 1 / p)
    assert found is not None
    assert found.interval(8) is not None
    none_left = fit([1, 2, 4], [3.0, 2.0, 1.0], lambda p: 1 / p)
    assert none_left is not None
    assert none_left.freedom >= 1
    assert student_95(1) == pytest.approx(12.706, abs=1e-3)
    assert student_95(1000) == pytest.approx(1.962, abs=1e-3)


@pytest.mark.parametrize("value", [0.0, -1.0, math.inf, math.nan])
def test_what_is_no_time_has_no_model(value: float) -> None:
    assert model(SIZES, [1.0, 2.0, 3.0, 4.0, 5.0, value]) == "the values are no positive numbers"
    assert isinstance(amdahl([1, 2, 4], [1.0, 2.0, value]), str)


@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.floats(0.01, 1e4), min_size=5, max_size=9),
    st.lists(st.integers(1, 4096), min_size=9, max_size=9, unique=True),
)
def test_no_forecast_is_below_zero_and_every_one_lies_in_its_interval(
    values: list[float], sizes: list[int]
) -> None:
    used = sizes[: len(values)]
    found = modeled(used, values)
    for forecast in found.forecasts:
        assert forecast.value >= 0
        assert forecast.interval is not None
        low, high = forecast.interval
        assert 0 <= low <= forecast.value * (1 + 1e-9)
        assert forecast.value <= high * (1 + 1e-9)


def test_a_change_of_unit_changes_no_law() -> None:
    values = [3.1, 2.2, 1.4, 1.2, 1.1, 1.05]
    in_s, in_ms = modeled(SIZES, values), modeled(SIZES, [1000 * v for v in values])
    assert in_s.law == in_ms.law
    assert in_ms.slope == pytest.approx(1000 * in_s.slope)


def test_laws_are_written_as_people_write_them() -> None:
    assert Law(Fraction(1, 2), 1).text() == "p^(1/2) log2(p)"
    assert Law(Fraction(-1), 0).text() == "p^(-1)"
    assert Law(Fraction(0), 2).text() == "log2(p)^2"
    assert modeled(SIZES, [3 + 20 / p for p in SIZES]).text == "3 + 20 p^(-1)"
    simplest: Callable[[Law], tuple[float, ...]] = lambda law: law.complexity  # noqa: E731
    assert min((Law(power, 0) for power in EXPONENTS), key=simplest).is_constant
