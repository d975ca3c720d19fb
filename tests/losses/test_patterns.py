"""How a loss is spread over steps and ranks is told as what it was made as."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perfscope.arrays import Floats
from perfscope.losses.no_cpu import Queue
from perfscope.losses.patterns import OF_MANY_STEPS, is_certain, pattern_of
from perfscope.schema.enums import LossPattern

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


@pytest.mark.parametrize("pattern", MADE)
def test_each_pattern_is_told_as_itself(pattern: LossPattern) -> None:
    assert pattern_of(MADE[pattern](), turns_of(pattern)) is pattern


@pytest.mark.parametrize("pattern", MADE)
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


@settings(max_examples=80, deadline=None)
@given(st.sampled_from(tuple(MADE)), st.integers(2, 9), st.integers(60, 400), st.integers(0, 2**32))
def test_random_losses_are_told_as_they_were_made(
    pattern: LossPattern, ranks: int, steps: int, seed: int
) -> None:
    random = np.random.default_rng(seed)
    made = np.zeros((steps, ranks))
    rank = int(random.integers(ranks))
    turns = np.zeros(steps)
    match pattern:
        case LossPattern.STATIC:
            made[:, rank] = random.uniform(0.5, 1.5, steps)
        case LossPattern.SERIAL:
            made[:] = random.uniform(0.5, 1.5, made.shape)
            turns[:] = random.uniform(0.4, 1.0, steps)
        case LossPattern.VARYING:
            late = (np.arange(steps) + rank) % ranks
            made[np.arange(steps), random.permuted(late)] = random.uniform(0.5, 1.5, steps)
        case LossPattern.BURSTS:
            made[int(random.integers(5)) :: int(random.integers(8, 14)), rank] = 1.0
        case LossPattern.WINDOW:
            length = int(steps * random.uniform(0.1, 0.6))
            begin = int(random.integers(steps - length))
            made[begin : begin + length, rank] = random.uniform(0.5, 1.5, length)
        case _:
            made[int(random.integers(steps)), rank] = 1.0
    assert pattern_of(made, turns) is pattern


def test_late_without_a_cpu_is_told_from_late_with_one() -> None:
    """Rank 1 is late by 10 ms in each step; only where it lacks a CPU meanwhile that is why."""
    late = np.zeros((40, 2))
    late[:, 1] = 10.0
    both, own, none = np.full((10, 2), 40.0), np.zeros((10, 2)), np.zeros((10, 2))
    own[:, 1] = 40.0
    assert Queue(own, 4).least(late) == Queue(own, 4).most(late) == 1.0
    assert Queue(0.25 * own, 4).least(late) == pytest.approx(0.25)
    assert Queue(0.25 * own, 4).most(late) == pytest.approx(0.25)
    assert Queue(both, 4).least(late) == 0.0, "the other one waits as long for a CPU"
    assert Queue(both, 4).most(late) == 1.0, "though it may do so in other steps of the stretch"
    assert Queue(none, 4).most(late) == 0.0
    assert Queue(own[:, ::-1], 4).most(late) == 0.0, "the one that is in time waits for a CPU"


@pytest.mark.parametrize("pattern", [one for one in MADE if one in OF_MANY_STEPS])
def test_what_was_made_as_one_pattern_is_certain(pattern: LossPattern) -> None:
    made = MADE[pattern]()
    assert is_certain(made, turns_of(pattern), pattern) is True
    assert is_certain(made[:15], turns_of(pattern)[:15], pattern) is False, "too few steps"


def test_what_lies_between_two_patterns_is_uncertain() -> None:
    """Rank 0 causes three quarters of it, which is where static ends: in some halves it is less."""
    made = nothing()[:, :2]
    late = np.random.default_rng(4).permutation(np.arange(STEPS) < STEPS // 4)
    made[np.arange(STEPS), late.astype(np.int64)] = 1.0
    assert pattern_of(made, NO_TURNS) is LossPattern.STATIC
    assert is_certain(made, NO_TURNS, LossPattern.STATIC) is False


def test_what_comes_once_is_not_asked() -> None:
    assert is_certain(once(), NO_TURNS, LossPattern.ONCE) is None


@pytest.mark.parametrize("ranks", [2, 8, 64])
def test_what_all_ranks_do_alike_is_even_also_where_chance_moves_it(ranks: int) -> None:
    alike = np.random.default_rng(3).normal(1.0, 0.08, (STEPS, ranks))
    assert pattern_of(alike, NO_TURNS) is LossPattern.EVEN
    assert pattern_of(np.ones_like(alike), NO_TURNS) is LossPattern.EVEN


@pytest.mark.parametrize("ranks", [4, 8, 64])
def test_one_rank_that_has_four_times_as_much_is_not_like_the_others(ranks: int) -> None:
    made = np.random.default_rng(3).normal(1.0, 0.08, (STEPS, ranks))
    made[:, 1] *= 4.0
    assert pattern_of(made, NO_TURNS) is LossPattern.STATIC, "always the same one"
    made = np.ones((STEPS, ranks))
    made[np.arange(STEPS), np.arange(STEPS) % ranks] = 4.0
    assert pattern_of(made, NO_TURNS) is LossPattern.VARYING, "each time another one"


@pytest.mark.parametrize(
    ("least", "always", "by_turns"),
    [
        (0.9, LossPattern.EVEN, LossPattern.EVEN),
        (0.45, LossPattern.STATIC, LossPattern.VARYING),
        (0.2, LossPattern.STATIC, LossPattern.VARYING),
    ],
)
def test_two_ranks_are_alike_as_long_as_one_does_not_much_more(
    least: float, always: LossPattern, by_turns: LossPattern
) -> None:
    assert pattern_of(np.tile([1.0, least], (STEPS, 1)), NO_TURNS) is always
    turns = np.where(np.arange(STEPS)[:, None] % 2 == np.arange(2), 1.0, least)
    assert pattern_of(turns, NO_TURNS) is by_turns
