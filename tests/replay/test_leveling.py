"""Leveled work against runs in which the fix was really made, with step times that vary.

Both runs of a pair draw the same chances: the truth is the run without the planted fault.
"""

import numpy as np
import pytest

from perfscope import arrays
from perfscope.arrays import Floats
from perfscope.replay.kinds import segment_kinds
from perfscope.replay.leveling import (
    NORMAL_QUARTILES,
    ROUNDING,
    SPREAD_FROM_QUARTILE,
    leveled,
    ordinary_bounds,
)
from perfscope.replay.model import Level

STEPS = 80
WORK_S, EXTRA_S = 0.1, 0.06
REPEATS = 30


def chances(random: np.random.Generator, ranks: int, noise: str) -> Floats:
    """Work of a healthy run by step and rank, in seconds."""
    spread = {"none": 0.0, "little": 0.05}.get(noise, 0.2)
    work = WORK_S * np.exp(spread * random.standard_normal((STEPS, ranks)))
    if noise == "heavy":
        work += WORK_S * (random.random(work.shape) < 0.02) * random.pareto(2.5, work.shape)
    return work


def length(work: Floats) -> float:
    return float(work.max(axis=1).sum())


def predicted_over_true(ranks: int, noise: str, *, factor: bool, level: Level) -> float:
    """Predicted gain over the true one when rank 1 is slow, mean over repeats."""
    random = np.random.default_rng(20261120)
    ratios = []
    for _ in range(REPEATS):
        healthy = chances(random, ranks, noise)
        slow = healthy.copy()
        slow[:, 1] = slow[:, 1] * (1 + EXTRA_S / WORK_S) if factor else slow[:, 1] + EXTRA_S
        columns = np.arange(ranks) == 1 if level is Level.AS_OTHERS else np.ones(ranks, np.bool_)
        after = leveled(slow, level=level, columns=columns, kinds=np.zeros(STEPS, np.int64))
        if level is Level.EVEN:
            healthy = healthy + EXTRA_S / ranks
        ratios.append((length(slow) - length(after)) / (length(slow) - length(healthy)))
    return float(np.mean(ratios))


@pytest.mark.parametrize("factor", [False, True])
@pytest.mark.parametrize("noise", ["none", "little", "lognormal", "heavy"])
@pytest.mark.parametrize("ranks", [2, 3, 4, 8])
def test_a_slow_rank_made_as_fast_as_the_others(ranks: int, noise: str, *, factor: bool) -> None:
    ratio = predicted_over_true(ranks, noise, factor=factor, level=Level.AS_OTHERS)
    assert ratio == pytest.approx(1.0, abs=0.05 if noise == "heavy" else 0.025)


@pytest.mark.parametrize("noise", ["none", "little", "lognormal"])
@pytest.mark.parametrize("ranks", [2, 4, 8])
def test_work_dealt_out_evenly(ranks: int, noise: str) -> None:
    ratio = predicted_over_true(ranks, noise, factor=False, level=Level.EVEN)
    assert ratio == pytest.approx(1.0, abs=0.05)


@pytest.mark.parametrize("ranks", [2, 3, 4, 8])
def test_another_late_rank_each_step(ranks: int) -> None:
    random = np.random.default_rng(1)
    healthy = chances(random, ranks, "little")
    late = healthy.copy()
    late[np.arange(STEPS), random.integers(ranks, size=STEPS)] += EXTRA_S
    every = np.ones(ranks, np.bool_)
    after = leveled(late, level=Level.USUAL, columns=every, kinds=np.zeros(STEPS, np.int64))
    gain, truth = length(late) - length(after), length(late) - length(healthy)
    assert gain == pytest.approx(truth, rel=0.12)


