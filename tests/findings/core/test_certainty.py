"""No finding is surer than the interval of its gain."""

from dataclasses import replace

import pytest

from perfscope.document.build import sort_findings
from perfscope.findings.core.certainty import (
    as_sure_as_its_interval,
    in_words_of_its_status,
    is_firm,
)
from perfscope.findings.core.finding import Finding, Gain
from perfscope.findings.core.thresholds import unless_chance
from perfscope.schema.enums import Basis, Confidence, Status


def finding(
    name: str = "one",
    *,
    gain_s: float | None = 2.0,
    interval: tuple[float, float] | None = None,
    basis: Basis = Basis.REPLAY,
) -> Finding:
    return Finding(
        Status.FAIL,
        name,
        ".",
        None if gain_s is None else Gain(gain_s, gain_s / 100, basis=basis, interval_s=interval),
        confidence=Confidence.HIGH,
        id=name,
    )


@pytest.mark.parametrize("interval", [(0.0, 9.2), (-1.0, 3.0), (1e-12, 4.0), (0.0, 0.0)])
@pytest.mark.parametrize("basis", [Basis.REPLAY, Basis.UPPER_BOUND])
@pytest.mark.parametrize("status", [Status.FAIL, Status.WARN])
def test_an_interval_that_holds_zero_is_low_and_quiet(
    interval: tuple[float, float], basis: Basis, status: Status
) -> None:
    judged = as_sure_as_its_interval(
        replace(finding(interval=interval, basis=basis), status=status)
    )
    assert (judged.status, judged.confidence) == (Status.INFO, Confidence.LOW)
    assert not is_firm(judged)


@pytest.mark.parametrize("why", ["planned", "once"])
def test_what_is_no_matter_of_chance_is_warned_of_where_its_interval_holds_zero(why: str) -> None:
    """Steps tell neither of what comes once, nor of what the program plans."""
    gain = Gain(
        2.0, 0.02, interval_s=(0.0, 9.2), is_planned=why == "planned", is_once=why == "once"
    )
    judged = as_sure_as_its_interval(replace(finding(), gain=gain))
    assert (judged.status, judged.confidence) == (Status.WARN, Confidence.LOW)


@pytest.mark.parametrize(
    ("interval", "confidence"),
    [((1.5, 2.5), Confidence.HIGH), ((0.1, 4.0), Confidence.MEDIUM), (None, Confidence.MEDIUM)],
)
def test_a_replayed_gain_is_as_sure_as_its_interval_is_narrow(
    interval: tuple[float, float] | None, confidence: Confidence
) -> None:
    judged = as_sure_as_its_interval(finding(interval=interval))
    assert (judged.status, judged.confidence) == (Status.FAIL, confidence)


def test_a_warning_that_would_be_a_problem_by_its_gain_is_no_more_than_likely() -> None:
    """What made the diagnosis warn only is that something else may explain the loss."""
    doubted = replace(finding(gain_s=10.0, basis=Basis.UPPER_BOUND), status=Status.WARN)
    judged = as_sure_as_its_interval(doubted)
    assert (judged.status, judged.confidence) == (Status.WARN, Confidence.MEDIUM)
    small = replace(finding(gain_s=2.0, basis=Basis.UPPER_BOUND), status=Status.WARN)
    assert as_sure_as_its_interval(small).confidence is Confidence.HIGH


def test_what_is_counted_is_certain_without_an_interval() -> None:
    gain = Gain(2.0, 0.02, basis=Basis.REPLAY, interval_s=None, is_planned=True)
    judged = as_sure_as_its_interval(replace(finding(), gain=gain))
    assert (judged.status, judged.confidence) == (Status.FAIL, Confidence.HIGH)


def test_the_title_of_a_note_blames_nothing() -> None:
    slow = finding("Data transfer is slowing the run, mainly in main()")
    assert in_words_of_its_status(slow).title == slow.title
    note = in_words_of_its_status(replace(slow, status=Status.INFO))
    assert note.title == "Data transfer takes time, mainly in main()"
    many = replace(slow, status=Status.INFO, title="4,800 messages are slowing the run")
    assert in_words_of_its_status(many).title == "4,800 messages take time"


def test_a_gain_worth_acting_on_of_which_hardly_anything_is_sure_is_no_failure() -> None:
    """31.8 ms to 8.47 s of a window of 100 s: the least is no more worth telling than nothing."""
    judged = as_sure_as_its_interval(finding(gain_s=4.2, interval=(0.0318, 8.47)))
    assert (judged.status, judged.confidence) == (Status.WARN, Confidence.LOW)
    sure = as_sure_as_its_interval(finding(gain_s=4.2, interval=(1.2, 8.47)))
    assert (sure.status, sure.confidence) == (Status.FAIL, Confidence.MEDIUM)


def test_what_claims_no_seconds_stays_as_it_was() -> None:
    for one in (finding(gain_s=None), finding(basis=Basis.UPPER_BOUND)):
        assert as_sure_as_its_interval(one) == one


def test_a_firm_finding_comes_before_a_larger_one_that_may_be_nothing() -> None:
    doubtful = as_sure_as_its_interval(finding("doubtful", gain_s=4.0, interval=(0.0, 9.0)))
    firm = finding("firm", gain_s=1.0, interval=(0.9, 1.1))
    small = replace(finding("small", gain_s=0.5, interval=(0.4, 0.6)), status=Status.WARN)
    assert [one.id for one in sort_findings([doubtful, small, firm])] == [
        "firm",
        "small",
        "doubtful",
    ]


@pytest.mark.parametrize(
    ("run_share", "expected"), [(0.0008, Status.INFO), (0.11, Status.WARN), (None, Status.WARN)]
)
def test_little_of_a_short_window_is_told_of_only(
    run_share: float | None, expected: Status
) -> None:
    """9.7 ms are a tenth of a window of 90 ms, and may be chance in a run of 11.5 s."""
    gain = Gain(0.0097, 0.11, run_share)
    assert unless_chance(Status.WARN, gain) is expected
