"""The six runs with a known root cause: each is named, and its price is right."""

from functools import cache

import pytest

from perfscope.schema.enums import Basis, Status
from tests.findings.analyzed import Analyzed, analyze
from tests.findings.training_runs import Plan

HEALTHY = Plan()
PLANS = {
    "healthy": HEALTHY,
    "forward": Plan(slow_rank=1, slow_forward_s=0.1),
    "backward": Plan(slow_rank=1, slow_backward_s=0.1),
    "random": Plan(unlucky_s=0.1),
    "evaluation": Plan(evaluate_s=4.0),
    "network": Plan(allreduce_s=0.205),
}


@cache
def analyzed(case: str) -> Analyzed:
    return analyze(PLANS[case])


def length_s(case: str) -> float:
    return analyzed(case).results.focus.length_ns * 1e-9


def true_gain_s(case: str) -> float:
    """What the run really takes less when the fault is not there."""
    return length_s(case) - length_s("healthy")


def test_runs_are_those_of_the_list() -> None:
    assert length_s("healthy") == pytest.approx(52.6, abs=0.4)
    assert length_s("forward") == pytest.approx(71.8, abs=0.4)
    assert length_s("evaluation") == pytest.approx(92.5, abs=0.4)
    assert length_s("network") == pytest.approx(92.6, abs=0.4)


@pytest.mark.parametrize("case", PLANS)
def test_the_replay_reproduces_the_run(case: str) -> None:
    assert analyzed(case).replay.relative_error == pytest.approx(0.0, abs=1e-9)


def test_healthy() -> None:
    for finding in analyzed("healthy").findings.values():
        assert finding.status in {Status.PASS, Status.NOT_MEASURED}
        assert (finding.gain_share or 0.0) < 0.03


@pytest.mark.parametrize(
    ("case", "phase", "gain_s"), [("forward", "forward", 19.2), ("backward", "backward", 19.4)]
)
def test_slow_phase_of_one_rank(case: str, phase: str, gain_s: float) -> None:
    finding = analyzed(case).findings["load_imbalance"]
    assert finding.status is Status.FAIL
    assert finding.ranks == (1,)
    assert phase in finding.title.lower()
    assert finding.gain_s == pytest.approx(gain_s, rel=0.05)
    assert finding.gain_s == pytest.approx(true_gain_s(case), rel=0.05)
    assert analyzed(case).findings["rank_zero_evaluation"].status is Status.PASS


def test_another_rank_each_step() -> None:
    case = analyzed("random")
    finding = case.findings["transient_imbalance"]
    assert case.findings["load_imbalance"].status is Status.PASS
    assert case.findings["straggler"].status is Status.PASS
    assert case.results.efficiency.load_balance.value == pytest.approx(0.99, abs=0.01)
    assert case.replay.ideal_runtime_s is not None
    serialization = max(case.results.efficiency.outside_s) / case.replay.ideal_runtime_s
    assert serialization == pytest.approx(0.795, abs=0.02)
    assert finding.status is Status.FAIL
    assert finding.gain_basis is Basis.REPLAY
    assert "different rank" in finding.title
    assert "alternates between ranks" in finding.title
    assert finding.ranks == ()
    assert finding.gain_s == pytest.approx(19.3, rel=0.05)
    assert finding.gain_s == pytest.approx(true_gain_s("random"), rel=0.05)


def test_evaluation_on_rank_zero() -> None:
    case = analyzed("evaluation")
    finding = case.findings["rank_zero_evaluation"]
    assert finding.status is Status.FAIL
    assert finding.ranks == (0,)
    assert finding.gain_s == pytest.approx(40.0, abs=0.4)
    assert finding.gain_interval_s == pytest.approx((40.0, 40.0), rel=0.1)
    assert finding.where[0].function == "evaluate"
    assert finding.where[0].line == 212
    assert "10 times, once every 20 steps, 4.00 s each" in finding.summary
    gains = {evidence.label: evidence.value for evidence in finding.evidence}
    assert gains["Gain if done half as often"] == pytest.approx(20.0, abs=0.3)
    assert gains["Gain if distributed over all ranks"] == pytest.approx(30.0, abs=0.3)
    assert case.findings["load_imbalance"].status is Status.PASS


def test_slow_network_is_nobodys_imbalance() -> None:
    case = analyzed("network")
    assert case.replay.ideal_runtime_s is not None
    assert length_s("network") - case.replay.ideal_runtime_s == pytest.approx(41.0, abs=0.2)
    assert case.replay.ideal_runtime_s / length_s("network") == pytest.approx(0.557, abs=0.005)
    network = case.findings["network_bound"]
    assert network.status is Status.FAIL
    assert network.gain_s == pytest.approx(41.0, abs=0.2)
    for finding in case.findings.values():
        if finding is not network:
            assert finding.status in {Status.PASS, Status.NOT_MEASURED}
