"""Whether being late lasts, on work whose autocorrelation is known."""

import numpy as np
import pytest

from perfscope.arrays import Floats
from perfscope.replay.persistence import FEWEST_SEGMENTS, persistence

SEGMENTS = 4000


def carried_over(part: float, *, ranks: int = 4, segments: int = SEGMENTS) -> Floats:
    """Work of which each rank carries a part of its deviation over to the next segment."""
    random = np.random.default_rng(11)
    late = np.zeros((segments, ranks))
    for segment in range(1, segments):
        late[segment] = part * late[segment - 1] + random.normal(size=ranks)
    return 100.0 + late


def value_of(work: Floats) -> float:
    """Where all segments are alike, and each is a step."""
    found = persistence(work, np.zeros(len(work), np.int64), len(work))
    assert found is not None
    return found.value


@pytest.mark.parametrize("ranks", [2, 4, 16])
@pytest.mark.parametrize("part", [0.0, 0.3, 0.6, 0.9])
def test_it_is_the_part_that_is_carried_over(part: float, ranks: int) -> None:
    assert value_of(carried_over(part, ranks=ranks)) == pytest.approx(part, abs=0.05)


def test_what_all_ranks_have_in_common_is_not_late() -> None:
    work = carried_over(0.0)
    work += np.linspace(0.0, 1000.0, SEGMENTS)[:, None]
    assert value_of(work) == pytest.approx(0.0, abs=0.05)


def test_a_rank_that_is_always_late_and_a_single_stall_do_not_count() -> None:
    work = carried_over(0.0)
    work[:, 1] += 50.0
    work[700:703, 2] += 1e6
    assert value_of(work) == pytest.approx(0.0, abs=0.05)


@pytest.mark.parametrize("ranks", [2, 16, 24, 64])
def test_one_late_rank_of_many_counts_more_than_the_noise_of_the_others(ranks: int) -> None:
    """The noise lasts; that another rank in each step works a fifth longer does not."""
    work = 100.0 + 0.5 * (carried_over(0.6, ranks=ranks, segments=400) - 100.0)
    work[np.arange(400), np.random.default_rng(5).integers(0, ranks, 400)] += 20.0
    assert value_of(work) == pytest.approx(0.0, abs=0.1)


def test_the_error_is_that_of_independent_steps() -> None:
    """Of 200 runs of 40 independent steps, about 1 in 20 is beyond two errors, to both sides."""
    beyond = 0
    for seed in range(200):
        work = 100.0 + np.random.default_rng(seed).normal(size=(40, 4))
        found = persistence(work, np.zeros(40, np.int64), 40)
        assert found is not None
        beyond += abs(found.value) > 2.0 * found.error
    assert 1 <= beyond <= 25


def test_kinds_of_a_step_are_no_more_steps() -> None:
    work = carried_over(0.0, segments=40)
    one = persistence(work, np.zeros(40, np.int64), 40)
    four = persistence(np.repeat(work, 4, axis=0), np.tile(np.arange(4), 40), 40)
    assert one is not None
    assert four is not None
    assert four.value == pytest.approx(one.value)
    assert four.error == one.error


def test_several_segments_of_a_kind_in_a_step_tell_nothing() -> None:
    """A step that is long by its data makes all its segments long."""
    work = np.repeat(carried_over(0.0), 4, axis=0)
    kinds = np.zeros(len(work), np.int64)
    assert value_of(work) == pytest.approx(0.75, abs=0.05)  # were each a step
    assert persistence(work, kinds, SEGMENTS) is None


def test_only_segments_of_a_kind_are_compared() -> None:
    """Each kind has its own work on each rank."""
    work = carried_over(0.6)
    between = np.repeat(work, 2, axis=0)
    between[1::2] = [300.0, 100.0, 500.0, 200.0]
    kinds = np.tile([0, 1], SEGMENTS)
    found = persistence(between, kinds, SEGMENTS)
    assert found is not None
    assert found.value == pytest.approx(0.6, abs=0.05)


def test_few_segments_and_one_rank_tell_nothing() -> None:
    few = FEWEST_SEGMENTS - 1
    assert persistence(carried_over(0.6, segments=few), np.zeros(few, np.int64), few) is None
    alone = carried_over(0.6, ranks=1)
    assert persistence(alone, np.zeros(SEGMENTS, np.int64), SEGMENTS) is None


def test_where_no_steps_are_known_all_kinds_tell() -> None:
    found = persistence(carried_over(0.6), np.zeros(SEGMENTS, np.int64), 0)
    assert found is not None
    assert found.value == pytest.approx(0.6, abs=0.05)
