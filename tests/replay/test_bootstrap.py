"""The interval of a gain: deterministic, honest about chance, not fooled by periods."""

from __future__ import annotations

import numpy as np
import pytest

from perfscope.replay.bootstrap import block_length, gain_interval


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
