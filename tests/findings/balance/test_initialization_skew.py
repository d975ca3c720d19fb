"""Ranks that begin at different times: before they can communicate, and in set-up after that."""

from dataclasses import dataclass

import pytest

from perfscope.findings.core.finding import Finding
from perfscope.schema.enums import Basis, PhaseKind, Status
from perfscope.trace.model import Trace
from tests.findings.analyzed import Analyzed, analyze, analyze_trace
from tests.findings.training_runs import Plan
from tests.support.trace_builder import TraceBuilder

OTHERS = ("load_imbalance", "straggler", "transient_imbalance", "rank_zero_evaluation")
FAULTS = {Status.FAIL, Status.WARN}
LOADING = ("load_everything", "/job/data.py", 12)
IMPORTING = ("<module>", "/job/train.py", 3)


@dataclass(frozen=True)
class Start:
    """How long each rank takes until its MPI_Init, and for its set-up after that."""

    before_s: tuple[float, ...] = (1.0, 1.0, 1.0, 1.0)
    setup_s: tuple[float, ...] = (0.1, 0.1, 0.1, 0.1)
    started_s: tuple[float, ...] = (0.0, 0.0, 0.0, 0.0)
    steps: int = 200
    step_s: float = 0.25
    markers: bool = True
    meets_first: bool = False  # in a barrier before the set-up
    queued_s: tuple[float, ...] = ()  # of the time until MPI_Init, waiting for a CPU


def recorded(start: Start) -> Trace:
    ranks = len(start.before_s)
    builder = TraceBuilder(ranks, end_s=1e3)
    begun = max(a + b for a, b in zip(start.started_s, start.before_s, strict=True)) + 0.01
    ready = [begun + seconds for seconds in start.setup_s]
    for number in range(ranks):
        rank = builder.rank(number)
        rank.start_s = start.started_s[number]
        enter = start.started_s[number] + start.before_s[number]
        for tick in range(int(rank.start_s * 10) + 1, int(enter * 10) + 1):
            rank.stack(tick * 0.1, [IMPORTING])
        rank.init(begun, enter_s=enter)
        queued = dict(enumerate(start.queued_s)).get(number, 0.0)
        rank.main_sample(rank.start_s, cpu_s=0.0).main_sample(
            enter, cpu_s=0.0, queue_delay_s=queued
        )
        if start.meets_first:
            rank.op("MPI_Barrier", begun, begun + 1e-4)
        for tick in range(int(begun * 10) + 1, int(ready[number] * 10) + 1):
            rank.stack(tick * 0.1, [IMPORTING, LOADING])
        rank.op("MPI_Bcast", ready[number], max(ready) + 0.001, peer=0, sent=8, received=8)
    at = max(ready) + 0.001
    for step in range(start.steps):
        for number in range(ranks):
            rank = builder.rank(number)
            if start.markers:
                rank.phase(PhaseKind.TRAIN, at, at + start.step_s, step=step)
                rank.step(step, at, at + start.step_s + 0.001)
            rank.op("MPI_Allreduce", at + start.step_s, at + start.step_s + 0.001, sent=8)
        at += start.step_s + 0.001
    return builder.ended(at, after_s=0.1)


def judged(start: Start) -> Finding:
    case = analyze_trace(recorded(start))
    alarms = [name for name in OTHERS if case.findings[name].status in FAULTS | {Status.INFO}]
    assert alarms == []
    return case.findings["initialization_skew"]


def length_s(case: Analyzed) -> float:
    return case.results.focus.length_ns * 1e-9


def test_one_rank_imports_longer() -> None:
    """The three others wait 12 s in MPI_Init, which lies before the focus of analysis."""
    finding = judged(Start(before_s=(1.0, 1.0, 13.0, 1.0)))
    assert (finding.status, finding.ranks) == (Status.FAIL, (2,))
    assert finding.gain_s == pytest.approx(12.0, rel=0.01)
    assert (finding.gain_basis, finding.edits) == (Basis.UPPER_BOUND, ())
    assert finding.title == (
        "Rank 2 takes longer until it can communicate, train.py:3, and 3 ranks wait once for it"
    )
    assert "importtime" in finding.actions[0]


