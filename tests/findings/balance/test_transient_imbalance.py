"""Ranks that are late by turns: what it costs, and when waiting for CPUs explains it."""

from dataclasses import replace

import numpy as np
import pytest

from perfscope.findings.balance.transient_imbalance import DIAGNOSIS, UNEVEN
from perfscope.findings.core.finding import Finding
from perfscope.findings.core.gain import waited_s
from perfscope.findings.facts.facts import Facts
from perfscope.metrics.compute import compute
from perfscope.metrics.results import Options
from perfscope.replay.segments import SegmentReplay
from perfscope.schema.enums import PhaseKind, Status
from tests.findings.analyzed import analyze, analyze_trace
from tests.findings.training_runs import Plan, training_run
from tests.support.shared_cpus import meeting, recorded
from tests.support.trace_builder import TraceBuilder


def judged(plan: Plan, *, queued: float | None = None) -> Finding:
    """With `queued`, other processes use the CPUs: seconds that each rank waits, per second."""

    def crowd(builder: TraceBuilder) -> None:
        for number in range(plan.ranks if queued is not None else 0):
            rank = builder.rank(number).set(cpus_allowed="0-3", cpu_count_allowed=4)
            for tick in range(10, 500):
                at = tick * 0.1
                delay_s = at * (queued or 0.0)
                rank.process_sample(at, cpu_s=at, queue_delay_s=delay_s, threads=4, runnable=3)

    return analyze_trace(training_run(plan, change=crowd)).findings["transient_imbalance"]


def test_the_evidence_is_a_good_balance_and_a_low_serialization_efficiency() -> None:
    finding = judged(Plan(unlucky_s=0.1))
    assert (finding.status, finding.ranks) == (Status.FAIL, ())
    told = {row.label: row.value for row in finding.evidence}
    assert float(told["Load balance of shared work"]) > 0.98
    assert float(told["Serialization efficiency"]) == pytest.approx(0.795, abs=0.02)
    last = [label for label in told if label.endswith("was the last to come")]
    assert len(last) == 4  # each of the ranks by turns


@pytest.mark.parametrize(
    ("queued", "status"), [(None, Status.FAIL), (0.1, Status.WARN), (1.0, Status.INFO)]
)
def test_waiting_for_cpus(queued: float | None, status: Status) -> None:
    """About 40 s are lost; 3 threads of each of 4 ranks wait for CPUs: 0, 7 or 67 s at a time."""
    finding = judged(Plan(unlucky_s=0.2), queued=queued)
    assert finding.status is status
    assert ("because the ranks wait for CPUs" in finding.title) == (queued is not None)
    assert (finding.gain_s is None) == (status is Status.INFO)
    assert (finding.edits == ()) == (status is Status.INFO)


@pytest.mark.parametrize(
    "plan",
    [Plan(), Plan(slow_rank=1, slow_forward_s=0.1), Plan(evaluate_s=4.0), Plan(allreduce_s=0.2)],
    ids=str,
)
def test_no_other_fault_is_transient(plan: Plan) -> None:
    found = analyze(plan).findings["transient_imbalance"]
    assert (found.status, found.gain_s) == (Status.PASS, None)


