"""Where events repeat themselves: the odd cases that no program of the other tests has."""

import numpy as np
import pytest

from perfscope.attribution.cycles import MOST_EVENTS, heaviest_marks, marks


def test_of_many_events_the_ones_looked_at_may_be_all_alike() -> None:
    """No likeness is beyond that of chance then, and nothing is divided by what is left of it."""
    token = np.full(MOST_EVENTS + 100, 2)
    token[0] = 1
    found = marks(token, np.ones(len(token), np.int64))
    assert np.array_equal(found, np.arange(1, len(token)))


@pytest.mark.parametrize("loop", [[0], [0, 1], [0, 0, 1]])
@pytest.mark.parametrize(("before", "after"), [((), (7,)), ((8,), ()), ((8, 9), (7, 7))])
def test_what_comes_once_before_or_after_the_loop_hides_no_period(
    loop: list[int], before: tuple[int, ...], after: tuple[int, ...]
) -> None:
    """A pipeline's stage sends 3,000 times, and meets the others in a barrier at the end."""
    token = np.array([*before, *loop * 1000, *after])
    work = np.ones(len(token), np.int64)
    alone = marks(np.array(loop * 1000), np.ones(len(loop) * 1000, np.int64))
    assert marks(token, work).tolist() == (alone + len(before)).tolist()
    assert len(alone) == 1000


@pytest.mark.parametrize("last", [1, 80, 99])
def test_steps_after_the_last_of_what_comes_every_hundred_steps_count(last: int) -> None:
    """Gradients of each step; a sum of losses every 100 steps, and the run ends in between."""
    gradients, losses = 0, 1
    token = np.array([*([gradients] * 100 + [losses]) * 8, *[gradients] * last])
    sent = np.where(token == gradients, 1 << 20, 16)
    work = np.where(token == gradients, 10_000_000, 0)
    assert np.array_equal(heaviest_marks(token, sent, work), np.flatnonzero(token == gradients))


def test_what_comes_in_some_turns_only_is_no_step() -> None:
    """Replicas send energies in each of 400 sweeps, and spins as well in those that swap."""
    sweeps = 400
    swaps = np.random.default_rng(5).random(sweeps) < 0.5
    token = np.concatenate([[0, 1, 2, 3] if swap else [0, 1] for swap in swaps])
    work = np.zeros(len(token), np.int64)
    first = np.flatnonzero(token == 0)
    work[first] = 17
    work[np.flatnonzero(token == 2)] = 10  # it waits for the first exchange, in sleeps
    work[first[1:]] += np.where(swaps[:-1], 0, 10)
    found = marks(token, work)
    assert len(found) == sweeps
    assert np.all(np.isin(token[found], (0, 1)))


@pytest.mark.parametrize(("inside", "count"), [(1, 300), (40, 600)])
def test_equal_calls_in_a_row_are_steps_by_their_part_of_the_work(inside: int, count: int) -> None:
    """Gradients of four layers, of which two are equal, after the work of a step; or two steps."""
    token, sent = np.array([0, 1, 1, 2] * 300), np.array([3, 8, 8, 1] * 300)
    work = np.array([100, inside, inside, inside] * 300)
    assert len(heaviest_marks(token, sent, work)) == count


@pytest.mark.parametrize("inside_ns", [0, 400])
@pytest.mark.parametrize("sizes", [(9, 4), (9, 4, 2), (9, 9, 4)])
def test_layers_that_mirror_each_other_are_exchanged_in_one_step(
    sizes: tuple[int, ...], inside_ns: int
) -> None:
    """Also where each gradient is exchanged while the next one is computed."""
    step = (*sizes, *reversed(sizes))
    token = np.array(step * 40)
    work = np.where(np.arange(len(token)) % len(step) == 0, 1000, inside_ns)
    found = heaviest_marks(token, 1000 * token, work)
    assert found.tolist() == list(range(len(step) - 1, len(token), len(step)))


def test_equal_exchanges_without_work_between_them_are_of_one_step() -> None:
    token, places = np.full(120, 7), np.arange(120)
    work = np.where(places % 3 == 0, 1000, 2)
    assert heaviest_marks(token, token, work).tolist() == list(range(2, 120, 3))
    assert len(heaviest_marks(token, token, np.full(120, 1000))) == 120


def test_pairs_of_figures_after_every_second_step_make_it_no_half() -> None:
    token = np.array([1, 1, 0, 0] * 40)
    sent = np.where(token == 1, 1_000_000, 16)
    work = np.where(token == 1, 1000, 300)
    assert len(heaviest_marks(token, sent, work)) == 80
