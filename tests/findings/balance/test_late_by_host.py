"""Ranks that are late because of what else runs on their CPUs, and ranks that have more to do."""

import numpy as np
import pytest

from perfscope.findings.core.finding import Finding
from perfscope.schema.enums import Status
from perfscope.trace.model import Trace
from tests.findings.analyzed import analyze_trace
from tests.support.shared_cpus import Life, recorded
from tests.support.trace_builder import TraceBuilder

STEPS, OWN_S = 400, 0.05


def of_ranks(
    *,
    more_s: float,
    waited: tuple[float, float],
    slept_s: float = 0.0,
    spread: float = 0.1,
    steps: int = STEPS,
) -> Finding:
    """What is said of rank 1, which has more to do in each step, or waits or sleeps longer.

    `waited`: what each rank waits for its CPU, as a share of its own work, on average.
    """
    draws = np.random.default_rng(3)
    lives = [Life(), Life()]
    for _ in range(steps):
        for number, life in enumerate(lives):
            own_s = (OWN_S + number * more_s) * float(draws.lognormal(0.0, spread))
            life.work(
                draws, own_s, waited[number] * own_s * float(draws.exponential()), slept=False
            )
            life.go(slept=number * slept_s)
        last = max(life.at_s for life in lives)
        for life in lives:
            life.call(last + 0.0005)
    return judged_of(recorded(lives))


def judged_of(trace: Trace) -> Finding:
    """What is said of how evenly the ranks work."""
    found = analyze_trace(trace).findings
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


FUNCTIONS = (
    ("copy_rows", "/home/me/solve.py", 20),
    ("smooth", "/home/me/solve.py", 40),
    ("add_up", "/home/me/solve.py", 60),
)


def slow_cpu(*, others: float, in_one: bool) -> Finding:
    """Rank 1 needs 15 % more CPU time, in three functions alike or in one of them.

    That varies from step to step by as much. `others`: of the CPUs, what other processes use.
    """
    draws, builder, at = np.random.default_rng(5), TraceBuilder(2, end_s=100.0), 1.0
    ran = [1.0, 1.0]
    more = [0.045, 0.0, 0.0] if in_one else [0.015] * 3
    for step in range(200):
        parts = [
            [(0.1 + number * extra) * float(draws.normal(1.0, 0.25)) for extra in more]
            for number in range(2)
        ]
        end = at + max(map(sum, parts)) + 0.001
        for number in range(2):
            rank, begin = builder.rank(number), at
            rank.main_sample(at, cpu_s=ran[number], queue_delay_s=0.0)
            rank.process_sample(at, cpu_s=ran[number], queue_delay_s=0.0)
            rank.cpu_sample(at, busy_s=ran[number] + others * at, used_s=ran[number], cpus=1)
            for spent_s, frame in zip(parts[number], FUNCTIONS, strict=True):
                for place in range(20):
                    rank.stack(begin + spent_s * place / 20, (frame,))
                begin += spent_s
            rank.op("MPI_Allreduce", begin, end, comm=0, seq=step, sent=8)
            ran[number] += sum(parts[number])
        at = end
    for number in range(2):
        rank = builder.rank(number).init(1.0).finalize(at)
        rank.set(cpu_count_allowed=1, cpus_allowed=str(number))
    return judged_of(builder.build())


@pytest.mark.parametrize(
    ("others", "in_one", "is_loud"),
    [(0.3, False, False), (0.0, False, True), (0.3, True, True)],
)
def test_a_rank_that_is_slower_in_all_functions_beside_other_processes(
    others: float, *, in_one: bool, is_loud: bool
) -> None:
    """Caches and clock rates are shared; what makes one function alone slower is the program's."""
    found = slow_cpu(others=others, in_one=in_one)
    assert found.status.is_fault is is_loud
    assert ("Processes outside the job ran on the same CPUs" in found.summary) is not is_loud


def test_too_few_steps_to_tell_more_work_from_none_do_not_tell_that_there_is_none() -> None:
    """Rank 1 has half as much again to do, in steps that differ by more than that."""
    found = of_ranks(more_s=0.5 * OWN_S, waited=(1.0, 1.0), spread=0.6, steps=12)
    assert "shows no more work" not in found.summary
