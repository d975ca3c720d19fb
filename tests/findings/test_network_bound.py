"""Transfer on the critical path: priced by the ideal network, small collectives told apart."""

from __future__ import annotations

import pytest

from perfscope.findings.finding import Finding, Status
from perfscope.replay.words import parse_edit
from perfscope.units import format_seconds
from tests.findings.analysed import analyse, analyse_trace
from tests.findings.exchange_runs import exchanges
from tests.findings.training_runs import Plan, training_run
from tests.replay.test_network_edits import SIZES, recorded
from tests.replay.test_network_edits import Plan as Exchange


def judged(size: int, count: int, each_s: float, **environment: str) -> dict[str, Finding]:
    trace = exchanges(size=size, count=count, each_s=each_s, environment=environment)
    return analyse_trace(trace).findings


def test_the_published_case_of_a_slow_allreduce() -> None:
    """200 ms of each of 200 steps: an ideal network saves 41.0 s (docs/metrics.md, section 7)."""
    finding = analyse(Plan(allreduce_s=0.2)).findings["network_bound"]
    assert finding.status is Status.FAIL
    assert finding.gain_s == pytest.approx(40.0, rel=0.03)
    assert finding.gain_basis == "upper_bound"


def test_healthy_is_silent() -> None:
    finding = analyse(Plan()).findings["network_bound"]
    assert finding.status is Status.PASS
    assert not finding.actions


def test_waiting_is_not_transfer() -> None:
    plan = Plan(slow_rank=1, slow_forward_s=0.2)
    assert analyse(plan).findings["network_bound"].status is Status.PASS


def test_many_small_collectives_are_to_be_fused() -> None:
    findings = judged(2048, 100, 0.001)
    finding = findings["small_allreduces"]
    assert finding.status is Status.FAIL
    assert findings["network_bound"].status is Status.INFO
    assert findings["network_bound"].gain_s is None
    assert finding.gain_s == pytest.approx(50 * 100 * 0.001, rel=1e-6)
    assert "many small collectives into one: 5,000 calls of about 2.00 KiB" in finding.actions[0]


def test_one_small_collective_a_step_cannot_be_fused() -> None:
    findings = judged(8, 1, 0.02)
    finding = findings["network_bound"]
    assert findings["small_allreduces"].status is Status.PASS
    assert finding.status is Status.FAIL
    assert not any("small" in action for action in finding.actions)


def test_large_ones_are_not() -> None:
    findings = judged(1 << 24, 1, 0.1)
    finding = findings["network_bound"]
    assert findings["small_allreduces"].status is Status.PASS
    assert finding.status is Status.FAIL
    assert not any("small" in action for action in finding.actions)


def test_one_rank_moves_nothing() -> None:
    finding = analyse_trace(training_run(Plan(ranks=1, steps=20))).findings["network_bound"]
    assert finding.status is Status.NOT_APPLICABLE


def test_actions_are_priced_by_their_own_replay() -> None:
    """Small allreduces behind a backward pass: fused, halved and overlapped each by its edit."""
    plan = Exchange(sizes=(*SIZES[:3], *[1 << 10] * 40), backward_s=0.005)
    case = analyse_trace(recorded(plan))
    findings = case.findings["network_bound"], case.findings["small_allreduces"]
    actions = [action for finding in findings for action in finding.actions]
    for text, start in (
        ("fuse:64M", "Put many"),
        ("bytes:0.5", "Send half"),
        ("overlap", "Exchange gradients"),
    ):
        edit = parse_edit(text, ranks=range(4), phases=()).edit
        prediction = case.replay.predict([edit])
        assert prediction is not None
        action = next(action for action in actions if action.startswith(start))
        assert format_seconds(prediction.gain_s) in action
