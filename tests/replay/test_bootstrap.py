"""The interval of a gain: deterministic, honest about chance, not fooled by periods."""

import math

import numpy as np
import pytest

from perfscope.replay.bootstrap import block_length, gain_interval
from perfscope.replay.kinds import segment_steps


def test_same_gains_give_the_same_interval() -> None:
    gains = np.random.default_rng(1).normal(1.0, 0.5, 500)
    assert gain_interval(gains) == gain_interval(gains.copy())


def test_interval_covers_the_sum_of_independent_gains() -> None:
    random = np.random.default_rng(2)
    covered = 0
    for _ in range(40):
        interval = gain_interval(random.normal(1.0, 0.5, 400))
        assert interval is not None
        covered += interval[0] <= 400.0 <= interval[1]
    assert covered >= 33


def test_interval_covers_the_sum_where_a_step_has_many_segments() -> None:
    """50 segments share the luck of their step; several of them are large, at odd distances."""
    random = np.random.default_rng(5)
    shape = np.ones(50)
    shape[[3, 10, 24, 41]] = 20.0
    steps = np.repeat(np.arange(60), 50)
    covered = narrow = 0
    for _ in range(40):
        gains = (random.normal(1.0, 0.5, (60, 1)) * shape).ravel()
        whole, cut = gain_interval(gains, steps), gain_interval(gains)
        assert whole is not None
        assert cut is not None
        covered += whole[0] <= 60 * shape.sum() <= whole[1]
        narrow += cut[0] <= 60 * shape.sum() <= cut[1]
    assert covered >= 33
    assert narrow < covered


def test_few_steps_give_no_interval_however_many_segments_they_have() -> None:
    gains, steps = np.ones(350), np.repeat(np.arange(7), 50)
    assert gain_interval(gains, steps) is None
    assert gain_interval(gains) is not None


def test_width_follows_the_noise() -> None:
    interval = gain_interval(np.random.default_rng(3).normal(1.0, 0.5, 400))
    assert interval is not None
    # 2 x 1.96 x 0.5 x sqrt(400)
    assert interval[1] - interval[0] == pytest.approx(39.2, rel=0.25)


def test_a_strict_period_is_no_chance() -> None:
    gains = np.zeros(200)
    gains[19::20] = 4.0
    assert block_length(gains) % 20 == 0
    assert gain_interval(gains) == pytest.approx((40.0, 40.0))


def test_too_few_segments_give_no_interval() -> None:
    assert gain_interval(np.ones(7)) is None


def test_nothing_gained_is_certain() -> None:
    assert gain_interval(np.zeros(100)) == (0.0, 0.0)


def test_long_runs_are_thinned() -> None:
    interval = gain_interval(np.ones(1_000_000))
    assert interval == pytest.approx((1e6, 1e6), rel=1e-3)


def test_segments_belong_to_the_step_in_which_they_end() -> None:
    """Steps begin at 10, 20 and 30; cuts at 5, 12, 18, 25 and 31, the run ends at 40."""
    enter, starts = np.array([0, 5, 12, 18, 25, 31, 40]), np.array([10, 20, 30])
    found = segment_steps(enter, starts)
    assert found is not None
    assert found.tolist() == [0, 1, 1, 2, 3, 4]
    assert segment_steps(enter, np.empty(0, np.int64)) is None


def test_what_a_program_does_on_schedule_is_as_often_in_every_run() -> None:
    gains = np.zeros(64)
    gains[[20, 40]] = 1.0, 1.5
    low, high = gain_interval(gains) or (math.nan, math.nan)
    assert low == 0.0
    assert high > 4.0
    assert gain_interval(gains, scheduled=True) == (2.0, 3.0)


def test_what_came_once_on_schedule_has_no_interval() -> None:
    gains = np.zeros(64)
    gains[20] = 1.0
    assert gain_interval(gains, scheduled=True) is None


def test_a_schedule_that_is_not_rare_is_drawn_like_all_else() -> None:
    gains = np.tile([1.0, 1.1, 0.9, 1.05], 8)
    assert gain_interval(gains, scheduled=True) == gain_interval(gains)


def test_the_gain_itself_is_in_its_interval() -> None:
    """Equal gains, so that each block holds one: 403 steps are no multiple of the 67 of a block."""
    gains = np.zeros(403)
    gains[20::67] = 0.1
    low, high = gain_interval(gains) or (math.nan, math.nan)
    assert low <= gains.sum() <= high
