"""Which calls end the steps: loops in loops, rare calls, groups without work, calls by lot."""

import random
from collections.abc import Sequence

import numpy as np
import pytest

from perfscope.attribution.nesting import MOST_EVENTS
from perfscope.attribution.repeated_calls import Calls, step_marks

ARRAY, FIGURE = 1 << 20, 8


def calls(
    tokens: Sequence[int],
    *,
    work: Sequence[int] | int = 1000,
    sizes: Sequence[int] | int = FIGURE,
    loops: int = -1,
) -> Calls:
    """Reductions that all ranks make together, of so many bytes."""
    token = np.array(tokens, np.int64)
    moved, before = (np.zeros(len(token), np.int64) + one for one in (sizes, work))
    depth = np.full(int(token.max()) + 1, loops)
    return Calls(token, moved, moved, before, np.ones(len(token), np.bool_), depth)


def steps(
    tokens: Sequence[int],
    *,
    work: Sequence[int] | int = 1000,
    sizes: Sequence[int] | int = FIGURE,
    loops: int = -1,
) -> int:
    return len(step_marks(calls(tokens, work=work, sizes=sizes, loops=loops)))


def test_of_many_calls_the_ones_looked_at_may_be_all_alike() -> None:
    """No likeness is beyond that of chance then, and nothing is divided by what is left of it."""
    tokens = [1, *[2] * (MOST_EVENTS + 100)]
    assert np.array_equal(step_marks(calls(tokens)), np.arange(1, len(tokens)))


@pytest.mark.parametrize("loop", [[0], [0, 1], [0, 0, 1]])
@pytest.mark.parametrize(("before", "after"), [((), (7,)), ((8,), ()), ((8, 9), (7, 7))])
def test_what_comes_once_before_or_after_the_loop_hides_no_period(
    loop: list[int], before: tuple[int, ...], after: tuple[int, ...]
) -> None:
    """A pipeline's stage sends 3,000 times, and meets the others in a barrier at the end."""
    alone = step_marks(calls(loop * 1000))
    assert len(alone) == 1000
    found = step_marks(calls([*before, *loop * 1000, *after]))
    assert found.tolist() == (alone + len(before)).tolist()


@pytest.mark.parametrize("last", [1, 80, 99])
def test_steps_after_the_last_of_what_comes_every_hundred_steps_count(last: int) -> None:
    """Gradients of each step; a sum of losses every 100 steps, and the run ends in between."""
    gradients, losses = 0, 1
    tokens = [*([gradients] * 100 + [losses]) * 8, *[gradients] * last]
    sizes = [ARRAY if token == gradients else 16 for token in tokens]
    found = step_marks(calls(tokens, sizes=sizes))
    assert np.array_equal(found, np.flatnonzero(np.array(tokens) == gradients))


def test_what_comes_in_some_turns_only_is_no_step() -> None:
    """Replicas send energies in each of 400 sweeps, and spins as well in those that swap."""
    draw = random.Random(5)
    tokens = [one for _ in range(400) for one in ([0, 1, 2, 3] if draw.random() < 0.5 else [0, 1])]
    assert steps(tokens) == 400


@pytest.mark.parametrize("inside", [1, 40])
def test_equal_calls_in_a_row_are_of_one_step(inside: int) -> None:
    """Gradients of four layers, of which two are equal, after the work of a step."""
    sizes = [3000, 8000, 8000, 1000] * 300
    work = [100, inside, inside, inside] * 300
    assert steps([0, 1, 1, 2] * 300, sizes=sizes, work=work) == 300


@pytest.mark.parametrize("inside_ns", [0, 400])
@pytest.mark.parametrize("sizes", [(9, 4), (9, 4, 2), (9, 9, 4)])
def test_layers_that_mirror_each_other_are_exchanged_in_one_step(
    sizes: tuple[int, ...], inside_ns: int
) -> None:
    """Also where each gradient is exchanged while the next one is computed."""
    step = (*sizes, *reversed(sizes))
    tokens = step * 40
    work = [1000, *[inside_ns] * (len(step) - 1)] * 40
    moved = [1000 * token for token in tokens]
    assert steps(tokens, work=work, sizes=moved) in {39, 40}


@pytest.mark.parametrize("seed", range(30))
def test_random_layers_that_mirror_each_other(seed: int) -> None:
    """Weights, with biases or without, of layers there and back, at once or one after the other."""
    draw = random.Random(seed)
    there = draw.sample(range(1, 9), draw.randint(2, 6))
    layers = [*there, *draw.choice([there, there[:-1]])[::-1]]
    step = [part for one in layers for part in ((one, one + 10) if seed % 2 else (one,))]
    work = [1000, *[draw.choice([0, 300])] * (len(step) - 1)] * 60
    found = steps(step * 60, work=work, sizes=[1000 * one for one in step * 60])
    assert found in {59, 60, 61}


