"""Ranks that are late in turn are told from ranks that are late by chance, by one or by all."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perfscope.arrays import Floats
from perfscope.losses.patterns import in_turn


def noise(random: np.random.Generator, shape: tuple[int, int]) -> Floats:
    """What a busy machine does: long for a while, now to this rank and now to that one."""
    stretches = random.exponential(1.0, (shape[0] // 10 + 1, shape[1])).repeat(10, axis=0)
    return random.exponential(1.0, shape) * stretches[: shape[0]]


@settings(max_examples=60, deadline=None)
@given(st.integers(2, 20), st.integers(2, 5), st.integers(0, 2**32))
def test_turns_are_found_in_noise_whatever_their_period(every: int, ranks: int, seed: int) -> None:
    random = np.random.default_rng(seed)
    made = 0.3 * noise(random, (40 * every, ranks))
    places = random.permutation(every)
    for rank in range(min(ranks, every)):
        made[places[rank] :: every, rank] += 6.0 * ranks
    assert in_turn(made) >= 0.5


@settings(max_examples=60, deadline=None)
@given(st.integers(16, 800), st.integers(1, 6), st.integers(0, 2**32))
def test_chance_is_not(steps: int, ranks: int, seed: int) -> None:
    assert in_turn(noise(np.random.default_rng(seed), (steps, ranks))) == 0.0


@pytest.mark.parametrize("late", [(1,), (0, 1)])
def test_what_one_rank_or_all_do_every_tenth_step_is_not(late: tuple[int, ...]) -> None:
    made = 0.1 * noise(np.random.default_rng(3), (400, 2))
    for rank in late:
        made[5::10, rank] += 5.0
    assert in_turn(made) == 0.0


def test_nothing_lost_is_no_turn() -> None:
    assert in_turn(np.zeros((100, 2))) == 0.0


def test_turns_of_many_ranks_are_found() -> None:
    """Two of 100 ranks in each step of a period of 50."""
    made = 0.3 * noise(np.random.default_rng(4), (800, 100))
    for rank in range(100):
        made[rank // 2 :: 50, rank] += 60.0
    assert in_turn(made) == 0.0, "no step is one rank's own"
    made[:, 50:] = 0.0
    for rank in range(50):
        made[:, rank] = 0.0
        made[rank::50, rank] = 1.0
    assert in_turn(made) >= 0.5
