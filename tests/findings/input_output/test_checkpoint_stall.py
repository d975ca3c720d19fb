"""Checkpoints that hold the training up."""

import pytest

from perfscope.schema.enums import PhaseKind, Status
from perfscope.trace.model import Trace
from tests.findings.analyzed import analyze, analyze_trace
from tests.findings.training_runs import Plan
from tests.support.trace_builder import TraceBuilder


def saving(writers: tuple[int, ...], *, save_s: float, count: int = 10) -> Trace:
    """Two ranks train for 2 s and save, again and again."""
    builder = TraceBuilder(2, end_s=1e6)
    clock = 1.0
    for _ in range(count):
        for number in (0, 1):
            rank = builder.rank(number)
            rank.phase(PhaseKind.TRAIN, clock, clock + 2.0)
            rank.op("MPI_Allreduce", clock + 2.0, clock + 2.001, sent=8, received=8)
            if number in writers:
                rank.phase(PhaseKind.CHECKPOINT, clock + 2.001, clock + 2.001 + save_s)
            enter = clock + 2.001 + (save_s if number in writers else 0.0)
            rank.op("MPI_Barrier", enter, clock + 2.002 + save_s)
        clock += 2.002 + save_s
    for number in (0, 1):
        rank = builder.rank(number).system_sample(1.0)
        rank.system_sample(clock, written_bytes=(1 << 30) if number in writers else 0)
    return builder.ended(clock, init_s=1.0)


def test_every_rank_writes() -> None:
    finding = analyze_trace(saving((0, 1), save_s=0.5)).findings["checkpoint_stall"]
    assert finding.status is Status.FAIL
    assert finding.title == "Every rank writes checkpoints"
    # the last one still has to be written when the training is done
    assert finding.gain_s == pytest.approx(5.0, abs=0.51)
    assert finding.ranks == (0, 1)
    assert "let rank 0 write it" in finding.actions[1]
    assert "2.00 GiB" in str(finding.evidence)


def test_what_one_rank_writes_is_judged_apart() -> None:
    findings = analyze_trace(saving((0,), save_s=0.5)).findings
    assert findings["checkpoint_stall"].status is Status.PASS
    assert findings["rank_zero_evaluation"].status is Status.FAIL


def test_short_checkpoints_are_silent() -> None:
    finding = analyze_trace(saving((0, 1), save_s=0.01)).findings["checkpoint_stall"]
    assert finding.status is Status.PASS
    assert not finding.actions


def test_no_checkpoint_is_silent() -> None:
    assert analyze(Plan(steps=50)).findings["checkpoint_stall"].status is Status.PASS
