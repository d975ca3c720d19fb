"""How a loss is spread over steps and ranks is told as what it was made as."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

from perfscope.losses.patterns import pattern_of
from perfscope.schema.enums import LossPattern

Floats = npt.NDArray[np.float64]
STEPS = 200
NO_TURNS, TURNS = np.zeros(STEPS), np.ones(STEPS)


def nothing() -> Floats:
    return np.zeros((STEPS, 4))


def static() -> Floats:
    made = nothing()
    made[:, 2] = 1.0
    return made


def serial() -> Floats:
    made = nothing()
    made[:, :2] = 1.0
    return made


def varying() -> Floats:
    made = nothing()
    made[np.arange(STEPS), np.random.default_rng(1).integers(0, 4, STEPS)] = 1.0
    return made


def bursts() -> Floats:
    made = nothing()
    made[::20, 0] = 30.0
    return made


def window() -> Floats:
    made = nothing()
    made[80:140, 1] = 1.0
    return made


def once() -> Floats:
    made = nothing()
    made[17, 3] = 9.0
    return made


MADE = {
    LossPattern.STATIC: static,
    LossPattern.SERIAL: serial,
    LossPattern.VARYING: varying,
    LossPattern.BURSTS: bursts,
    LossPattern.WINDOW: window,
    LossPattern.ONCE: once,
}


def turns_of(pattern: LossPattern) -> Floats:
    return TURNS if pattern is LossPattern.SERIAL else NO_TURNS


@pytest.mark.parametrize("pattern", LossPattern)
def test_each_pattern_is_told_as_itself(pattern: LossPattern) -> None:
    assert pattern_of(MADE[pattern](), turns_of(pattern)) is pattern


@pytest.mark.parametrize("pattern", LossPattern)
def test_a_little_of_everything_else_does_not_hide_it(pattern: LossPattern) -> None:
    made = MADE[pattern]()
    noise = np.random.default_rng(2).exponential(1.0, made.shape)
    noise *= 0.05 * made.sum() / noise.sum()
    assert pattern_of(made + noise, turns_of(pattern)) is pattern


def test_what_the_same_rank_causes_is_serial_where_it_waits_as_well() -> None:
    assert pattern_of(static(), TURNS) is LossPattern.SERIAL
    assert pattern_of(static(), 0.2 * TURNS) is LossPattern.STATIC


def test_nothing_is_told_of_no_loss_or_few_steps() -> None:
    assert pattern_of(nothing(), NO_TURNS) is None
    assert pattern_of(static()[:7], NO_TURNS[:7]) is None