def test_equal_exchanges_without_work_between_them_are_of_one_step() -> None:
    found = step_marks(calls([7] * 120, work=[1000, 2, 2] * 40))
    assert found.tolist() == list(range(2, 120, 3))
    assert steps([7] * 120) == 120


@pytest.mark.parametrize("times", [3, 4, 5, 8])
@pytest.mark.parametrize("inside", [2, 3])
def test_few_long_steps_of_equal_exchanges_without_work_between_them(
    times: int, inside: int
) -> None:
    """A pickled allreduce is two broadcasts: of four steps of 3 s that tells no eight."""
    work = [3_000_000_000, *[20_000] * (inside - 1)] * times
    assert steps([7] * (inside * times), work=work) == times


def test_few_equal_exchanges_with_work_between_all_of_them_are_steps() -> None:
    assert steps([7] * 8, work=[3_000_000, 2_000_000] * 4) == 8
    assert steps([7] * 8, work=[3_000_000] * 8) == 8


def test_batches_of_little_work_before_a_long_evaluation_are_steps() -> None:
    """All gradients at once; ten batches of 2 ms, and a second in which nothing is exchanged."""
    work = [2_000_000] * 9 + [1_000_000_000]
    assert steps([7] * 400, work=work * 40, sizes=ARRAY) == 400


def test_pairs_of_figures_after_every_second_step_make_it_no_half() -> None:
    sizes = [ARRAY, ARRAY, 16, 16] * 40
    work = [1000, 1000, 300, 300] * 40
    assert steps([1, 1, 0, 0] * 40, sizes=sizes, work=work) == 80


@pytest.mark.parametrize(("epochs", "batches"), [(40, 12), (12, 40), (6, 500)])
@pytest.mark.parametrize("validation", [1000, 40_000])
def test_batches_are_the_steps_of_epochs(epochs: int, batches: int, validation: int) -> None:
    """Two gradients for each batch, and a score of each epoch, which takes some time."""
    tokens = ([0, 1] * batches + [2]) * epochs
    work = ([1000] * 2 * batches + [validation]) * epochs
    sizes = ([ARRAY, 400] * batches + [FIGURE]) * epochs
    assert steps(tokens, work=work, sizes=sizes) == epochs * batches


HALO, DOT = [0, 0, 1], [2]


@pytest.mark.parametrize("times", [30, 5000])
def test_a_solver_in_each_step_of_time(times: int) -> None:
    """Conjugate gradients to a tolerance: one product and dot before, two dots in each iteration.

    The tokens of both places are the same, so that only what comes next to them tells them apart.
    """
    draw = random.Random(times)
    tokens = list[int]()
    for _ in range(times):
        tokens += HALO + DOT
        for _ in range(draw.randint(1, 20)):
            tokens += HALO + DOT + DOT
    assert abs(steps(tokens) - times) <= times // 1000


def test_of_one_loop_what_comes_rarely_is_done_in_some_turns() -> None:
    """Ten sweeps and a check: of an inner and an outer loop, unless the program has only one."""
    tokens = ([0, 1] * 10 + [2]) * 100
    assert steps(tokens) == 100
    assert steps(tokens, loops=2) == 100
    assert steps(tokens, loops=1) == 1000


def test_exchange_in_pieces_is_no_loop_of_steps() -> None:
    """Sixteen times as many pieces as can be sent at once, in a few steps of much work."""
    tokens = ([0, 1] * 16 + [2]) * 12
    assert steps(tokens, work=([1] * 32 + [10_000]) * 12) == 12
    assert steps(tokens) == 12 * 16


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("kinds", [2, 3, 7])
def test_calls_by_lot_have_no_steps(seed: int, kinds: int) -> None:
    draw = random.Random(seed)
    assert steps([draw.randrange(kinds) for _ in range(2000)]) == 0


@pytest.mark.parametrize("seed", range(40))
def test_random_programs(seed: int) -> None:
    """Loops in loops with calls of their own, some only now and then: the oracle is the program.

    A step has parts of its own and inner loops, which turn as often each time, or as often as they
    need; and around the steps are epochs, of few turns.
    """
    draw = random.Random(seed)
    kinds = iter(range(100))
    head, tail = ([next(kinds) for _ in range(draw.randint(1, 3))] for _ in range(2))
    bodies = [[next(kinds) for _ in range(draw.randint(1, 3))] for _ in range(draw.randint(0, 2))]
    fixed = [draw.choice([0, 2, 5]) for _ in bodies]
    epochs, inside = draw.choice([(1, 300), (4, 100), (7, 60)])
    report, rare, epoch_end = draw.choice([0, 7, 20]), next(kinds), next(kinds)
    tokens, times = list[int](), 0
    for _ in range(epochs):
        for step in range(inside):
            tokens += head
            for body, often in zip(bodies, fixed, strict=True):
                tokens += body * (often or draw.randint(1, 9))
            if report and step % report == report - 1:
                tokens.append(rare)
            tokens += tail
            times += 1
        tokens.append(epoch_end)
    assert abs(steps(tokens) - times) <= epochs
