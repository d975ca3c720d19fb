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
    return builder.ended(clock, init_s=1.0)


def gathering(*, gather_s: float, save_s: float, count: int = 10) -> Trace:
    """Two ranks train for 2 s, gather the state, which rank 0 writes, and wait for the file.

    Only the write is marked; that the rest is saving, too, tell samples.
    """
    builder = TraceBuilder(2, end_s=1e6)
    clock = 1.0
    for step in range(count):
        for number in (0, 1):
            rank = builder.rank(number)
            rank.step(step, clock, clock + 2.0)
            rank.op("MPI_Allreduce", clock + 2.0, clock + 2.001, sent=8, received=8)
            copied = clock + 2.001 + gather_s
            rank.stack(clock + 1.0, [("main", "train.py", 12), ("train", "train.py", 10)])
            rank.op("MPI_Gather", clock + 2.051, copied, peer=0, sent=1 << 20, received=1 << 20)
            for moment in (clock + 2.02, copied + 0.01):
                rank.stack(moment, [("main", "train.py", 12), ("save_state", "train.py", 20)])
            if number == 0:
                rank.phase(PhaseKind.CHECKPOINT, copied + 0.05, copied + 0.05 + save_s)
            enter = copied + 0.05 + (save_s if number == 0 else 0.01)
            rank.op("MPI_Barrier", enter, copied + 0.051 + save_s)
        clock = copied + 0.051 + save_s
    return builder.ended(clock, init_s=1.0)


def test_every_rank_writes() -> None:
    finding = analyze_trace(saving((0, 1), save_s=0.5)).findings["checkpoint_stall"]
    assert finding.status is Status.FAIL
    assert finding.title == "Every rank writes checkpoints"
    # the last one still has to be written when the training is done
    assert finding.gain_s == pytest.approx(5.0, abs=0.51)
    assert finding.ranks == (0, 1)
    assert "let rank 0 write it" in finding.actions[1]
    assert finding.evidence[2].value == "2 of 2"


def test_what_one_rank_writes_is_judged_apart() -> None:
    findings = analyze_trace(saving((0,), save_s=0.5)).findings
    assert findings["checkpoint_stall"].status is Status.PASS
    assert findings["rank_zero_evaluation"].status is Status.FAIL


def test_state_that_is_gathered_and_written_by_one_rank() -> None:
    """What the ranks exchange for a checkpoint goes with it, and each one counts once."""
    finding = analyze_trace(gathering(gather_s=0.5, save_s=0.05)).findings["checkpoint_stall"]
    assert finding.status is Status.FAIL
    assert finding.title == "Training stands still for checkpoints in save_state() (train.py:20)"
    assert [row.value for row in finding.evidence[:1]] == [10]
    assert finding.evidence[2].value == "1 of 2"
    assert finding.evidence[3].value == pytest.approx(0.451, abs=0.01)
    # 0.6 s each; one in five is left
    assert finding.actions[0].startswith("Save every 5th time only")
    assert finding.gain_s == pytest.approx(0.8 * 6.0, rel=0.1)
    assert "background" in finding.actions[1]


def test_short_checkpoints_are_silent() -> None:
    finding = analyze_trace(saving((0, 1), save_s=0.01)).findings["checkpoint_stall"]
    assert finding.status is Status.PASS
    assert not finding.actions


def test_no_checkpoint_is_silent() -> None:
    assert analyze(Plan(steps=50)).findings["checkpoint_stall"].status is Status.PASS
