"""When ranks waited for CPUs: in closed form, and against lives of threads that are drawn."""

import numpy as np
import pytest

from perfscope.metrics.compute import compute
from perfscope.metrics.host.cpu_delay import CpuDelay, cpu_delay, cpu_delays
from perfscope.trace.model import Trace
from tests.support.shared_cpus import Life, meeting, recorded

NS = 1e-9


def delays(trace: Trace) -> tuple[CpuDelay, ...]:
    return cpu_delays(compute(trace))


def two_steps(*, slept: bool) -> tuple[Life, Life]:
    """Rank 0 waits 30 ms for a CPU in each first step, rank 1 works or sleeps as much longer."""
    lives = Life(), Life()
    for _ in range(20):
        for first in (True, False):
            lives[0].go(queued=0.03 if first else 0.0)
            lives[0].go(ran=0.01)
            lives[1].go(ran=0.01)
            if first:
                lives[1].go(slept=0.03) if slept else lives[1].go(ran=0.03)
            for life in lives:
                life.call(max(one.at_s for one in lives) + 0.0001)
    return lives


def by_step(delay: CpuDelay, life: Life, *, most: bool = False) -> list[float]:
    """Milliseconds waited in the work before each call."""
    ends = np.array([begin for begin, _ in life.calls]) / NS
    begins = np.array([1.0, *(end for _, end in life.calls[:-1])]) / NS
    found = delay.most(begins, ends) if most else delay.between(begins, ends)
    return [float(ns) / 1e6 for ns in found]


@pytest.mark.parametrize("slept", [False, True])
def test_clocks_tell_in_which_of_many_short_steps_it_was(slept: bool) -> None:
    """Five steps lie between two samples of the scheduler's counters."""
    lives = two_steps(slept=slept)
    first, second = delays(recorded(list(lives)))
    assert by_step(first, lives[0]) == pytest.approx([30.0, 0.0] * 20, abs=0.5)
    assert by_step(first, lives[0], most=True) == by_step(first, lives[0])
    assert by_step(second, lives[1]) == pytest.approx([0.0] * 40, abs=0.5)


def test_without_clocks_it_is_dealt_out_evenly_and_known_at_most() -> None:
    lives = two_steps(slept=False)
    first, _ = delays(recorded(list(lives), clocks=False))
    told, most = by_step(first, lives[0]), by_step(first, lives[0], most=True)
    assert sum(told) < 600.0
    assert min(told[1:-1]) > 1.0  # where it was not, too
    assert all(least > 29.0 for least in most[::2])


def test_who_sleeps_while_others_of_its_process_lack_a_cpu_waits_for_these() -> None:
    lives = two_steps(slept=True)
    trace = recorded(list(lives))
    rank = trace.ranks[1]
    rank.process_samples = rank.process_samples.copy()
    rank.process_samples["queue_delay_ns"] = rank.process_samples["t"]
    _, second = delays(trace)
    assert by_step(second, lives[1]) == pytest.approx([30.0, 0.0] * 20, abs=0.5)


def test_a_rank_that_was_not_sampled_leaves_it_unknown() -> None:
    trace = recorded(list(two_steps(slept=False)))
    trace.ranks[1].main_samples = trace.ranks[1].main_samples[:0]
    results = compute(trace)
    assert cpu_delays(results) == ()
    assert cpu_delay(trace.ranks[1], results.timelines[1], results.focus) is None


@pytest.mark.parametrize("seed", range(12))
def test_drawn_lives(seed: int) -> None:
    """With clocks it is told step by step; without, no step waited longer than is told at most."""
    draws = np.random.default_rng(seed)
    own_s = tuple(draws.uniform(0.006, 0.08, 3).tolist())
    lives = meeting(seed, steps=60, own_s=own_s, waited_s=float(draws.uniform(0.005, 0.06)))
    told = delays(recorded(lives))
    bounds = delays(recorded(lives, clocks=False))
    for life, delay, bound in zip(lives, told, bounds, strict=True):
        truth = np.array([1e3 * waited for _, waited in life.steps])
        found = np.array(by_step(delay, life))
        assert found == pytest.approx(truth, abs=5.0)
        assert found.sum() == pytest.approx(truth.sum(), rel=0.03)
        assert np.all(truth <= np.array(by_step(bound, life, most=True)) + 0.01)
