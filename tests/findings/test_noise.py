"""Healthy runs on a busy machine: step times vary, by chance and sometimes by much."""

from __future__ import annotations

import pytest

from perfscope.findings.finding import Status
from tests.findings.analysed import analyse
from tests.findings.training_runs import Plan


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("tail", [0.0, 0.02])
@pytest.mark.parametrize("ranks", [2, 4, 8])
def test_chance_is_no_fault(ranks: int, tail: float, seed: int) -> None:
    plan = Plan(ranks=ranks, steps=100, jitter=0.0, noise=0.2, tail=tail, seed=seed)
    findings = analyse(plan).findings.values()
    assert not [finding.title for finding in findings if finding.status is Status.FAIL]


@pytest.mark.parametrize("ranks", [2, 4])
def test_chance_alone_claims_no_more_than_a_bound(ranks: int) -> None:
    finding = analyse(Plan(ranks=ranks, jitter=0.0, noise=0.2)).findings["load_imbalance"]
    assert finding.status is Status.WARN
    assert finding.gain_basis == "upper_bound"
    assert finding.title == "In each step another rank is late: the work varies from step to step"
    assert "at most" in finding.summary


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
    truth_ns = analyse(slow).results.focus.length_ns - analyse(healthy).results.focus.length_ns
    finding = analyse(slow).findings["load_imbalance"]
    assert finding.status is Status.FAIL
    assert finding.ranks == (1,)
    assert finding.gain_s == pytest.approx(truth_ns * 1e-9, rel=0.04 if noise < 0.1 else 0.12)
