"""Healthy runs on a busy machine: step times vary, by chance and sometimes by much."""

import numpy as np
import pytest

from perfscope.findings.core.finding import Finding
from perfscope.schema.enums import Basis, PhaseKind, Status
from tests.findings.analyzed import analyze, analyze_trace
from tests.findings.training_runs import Plan, training_run
from tests.support.trace_builder import TraceBuilder


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("tail", [0.0, 0.02])
@pytest.mark.parametrize("ranks", [2, 4, 8])
def test_chance_is_no_fault(ranks: int, tail: float, seed: int) -> None:
    plan = Plan(ranks=ranks, steps=100, jitter=0.0, noise=0.2, tail=tail, seed=seed)
    findings = analyze(plan).findings.values()
    assert not [finding.title for finding in findings if finding.status is Status.FAIL]


@pytest.mark.parametrize("ranks", [2, 4])
def test_chance_alone_is_told_and_claims_nothing(ranks: int) -> None:
    finding = analyze(Plan(ranks=ranks, jitter=0.0, noise=0.2)).findings["transient_imbalance"]
    assert finding.status is Status.INFO
    assert (finding.gain_s, finding.gain_share, finding.edits) == (None, None, ())
    assert (
        finding.title == "A different rank is late in each step: the work varies from step to step"
    )
    assert "would save about " in finding.summary


def test_a_large_spread_is_warned_of_and_still_a_bound() -> None:
    finding = analyze(Plan(steps=100, jitter=0.0, noise=0.6)).findings["transient_imbalance"]
    assert (finding.status, finding.gain_basis) == (Status.WARN, Basis.UPPER_BOUND)
    assert finding.gain_share is not None
    assert finding.gain_share >= 0.25


@pytest.mark.parametrize("noise", [0.03, 0.1, 0.2])
def test_no_alarm_in_many_short_runs_of_a_busy_machine(noise: float) -> None:
    """20 runs of 40 steps each; what fails or warns is an alarm."""
    alarms = []
    for seed in range(20):
        ranks = (2, 4)[seed % 2]
        plan = Plan(ranks=ranks, steps=40, jitter=0.0, noise=noise, seed=100 + seed)
        findings = analyze(plan).findings.values()
        alarms += [(seed, f.title) for f in findings if f.status in {Status.FAIL, Status.WARN}]
    assert alarms == []


@pytest.mark.parametrize("ranks", [2, 4])
@pytest.mark.parametrize("noise", [0.05, 0.2])
def test_a_slow_rank_is_priced_right_in_noise(ranks: int, noise: float) -> None:
    """80 steps of 60 ms more: what is given back is what the run without them takes less."""
    healthy = Plan(ranks=ranks, steps=80, jitter=0.0, noise=noise, samples=(32,) * ranks)
    slow = Plan(
        ranks=ranks,
        steps=80,
        jitter=0.0,
        noise=noise,
        samples=(32,) * ranks,
        slow_rank=1,
        slow_forward_s=0.06,
    )
    truth_ns = analyze(slow).results.focus.length_ns - analyze(healthy).results.focus.length_ns
    finding = analyze(slow).findings["straggler"]
    assert finding.status is Status.FAIL
    assert finding.ranks == (1,)
    assert finding.gain_s == pytest.approx(truth_ns * 1e-9, rel=0.04 if noise < 0.1 else 0.12)


@pytest.mark.parametrize(
    ("more_s", "queued", "status"),
    [
        (0.03, (0.0, 0.0), Status.WARN),
        (0.03, (0.01, 0.01), Status.WARN),
        (0.03, (0.1, 0.0), Status.WARN),  # the other rank had its CPU all the time
        (0.03, (0.1, 0.1), Status.INFO),
        (0.045, (0.1, 0.1), Status.FAIL),
        (0.045, (0.5, 0.4), Status.INFO),  # a third of what the rank waits that waits least
        (0.15, (0.5, 0.4), Status.FAIL),
    ],
)
def test_what_ranks_lose_to_others_on_their_cpus_may_be_chance(
    more_s: float, queued: tuple[float, float], status: Status
) -> None:
    """Rank 1 works longer in each of 200 steps of 254 ms; both wait for CPUs, by the second."""
    plan = Plan(ranks=2, slow_rank=1, slow_backward_s=more_s, jitter=0.0, noise=0.1)

    def interrupt(builder: TraceBuilder) -> None:
        for number, share in enumerate(queued):
            rank = builder.rank(number)
            for tick in range(600):
                at = 1.0 + tick * 0.1
                rank.process_sample(at, cpu_s=at, queue_delay_s=at * share, runnable=1)

    finding = analyze_trace(training_run(plan, change=interrupt)).findings["load_imbalance"]
    assert finding.status is status
    assert (finding.gain_s is None) == (status is Status.INFO)
    told = "Every rank waited longer for CPUs than this costs" in finding.summary
    assert told == (status is Status.INFO)
    assert ("CPUs of their own first" in finding.actions[0]) == told