@pytest.mark.parametrize("ranks", [2, 4])
def test_steps_that_grow_on_all_ranks_make_nobody_late(ranks: int) -> None:
    """From the last third on all work five times as long: others wait for what differs alone."""
    random = np.random.default_rng(4)
    work = chances(random, ranks, "little")
    work[2 * STEPS // 3 :] *= 5.0
    every, kinds = np.ones(ranks, np.bool_), np.zeros(STEPS, np.int64)
    after = leveled(work, level=Level.USUAL, columns=every, kinds=kinds)
    waited = (work.max(axis=1, keepdims=True) - work).sum()
    assert length(work) - length(after) <= waited
    assert length(after) >= work.min(axis=1).sum()


@pytest.mark.parametrize("ranks", [2, 4, 8])
@pytest.mark.parametrize("level", [Level.EVEN, Level.USUAL])
def test_chance_alone_gives_nothing_back(ranks: int, level: Level) -> None:
    random = np.random.default_rng(2)
    every, kinds = np.ones(ranks, np.bool_), np.zeros(STEPS, np.int64)
    shares = []
    for _ in range(REPEATS):
        work = chances(random, ranks, "lognormal")
        after = leveled(work, level=level, columns=every, kinds=kinds)
        shares.append(1 - length(after) / length(work))
    assert np.mean(shares) < 0.01


def test_parts_of_a_step_are_compared_with_like_parts() -> None:
    """Rank 1 is slow in its first part, so much that this takes longer than the second one."""
    random = np.random.default_rng(3)
    parts = np.tile([[0.08], [0.16], [0.01]], (STEPS, 1))
    healthy = parts * np.exp(0.03 * random.standard_normal((3 * STEPS, 2)))
    slow = healthy.copy()
    slow[::3, 1] += 0.12
    columns = np.array([False, True])
    truth = length(slow) - length(healthy)
    place = np.tile(np.arange(3), STEPS)
    for kinds in (place, np.zeros_like(place)):  # whether steps are known or not
        after = leveled(slow, level=Level.AS_OTHERS, columns=columns, kinds=kinds)
        assert length(slow) - length(after) == pytest.approx(truth, rel=0.02)


def test_kinds_are_collectives_and_places_in_the_step() -> None:
    collectives = np.array([-1, 5, 5, 6, 5, 5, 6, -2])
    enter = np.array([0, 10, 20, 30, 40, 50, 60, 70])
    with_steps = segment_kinds(collectives, enter, np.array([5, 35])).tolist()
    assert with_steps[1:3] == with_steps[4:6]
    assert len(set(with_steps)) == 5
    without = segment_kinds(collectives, enter, np.array([], np.int64)).tolist()
    assert without[1] == without[4]
    assert without[2] == without[5]


@pytest.mark.parametrize(
    ("work", "after"),
    [
        ([[4.0, 1.0]], [[1.0, 1.0]]),  # of two the faster
        ([[4.0, 1.0, 2.0]], [[2.0, 1.0, 2.0]]),
        ([[9.0, 1.0, 2.0, 3.0], [1.0, 1.0, 1.0, 1.0]], [[2.0, 1.0, 2.0, 2.0], [1.0] * 4]),
    ],
)
def test_nobody_works_longer_than_the_usual_rank(work: list[list[float]], after: Floats) -> None:
    table = np.array(work)
    every = np.ones(table.shape[1], np.bool_)
    kinds = np.zeros(len(table), np.int64)
    assert leveled(table, level=Level.MEDIAN, columns=every, kinds=kinds).tolist() == after


@pytest.mark.filterwarnings("error")
def test_constant_work_is_not_beyond_itself() -> None:
    """exp(log(x)) is less than x for this value of the work."""
    work = np.full((100, 4), 0.25e9)
    assert np.exp(np.log(work[0, 0])) < work[0, 0]
    every = np.ones(4, dtype=bool)
    found = leveled(work, level=Level.USUAL, columns=every, kinds=np.zeros(100, int))
    np.testing.assert_array_equal(found, work)


def plain_bound(work: Floats) -> float:
    """Of one rank; what takes no time says nothing."""
    positive = np.log(work[work > 0])
    if not len(positive):
        return 0.0
    low, quartile = np.quantile(positive, (0.05, 0.25))
    bound = np.exp(quartile + SPREAD_FROM_QUARTILE * (quartile - low) / NORMAL_QUARTILES)
    return float(bound * (1.0 + ROUNDING))


def test_bounds_of_all_ranks_are_those_of_each_alone() -> None:
    random = np.random.default_rng(9)
    for idle in (0.0, 0.1, 0.5, 1.0):
        work = np.exp(random.normal(8.0, 3.0, (65, 40)))
        work[random.random(work.shape) < idle] = 0.0
        work[:, :3] = np.array([0.0, 1.0, 0.25e9])
        found = ordinary_bounds(work, np.arange(65), np.array([0, 65]))
        of_all = plain_bound(work.ravel())
        assert found.tolist() == [[max(plain_bound(one), of_all) for one in work.T]]


def test_where_half_of_the_ranks_are_late_the_usual_one_is_not() -> None:
    work = np.array([[1.0, 13.0, 1.0, 13.0]])
    every = np.ones(4, dtype=bool)
    found = leveled(work, level=Level.MEDIAN, columns=every, kinds=np.zeros(1, int))
    np.testing.assert_array_equal(found, np.ones((1, 4)))


def test_ranks_that_take_turns_are_not_late() -> None:
    """In every second segment one rank works, in the others the other one: that is no excess."""
    random = np.random.default_rng(7)
    work = np.full((2 * STEPS, 2), 1e-5)
    work[::2, 0] = 0.02 * random.lognormal(0.0, 0.3, STEPS)
    work[1::2, 1] = 0.02 * random.lognormal(0.0, 0.3, STEPS)
    every, places = np.ones(2, np.bool_), np.arange(2 * STEPS) % 2
    found = leveled(work, level=Level.USUAL, columns=every, kinds=places)
    assert found.sum() == pytest.approx(work.sum(), rel=0.05)


def test_long_and_short_parts_in_no_order_are_not_compared() -> None:
    """Every third stretch between collectives is long, on all ranks, and steps are not known."""
    random = np.random.default_rng(8)
    work = np.where(np.arange(3 * STEPS) % 3, 1e-4, 0.02)[:, None]
    work = work * random.lognormal(0.0, 0.05, (3 * STEPS, 2))
    every, kinds = np.ones(2, np.bool_), np.zeros(3 * STEPS, np.int64)
    found = leveled(work, level=Level.USUAL, columns=every, kinds=kinds)
    assert found.sum() == pytest.approx(work.sum(), rel=0.01)
    late = work.copy()
    late[np.arange(0, 3 * STEPS, 12), 1] *= 3.0
    found = leveled(late, level=Level.USUAL, columns=every, kinds=kinds)
    assert found.sum() == pytest.approx(work.sum(), rel=0.01)


@pytest.mark.parametrize("few", [1, 1 << 16])
def test_segments_of_a_kind_stand_in_their_order(few: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arrays, "MOST_FEW", few)
    kinds = np.random.default_rng(5).integers(0, 7, 200)
    found = arrays.rows_by(kinds)
    expected = [np.flatnonzero(kinds == kind).tolist() for kind in np.unique(kinds)]
    assert [rows.tolist() for rows in found] == expected
    assert arrays.rows_by(kinds[:0]) == []
