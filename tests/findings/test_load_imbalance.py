"""Load imbalance: which kind, whose, where, and what it costs."""

from __future__ import annotations

import pytest

from perfscope.findings.finding import Confidence, Finding, Status
from perfscope.trace.builder import TraceBuilder
from perfscope.trace.model import PhaseKind
from tests.findings.analysed import analyse, analyse_trace
from tests.findings.training_runs import Plan


def judged(plan: Plan) -> Finding:
    return analyse(plan).findings["load_imbalance"]


def test_two_ranks_share_their_work() -> None:
    """Of two ranks nobody knows which one is right, so the same work is spread evenly."""
    finding = judged(Plan(ranks=2, slow_rank=1, slow_backward_s=0.05))
    assert finding.status is Status.FAIL
    assert finding.ranks == (1,)
    assert finding.title.startswith("Rank 1 works longer than rank 0 in backward, ")
    assert finding.gain_s == pytest.approx(5.0, rel=0.05)


def test_equal_samples_make_it_a_slow_rank() -> None:
    finding = judged(Plan(ranks=2, slow_rank=1, slow_backward_s=0.05, samples=(32, 32)))
    assert finding.gain_s == pytest.approx(10.0, rel=0.05)
    assert "equally many samples" in finding.summary


def test_unequal_samples_are_to_be_dealt_out() -> None:
    finding = judged(Plan(slow_rank=1, slow_backward_s=0.05, samples=(32, 48, 32, 32)))
    assert finding.gain_s == pytest.approx(7.5, rel=0.05)
    assert "samples out evenly" in finding.actions[0]


def test_slow_in_everything_is_a_straggler() -> None:
    finding = judged(Plan(slow_rank=2, slow_factor=1.3))
    assert finding.status is Status.FAIL
    assert finding.title == "Rank 2 is slower than the others in everything while 3 ranks wait"
    assert "CPU binding" in finding.actions[0]


def test_slow_in_one_phase_is_no_straggler() -> None:
    assert "everything" not in judged(Plan(slow_rank=2, slow_forward_s=0.05)).title


def test_several_heavy_ranks() -> None:
    builder = TraceBuilder(4, end_s=200.0)
    at = 1.0
    for _ in range(40):
        for number, work_s in enumerate((1.0, 1.5, 1.0, 1.5)):
            builder.rank(number).phase(PhaseKind.TRAIN, at, at + work_s)
            builder.rank(number).op("MPI_Allreduce", at + work_s, at + 1.6)
        at += 1.6
    for number in range(4):
        builder.rank(number).init(1.0).finalize(at)
    finding = analyse_trace(builder.build()).findings["load_imbalance"]
    assert finding.status is Status.FAIL
    assert finding.ranks == (1, 3)
    assert finding.title.startswith("Ranks 1 and 3 work longer than the others")
    # the median of the four is 1.25 s
    assert finding.gain_s == pytest.approx(40 * 0.25, rel=0.01)
    assert finding.confidence is Confidence.HIGH


def test_one_late_start_is_said_to_be_one() -> None:
    builder = TraceBuilder(2, end_s=60.0)
    at = 1.0
    for number, work_s in enumerate((6.0, 1.0)):
        builder.rank(number).stack(at + 0.5, [("load", "data.py", 5)])
        builder.rank(number).phase(PhaseKind.TRAIN, at, at + work_s)
        builder.rank(number).op("MPI_Barrier", at + work_s, at + 6.1)
    at += 6.1
    for _ in range(30):
        for number in (0, 1):
            builder.rank(number).phase(PhaseKind.TRAIN, at, at + 1.0)
            builder.rank(number).op("MPI_Allreduce", at + 1.0, at + 1.1)
        at += 1.1
    for number in (0, 1):
        builder.rank(number).init(1.0).finalize(at)
    finding = analyse_trace(builder.build()).findings["load_imbalance"]
    assert "works once longer" in finding.title
    assert finding.status is Status.WARN
    assert finding.confidence is Confidence.MEDIUM


def test_ordinary_jitter_passes() -> None:
    finding = judged(Plan(jitter=0.03))
    assert finding.status is Status.PASS
    assert "load balance is 0.99" in finding.summary


def test_what_evaluation_explains_is_left_out() -> None:
    both = analyse(Plan(evaluate_s=4.0, slow_rank=0, slow_forward_s=0.05))
    imbalance = both.findings["load_imbalance"]
    evaluation = both.findings["rank_zero_evaluation"]
    assert imbalance.ranks == (0,)
    assert imbalance.gain_s == pytest.approx(10.0, rel=0.1)
    assert evaluation.gain_s == pytest.approx(40.0, rel=0.02)
    together = both.replay.predict([*evaluation.edits, *imbalance.edits])
    assert together is not None
    assert together.gain_s == pytest.approx(50.0, rel=0.02)


def test_one_rank_has_nothing_to_balance() -> None:
    assert judged(Plan(ranks=1, steps=20)).status is Status.NOT_APPLICABLE
