"""Statistics of few runs against published tables, enumeration, and simulated noise."""

import math
from itertools import combinations

import numpy as np
import pytest

from benchmarks.compare.noise import QUIET, run_values
from perfscope.student_t import student_quantile, student_two_sided
from perfscope.studies.common import statistics
from perfscope.studies.common.statistics import (
    Method,
    block_medians,
    compare_runs,
    effective_count,
    holm,
    rank_test,
)


@pytest.mark.parametrize(
    ("degrees", "quantile"),
    [(1, 12.7062), (2, 4.30265), (4, 2.77645), (8, 2.30600), (30, 2.04227), (1000, 1.96234)],
)
def test_students_quantiles_are_those_of_the_tables(degrees: int, quantile: float) -> None:
    assert student_quantile(0.975, degrees) == pytest.approx(quantile, rel=1e-5)
    assert student_two_sided(quantile, degrees) == pytest.approx(0.05, rel=1e-4)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ([1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]),
        ([1.0, 5.0, 3.0], [2.0, 6.0, 4.0, 7.0]),
        ([1.0, 2.0, 2.0], [2.0, 3.0, 3.0, 1.0]),
        ([1.0, 1.0], [1.0, 1.0]),
    ],
)
def test_the_rank_test_counts_every_arrangement(a: list[float], b: list[float]) -> None:
    every = np.array(a + b)
    ranks = np.array([(every < v).sum() + ((every == v).sum() + 1) / 2 for v in every])
    center = len(a) * (len(every) + 1) / 2
    observed = abs(ranks[: len(a)].sum() - center)
    distances = [
        abs(ranks[list(chosen)].sum() - center)
        for chosen in combinations(range(len(every)), len(a))
    ]
    expected = np.mean([d >= observed - 1e-9 for d in distances])
    assert rank_test(a, b) == pytest.approx(expected)


def test_many_values_use_the_normal_distribution(monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(3)
    a, b = np.exp(random.normal(size=25)), np.exp(random.normal(0.6, size=30))
    exact = compare_runs(a.tolist(), b.tolist())
    monkeypatch.setattr(statistics, "MOST_EXACT", 10)
    normal = compare_runs(a.tolist(), b.tolist())
    assert normal.p == pytest.approx(exact.p, abs=0.001)
    assert normal.interval == pytest.approx(exact.interval, rel=0.02)


def test_five_against_five_gives_the_tabulated_interval() -> None:
    """For 5 and 5 values the 95 % interval of the shift ends at the third differences."""
    before, after = [100.0, 101.0, 103.0, 106.0, 110.0], [150.0, 152.0, 155.0, 159.0, 164.0]
    found = compare_runs(before, after)
    ratios = sorted(b / a for a in before for b in after)
    assert found.method is Method.RANKS
    assert found.p == pytest.approx(2 / 252)
    assert found.ratio == pytest.approx(ratios[12])
    assert found.interval == pytest.approx((ratios[2], ratios[22]))


def test_three_against_three_is_answered_by_students_t_of_logarithms() -> None:
    before, after = [1.0, math.e**0.1, math.e**0.2], [math.e, math.e**1.1, math.e**1.2]
    found = compare_runs(before, after)
    error = 0.1 * math.sqrt(2 / 3)
    half = 2.77645 * error
    assert found.method is Method.STUDENT
    assert found.ratio == pytest.approx(math.e)
    assert found.interval == pytest.approx((math.exp(1 - half), math.exp(1 + half)), rel=1e-4)
    assert found.p == pytest.approx(student_two_sided(1 / error, 4))


@pytest.mark.parametrize(
    ("before", "after", "reason"),
    [
        ([1.0], [2.0], "single run"),
        ([1.0, 1.1, 1.2, 1.3], [2.0], "single run"),
        ([1.0, 1.0], [2.0, 2.0], "do not differ at all"),
        ([], [2.0, 2.1], "no run with a value"),
        ([None, float("nan"), 0.0, -1.0], [2.0, 2.1], "no run with a value"),
    ],
)
def test_what_cannot_be_told_has_a_reason(
    before: list[float | None], after: list[float | None], reason: str
) -> None:
    found = compare_runs(before, after)
    assert found.p is None
    assert found.interval is None
    assert reason in found.reason
    assert not found.is_significant


def test_swapping_the_sides_turns_the_ratio_round() -> None:
    before, after = [1.0, 1.2, 1.1, 1.3, 1.25], [1.15, 1.4, 1.35, 1.6, 1.22]
    there, back = compare_runs(before, after), compare_runs(after, before)
    assert there.ratio is not None
    assert back.ratio is not None
    assert there.interval is not None
    assert back.interval is not None
    assert back.ratio == pytest.approx(1 / there.ratio)
    assert back.interval == pytest.approx(tuple(1 / v for v in reversed(there.interval)))
    assert back.p == there.p


def test_holm_gives_the_published_correction() -> None:
    assert holm([0.01, 0.04, None, 0.03]) == [pytest.approx(0.03), 0.06, None, 0.06]
    assert holm([]) == []


@pytest.mark.parametrize("correlation", [0.0, 0.5, 0.8])
def test_autocorrelated_steps_count_as_fewer(correlation: float) -> None:
    """An AR(1) series of coefficient c counts as n (1 - c) / (1 + c) independent values."""
    random = np.random.default_rng(5)
    count = 20_000
    noise = random.normal(size=count)
    series = np.empty(count)
    series[0] = noise[0]
    for n in range(1, count):
        series[n] = correlation * series[n - 1] + noise[n]
    expected = count * (1 - correlation) / (1 + correlation)
    assert effective_count(series.tolist()) == pytest.approx(expected, rel=0.2)


def test_the_interval_of_correlated_steps_is_wider_than_that_of_shuffled_ones() -> None:
    random = np.random.default_rng(7)
    series = np.cumsum(random.normal(size=400)) * 0.01 + 10
    shuffled = random.permutation(series)
    correlated, independent = (
        np.quantile(block_medians(one.tolist()), (0.025, 0.975)) for one in (series, shuffled)
    )
    assert correlated[1] - correlated[0] > 2 * (independent[1] - independent[0])


@pytest.mark.parametrize("repeats", [(2, 2), (3, 3), (2, 5), (5, 5)])
def test_at_most_one_in_twenty_equal_pairs_is_called_different(repeats: tuple[int, int]) -> None:
    random = np.random.default_rng(11)
    called = 0
    for _ in range(200):
        before = run_values(random, repeats[0], QUIET)
        difference = compare_runs(before, run_values(random, repeats[1], QUIET))
        assert difference.ratio is not None
        called += difference.is_significant and not 1 / 1.02 < difference.ratio < 1.02
    assert called <= 10


def test_a_slow_down_of_a_twentieth_is_found_nine_times_in_ten_with_five_repeats() -> None:
    random = np.random.default_rng(12)
    pairs = 200
    found = 0
    for _ in range(pairs):
        before = run_values(random, 5, QUIET)
        difference = compare_runs(before, run_values(random, 5, QUIET, slower=1.05))
        assert difference.ratio is not None
        found += difference.is_significant and difference.ratio >= 1.02
    assert found >= 0.9 * pairs


def test_one_run_against_many_is_not_judged() -> None:
    many = [1.0 + 0.001 * n for n in range(39)]
    found = compare_runs([2.0], many)
    assert found.p is None
    assert "single run" in found.reason
