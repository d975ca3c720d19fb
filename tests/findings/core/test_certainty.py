"""No finding is surer than the interval of its gain."""

from __future__ import annotations

import pytest

from perfscope.document.build import sort_findings
from perfscope.findings.core.certainty import as_sure_as_its_interval, is_firm
from perfscope.findings.core.finding import Confidence, Finding, Status


def finding(
    name: str = "one",
    *,
    gain_s: float | None = 2.0,
    interval: tuple[float, float] | None = None,
    basis: str | None = "replay",
) -> Finding:
    return Finding(
        name,
        Status.FAIL,
        name,
        ".",
        gain_s=gain_s,
        gain_interval_s=interval,
        gain_basis=basis,
        confidence=Confidence.HIGH,
    )


@pytest.mark.parametrize("interval", [(0.0, 9.2), (-1.0, 3.0), (1e-12, 4.0), (0.0, 0.0)])
def test_an_interval_that_holds_zero_is_low_and_no_failure(interval: tuple[float, float]) -> None:
    judged = as_sure_as_its_interval(finding(interval=interval))
    assert (judged.status, judged.confidence) == (Status.WARN, Confidence.LOW)
    assert not is_firm(judged)


@pytest.mark.parametrize(
    ("interval", "confidence"),
    [((1.5, 2.5), Confidence.HIGH), ((0.1, 4.0), Confidence.MEDIUM), (None, Confidence.MEDIUM)],
)
def test_a_replayed_gain_is_as_sure_as_its_interval_is_narrow(
    interval: tuple[float, float] | None, confidence: Confidence
) -> None:
    judged = as_sure_as_its_interval(finding(interval=interval))
    assert (judged.status, judged.confidence) == (Status.FAIL, confidence)


def test_what_claims_no_seconds_stays_as_it_was() -> None:
    for one in (finding(gain_s=None, basis=None), finding(basis="upper_bound")):
        assert as_sure_as_its_interval(one) == one


def test_a_firm_finding_comes_before_a_larger_one_that_may_be_nothing() -> None:
    doubtful = as_sure_as_its_interval(finding("doubtful", gain_s=4.0, interval=(0.0, 9.0)))
    firm = finding("firm", gain_s=1.0, interval=(0.9, 1.1))
    small = Finding("small", Status.WARN, "small", ".", gain_s=0.5, gain_interval_s=(0.4, 0.6))
    assert [one.id for one in sort_findings([doubtful, small, firm])] == [
        "firm",
        "small",
        "doubtful",
    ]