@pytest.mark.parametrize(
    ("queued", "is_told"),
    [
        ((0.5, 0.5), True),  # rank 1 does more, on a busy machine
        ((0.4, 0.52), False),  # it waits longer for its CPU, and does no more
    ],
)
def test_more_cpu_time_in_stretch_after_stretch_is_no_chance(
    queued: tuple[float, float], *, is_told: bool
) -> None:
    """Of work that takes 52 and 64 ms in each of 400 steps, what is no waiting for a CPU."""
    builder, clock = TraceBuilder(2, end_s=1e3), 1.0
    generator = np.random.default_rng(1)
    for _ in range(400):
        works = np.array([0.052, 0.064]) * generator.uniform(0.8, 1.2, 2)
        for number, work_s in enumerate(works):
            end = clock + float(max(works)) + 0.001
            builder.rank(number).op("MPI_Allreduce", clock + float(work_s), end)
        clock += float(max(works)) + 0.001
    for number, share in enumerate(queued):
        rank = builder.rank(number).init(1.0).finalize(clock)
        rank.end_s = clock + 0.1
        for tick in range(int(clock * 10)):
            at = tick * 0.1
            rank.main_sample(at, cpu_s=at, queue_delay_s=at * share)
            rank.process_sample(at, cpu_s=at, queue_delay_s=at * share, runnable=1)
    finding = analyze_trace(builder.build()).findings["load_imbalance"]
    assert finding.status.is_fault is is_told
    assert finding.ranks == (1,)


@pytest.mark.parametrize(("noise", "status"), [(0.02, Status.FAIL), (0.1, Status.INFO)])
def test_who_is_late_nearly_all_the_time_is_not_so_by_chance(noise: float, status: Status) -> None:
    """45 ms in each step, 9 s in all, of which half are lost; both ranks wait for CPUs for 50 s."""
    plan = Plan(ranks=2, slow_rank=1, slow_backward_s=0.045, jitter=0.0, noise=noise)

    def interrupt(builder: TraceBuilder) -> None:
        for number in range(2):
            for tick in range(600):
                at = 1.0 + tick * 0.1
                builder.rank(number).process_sample(at, cpu_s=at, queue_delay_s=at, runnable=1)

    finding = analyze_trace(training_run(plan, change=interrupt)).findings["load_imbalance"]
    assert finding.status is status


def slow_stretches(more_s: float, samples: tuple[int, int] | None) -> Finding:
    """Steps of 100 ms, on rank 1 more, and 20 ms on the rank whose CPU is slow for 10 on end."""
    builder, clock = TraceBuilder(2, end_s=1e6), 1.0
    turns = np.random.default_rng(5).integers(0, 2, 40)
    for step in range(400):
        works = [0.1, 0.1 + more_s]
        works[turns[step // 10]] += 0.02
        for number, work_s in enumerate(works):
            rank = builder.rank(number)
            rank.phase(PhaseKind.TRAIN, clock, clock + work_s, step=step)
            rank.step(step, clock, clock + work_s, samples=samples[number] if samples else 0)
            rank.op("MPI_Allreduce", clock + work_s, clock + max(works) + 0.001)
        clock += max(works) + 0.001
    for number in (0, 1):
        rank = builder.rank(number).init(1.0).finalize(clock)
        rank.end_s = clock + 0.1
        for tick in range(int(clock * 10)):  # a slow CPU takes more CPU time for the same work
            rank.main_sample(tick * 0.1, cpu_s=tick * 0.1, queue_delay_s=0.0)
    return analyze_trace(builder.build()).findings["load_imbalance"]


@pytest.mark.parametrize(
    ("more_s", "samples", "status"),
    [
        (0.03, None, Status.INFO),
        (0.03, (32, 36), Status.FAIL),  # it has more to do
        (0.06, None, Status.FAIL),
    ],
)
def test_stretches_of_slow_cpus_may_meet_one_rank_more_often(
    more_s: float, samples: tuple[int, int] | None, status: Status
) -> None:
    finding = slow_stretches(more_s, samples)
    assert finding.status is status
    assert ("late in stretches of several steps" in finding.summary) == (status is Status.INFO)