def test_one_rank_is_started_later() -> None:
    finding = judged(Start(started_s=(0.0, 6.0, 0.0, 0.0)))
    assert (finding.status, finding.ranks) == (Status.WARN, (1,))
    assert finding.gain_s == pytest.approx(6.0, rel=0.01)
    assert finding.title == "Rank 1 is started later than the others and 3 ranks wait once for it"
    assert "started" in finding.actions[0]


@pytest.mark.parametrize("meets_first", [False, True])
@pytest.mark.parametrize("markers", [False, True])
def test_one_rank_sets_up_longer(markers: bool, meets_first: bool) -> None:
    """Without markers the first meeting ends the set-up: a barrier before it leaves none."""
    start = Start(setup_s=(12.1, 0.1, 0.1, 0.1), markers=markers, meets_first=meets_first)
    if meets_first and not markers:
        case = analyze_trace(recorded(start))
        assert case.findings["initialization_skew"].status is Status.PASS
        return
    finding = judged(start)
    assert (finding.status, finding.ranks) == (Status.FAIL, (0,))
    healthy = analyze_trace(recorded(Start(markers=markers, meets_first=meets_first)))
    truth_s = length_s(analyze_trace(recorded(start))) - length_s(healthy)
    assert finding.gain_s == pytest.approx(truth_s, rel=0.01)
    assert finding.gain_basis is Basis.REPLAY
    assert (finding.where[0].function, finding.where[0].line) == ("load_everything", 12)


def test_of_two_ranks_one_waits_for_the_other() -> None:
    two = Start(before_s=(1.0, 6.0), setup_s=(0.1, 0.1), started_s=(0.0, 0.0))
    finding = judged(two)
    assert (finding.status, finding.ranks) == (Status.WARN, (1,))
    assert finding.gain_s == pytest.approx(5.0, rel=0.01)


def test_both_parts_add_up() -> None:
    """One after the other: 4 s in MPI_Init and 8 s in the first broadcast."""
    finding = judged(Start(before_s=(1.0, 1.0, 1.0, 5.0), setup_s=(8.1, 0.1, 0.1, 0.1)))
    assert finding.gain_s == pytest.approx(12.0, rel=0.01)
    assert finding.gain_basis is Basis.UPPER_BOUND


def test_set_up_is_told_apart_from_imbalance_in_the_steps() -> None:
    """Rank 1 is 100 ms slower in each step, rank 0 sets up 12 s longer: each has its price."""
    plan = Start(setup_s=(12.1, 0.1, 0.1, 0.1))
    builder_trace = recorded(plan)
    slow = analyze(Plan(slow_rank=1, slow_forward_s=0.1)).findings["load_imbalance"]
    assert slow.status is Status.FAIL
    case = analyze_trace(builder_trace)
    assert case.findings["load_imbalance"].status is Status.PASS
    assert "load balance of shared work is 1.000" in case.findings["load_imbalance"].summary


@pytest.mark.parametrize(
    "start",
    [
        Start(),
        Start(before_s=(1.0, 1.9, 1.0, 1.4)),  # slow imports, by less than a second
        Start(before_s=(1.0, 1.2, 1.1, 1.4), setup_s=(0.9, 0.3, 0.2, 0.4), steps=20),
        Start(setup_s=(3.0, 3.0, 3.1, 3.0), markers=False),  # the same on all ranks
        Start(before_s=(20.0, 20.1, 20.0, 20.2)),
        Start(before_s=(1.0, 2.5, 1.0, 1.0), steps=800),  # 1.5 s of 200 s
    ],
    ids=str,
)
def test_healthy_starts(start: Start) -> None:
    finding = judged(start)
    assert finding.status is Status.PASS
    assert (finding.actions, finding.ranks) == ((), ())


def test_a_second_or_two_are_told_and_not_warned_of() -> None:
    assert judged(Start(before_s=(1.0, 3.0, 1.0, 1.0))).status is Status.INFO