def by_turns(steps_on_end: int) -> Finding:
    """Two ranks of which one takes 40 ms more for 100 ms of work, for so many steps on end."""
    builder, clock = TraceBuilder(2, end_s=1e6), 1.0
    turns = np.random.default_rng(3).integers(0, 2, 200 // steps_on_end + 1)
    for step in range(200):
        for number in (0, 1):
            work_s = 0.14 if number == turns[step // steps_on_end] else 0.1
            builder.rank(number).phase(PhaseKind.TRAIN, clock, clock + work_s, step=step)
            builder.rank(number).op("MPI_Allreduce", clock + work_s, clock + 0.141)
        clock += 0.141
    for number in (0, 1):
        builder.rank(number).init(1.0).finalize(clock)
        builder.rank(number).end_s = clock + 0.1
    return analyze_trace(builder.build()).findings["transient_imbalance"]


def test_ranks_that_are_late_for_several_steps_on_end_are_told_of() -> None:
    """The same seconds, dealt out anew in each step or every 10 steps."""
    assert by_turns(1).status is Status.FAIL
    slow = by_turns(10)
    assert (slow.status, slow.gain_s) == (Status.INFO, None)
    assert slow.title == "A different rank is late every few steps"
    assert "different rank" not in slow.summary
    assert "shuffle" in slow.actions[1]


LENGTHS_S = (0.01, 0.02, 0.08)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("clocks", [True, False])
def test_unequal_work_is_told_though_ranks_wait_for_cpus(seed: int, clocks: bool) -> None:
    """Each rank draws its own length of each step's work, and others take the CPUs by chance."""
    lives = meeting(seed, steps=150, own_s=LENGTHS_S, waited_s=0.04)
    pairs = zip(lives[0].steps, lives[1].steps, strict=True)
    lost_s = sum(abs(one[0] - other[0]) / 2 for one, other in pairs)
    analyzed = analyze_trace(recorded(lives, clocks=clocks))
    found = analyzed.findings["transient_imbalance"]
    assert analyzed.findings["busy_host"].status is Status.INFO
    assert found.status is Status.FAIL
    assert found.title == f"{UNEVEN}, though equal in total"
    assert "another" in found.summary
    assert found.gain is not None
    assert found.gain.is_bound
    assert found.gain.interval_s is None
    assert found.gain.seconds == pytest.approx(lost_s, rel=0.1 if clocks else 0.5)
    assert found.gain.under_load_s is not None
    assert found.gain.under_load_s > found.gain.seconds


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("clocks", [True, False])
def test_equal_work_on_shared_cpus_stays_quiet(seed: int, clocks: bool) -> None:
    """The same lengths, both ranks alike in each step: who is late is chance."""
    lives = meeting(seed, steps=150, own_s=LENGTHS_S, waited_s=0.04, same=True)
    found = analyze_trace(recorded(lives, clocks=clocks)).findings["transient_imbalance"]
    assert not found.status.is_fault
    assert found.gain is None
    assert found.title != f"{UNEVEN}, though equal in total"


def test_of_unequal_work_no_more_than_the_waiting_is_saved(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether or not it would save more to do without what is beyond the usual: it is work."""
    results = compute(recorded(meeting(0, steps=150, own_s=LENGTHS_S, waited_s=0.04)), Options())
    run = Facts(results, SegmentReplay(results))
    before = run.imbalance_judgment
    facts = replace(before.facts, is_bound=False)
    for status in (Status.INFO, Status.FAIL):
        planted = replace(before, facts=facts, is_explained=False, status=status)
        monkeypatch.setitem(run.__dict__, "imbalance_judgment", planted)
        found = DIAGNOSIS.judge(run)
        assert isinstance(found, Finding)
        assert found.title.startswith(UNEVEN)
        assert found.gain is not None
        assert found.gain.seconds <= waited_s(results)
        assert "wait for CPUs" not in found.summary


@pytest.mark.parametrize("spread", [0.02, 0.15])
def test_the_ordinary_spread_of_equal_work_is_no_fault(spread: float) -> None:
    """CPU times that differ by caches and clock rates, and those that differ by more."""
    draws = np.random.default_rng(1)
    lives = meeting(0, steps=0, own_s=(0.05,), waited_s=0.0)
    for _ in range(150):
        for life in lives:
            own_s = 0.05 * float(draws.normal(1.0, spread))
            life.work(draws, own_s, 0.03 * float(draws.exponential()), slept=False)
        last_s = max(life.at_s for life in lives)
        for life in lives:
            life.call(last_s + 0.0005)
    found = analyze_trace(recorded(lives)).findings["transient_imbalance"]
    assert found.status.is_fault == (spread > 0.1)


def test_one_rank() -> None:
    finding = analyze(Plan(ranks=1, steps=20)).findings["transient_imbalance"]
    assert finding.status is Status.NOT_APPLICABLE
