"""Change points of series whose changes are known, and of noise that has none."""

import numpy as np
import pytest

from perfscope.studies.history.change_points import change_points, least_points


def noise(random: np.random.Generator, count: int, spread: float) -> np.ndarray:
    return np.exp(spread * random.standard_t(3, count))


def test_pure_noise_has_no_change() -> None:
    """At a level of 1 %, 200 series of heavy-tailed noise give few false alarms."""
    random = np.random.default_rng(1)
    lengths = random.integers(1, 60, 200)
    false = sum(bool(change_points(noise(random, int(n), 0.02).tolist())) for n in lengths)
    assert false <= 6


@pytest.mark.parametrize("levels", [(1.0, 1.1), (1.0, 1.1, 1.0), (1.0, 0.8, 0.9, 1.2)])
def test_steps_are_found_where_they_are(levels: tuple[float, ...]) -> None:
    random = np.random.default_rng(2)
    series = np.concatenate([level * noise(random, 20, 0.005) for level in levels])
    found = change_points(series.tolist())
    assert [change.at for change in found] == [20 * n for n in range(1, len(levels))]
    for change, before, after in zip(found, levels, levels[1:], strict=False):
        assert change.before == pytest.approx(before, rel=0.01)
        assert change.after == pytest.approx(after, rel=0.01)
        assert change.ratio == pytest.approx(after / before, rel=0.02)
        assert change.p <= 0.01


def test_one_odd_run_is_no_change() -> None:
    series = [1.0 + 0.001 * (n % 7) for n in range(40)]
    series[20] = 50.0
    assert change_points(series) == ()


def test_a_change_below_the_factor_is_none_and_its_levels_are_joined() -> None:
    random = np.random.default_rng(3)
    series = np.concatenate([level * noise(random, 20, 0.001) for level in (1.0, 1.01, 1.2)])
    assert [c.at for c in change_points(series.tolist())] == [20, 40]
    [change] = change_points(series.tolist(), factor=1.02)
    assert change.at == 40
    assert change.before == pytest.approx(1.005, rel=0.01)


@pytest.mark.parametrize("values", [[], [1.0], [1.0] * 30, [1.0, 2.0] * 4])
def test_series_in_which_nothing_can_be_found(values: list[float]) -> None:
    assert change_points(values, factor=1.02) == ()


def test_the_fewest_points_are_those_that_can_reach_the_level() -> None:
    fewest = least_points()
    step = [1.0 + 0.001 * n for n in range(fewest // 2)] + [2.0 + 0.001 * n for n in range(5)]
    assert len(change_points(step)) == 1
    assert change_points(step[1:-1]) == ()


def test_the_same_series_gives_the_same_answer() -> None:
    series = noise(np.random.default_rng(4), 50, 0.02).tolist()
    assert change_points(series) == change_points(series)