def test_the_work_before_the_only_meeting_is_no_set_up() -> None:
    """One long computation and an allreduce at the end: who works longer is imbalanced."""
    builder = TraceBuilder(2, end_s=100.0)
    for number, work_s in enumerate((40.0, 20.0)):
        builder.rank(number).init(1.0).finalize(41.1)
        builder.rank(number).op("MPI_Allreduce", 1.0 + work_s, 41.1, sent=8, received=8)
    findings = analyze_trace(builder.build()).findings
    assert findings["initialization_skew"].status is Status.PASS
    assert findings["load_imbalance"].status in FAULTS


def test_not_measured_where_the_beginning_is_not_known() -> None:
    builder = TraceBuilder(2, end_s=20.0)
    for number in (0, 1):
        for step in range(10):
            at = 1.0 + step
            builder.rank(number).step(step, at, at + 0.9)
            builder.rank(number).op("MPI_Allreduce", at + 0.9, at + 1.0, sent=8)
    finding = analyze_trace(builder.build()).findings["initialization_skew"]
    assert finding.status is Status.NOT_MEASURED
    assert "initialized" in finding.summary


def test_one_rank_waits_for_nobody() -> None:
    assert analyze(Plan(ranks=1, steps=20)).findings["initialization_skew"].status is (
        Status.NOT_APPLICABLE
    )


def test_half_of_the_ranks_import_longer() -> None:
    finding = judged(Start(before_s=(1.0, 1.0, 13.0, 13.0)))
    assert (finding.status, finding.ranks) == (Status.FAIL, (2, 3))
    assert finding.gain_s == pytest.approx(12.0, rel=0.01)
    assert finding.title.startswith("Ranks 2 and 3 take longer until they can communicate")
    assert finding.title.endswith("and 2 ranks wait once for them")


def test_half_of_the_ranks_set_up_longer() -> None:
    start = Start(setup_s=(0.1, 0.1, 12.1, 12.1))
    finding = judged(start)
    assert (finding.status, finding.ranks) == (Status.FAIL, (2, 3))
    healthy_s = length_s(analyze_trace(recorded(Start())))
    truth_s = length_s(analyze_trace(recorded(start))) - healthy_s
    assert finding.gain_s == pytest.approx(truth_s, rel=0.01)


def test_what_lies_before_the_analyzed_time_is_part_of_the_whole() -> None:
    """60 s before 10 s of training are 6 of 7 parts, not six times the run."""
    finding = judged(Start(before_s=(1.0, 1.0, 61.0, 1.0), steps=40))
    assert finding.gain_share == pytest.approx(60 / 70, rel=0.02)
    assert "waited before it" in finding.summary


def test_changes_that_do_not_give_the_gain_are_not_handed_over() -> None:
    both = judged(Start(before_s=(1.0, 1.0, 1.0, 5.0), setup_s=(8.1, 0.1, 0.1, 0.1)))
    assert both.edits == ()
    assert judged(Start(setup_s=(8.1, 0.1, 0.1, 0.1))).edits != ()


@pytest.mark.parametrize(
    ("queued_s", "gain_s"), [((0.5, 0.5, 0.5, 0.5), 11.0), ((0.5, 0.5, 7.5, 0.5), 4.0)]
)
def test_waiting_longer_for_a_cpu_is_taken_off(queued_s: tuple[float, ...], gain_s: float) -> None:
    """A rank that needs 12 s where the others need 1, 7 s of which it had no CPU and they had."""
    finding = judged(Start(before_s=(1.0, 1.0, 12.0, 1.0), queued_s=queued_s))
    assert finding.status in FAULTS
    assert finding.gain_s == pytest.approx(gain_s, abs=0.1)


def test_a_rank_that_is_late_for_want_of_a_cpu_is_no_fault() -> None:
    start = Start(before_s=(1.0, 1.0, 12.0, 1.0), queued_s=(0.5, 0.5, 11.0, 0.5))
    assert judged(start).status is Status.PASS
