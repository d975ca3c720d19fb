"""Ranks that are late because of what else runs on their CPUs, and ranks that have more to do."""

import numpy as np

from perfscope.findings.core.finding import Finding
from perfscope.schema.enums import Status
from tests.findings.analyzed import analyze_trace
from tests.support.shared_cpus import Life, recorded

STEPS, OWN_S = 400, 0.05


def of_ranks(*, more_s: float, waited: tuple[float, float], slept_s: float = 0.0) -> Finding:
    """What is said of rank 1, which has more to do in each step, or waits or sleeps longer.

    `waited`: what each rank waits for its CPU, as a share of its own work, on average.
    """
    draws = np.random.default_rng(3)
    lives = [Life(), Life()]
    for _ in range(STEPS):
        for number, life in enumerate(lives):
            own_s = (OWN_S + number * more_s) * float(draws.normal(1.0, 0.1))
            life.work(
                draws, own_s, waited[number] * own_s * float(draws.exponential()), slept=False
            )
            life.go(slept=number * slept_s)
        last = max(life.at_s for life in lives)
        for life in lives:
            life.call(last + 0.0005)
    found = analyze_trace(recorded(lives)).findings
    judged = [found[one] for one in ("straggler", "load_imbalance", "transient_imbalance")]
    return next((one for one in judged if one.status is not Status.PASS), judged[0])


def test_a_rank_that_meets_more_other_processes_is_not_slow() -> None:
    """Both do the same; rank 1 waits for its CPU five times as long as rank 0."""
    found = of_ranks(more_s=0.0, waited=(0.2, 1.0))
    assert found.status is Status.INFO
    assert found.gain is None
    assert found.title == "Processes outside the job hold up rank 1 most, and the other rank waits"
    assert "not clear of zero" in found.summary


def test_a_rank_that_has_more_to_do_is_named_on_the_same_busy_host() -> None:
    """Rank 1 has half as much again to do, and waits for its CPU for the same share of it."""
    found = of_ranks(more_s=0.5 * OWN_S, waited=(0.5, 0.5))
    assert found.status.is_fault
    assert found.ranks == (1,)
    assert "not clear of zero" not in found.summary


def test_a_rank_that_sleeps_longer_is_not_held_up_by_others() -> None:
    """No CPU time tells of what it waits for, and no waiting for a CPU explains it."""
    found = of_ranks(more_s=0.0, waited=(0.3, 0.3), slept_s=0.5 * OWN_S)
    assert found.status.is_fault
    assert found.ranks == (1,)
