"""How sure a finding may be: one rule for all of them, read from the interval of the gain."""

from dataclasses import replace

from perfscope.findings.core.finding import Finding, Gain
from perfscope.findings.core.thresholds import FAIL_SHARE, WARN_SHARE, by_gain
from perfscope.schema.enums import Confidence, Status

NARROW_INTERVAL = 0.5  # width of the interval of a gain over the gain, up to which it is certain
NOTHING_S = 1e-9  # clocks count no less
_BY_RANK = (Confidence.LOW, Confidence.MEDIUM, Confidence.HIGH)


def less_sure(one: Confidence, other: Confidence) -> Confidence:
    """The confidence in what rests on both."""
    return min(one, other, key=_BY_RANK.index)


def as_sure_as_its_interval(finding: Finding) -> Finding:
    """The finding with no more confidence, and no worse status, than its interval allows.

    A gain whose interval holds zero may be nothing: its confidence is low, and it is told and not
    warned of, whatever made the finding. What is planned by the program is no matter of chance,
    and of what comes once no steps tell whether it is: both stay warnings. A replayed gain is
    certain where its interval is narrow; without an interval nobody knows how certain it is. What
    its first action saves counts alike. Where that would allow more, its cause is inferred. What
    would be a problem by its gain, and is a warning all the same, something else may explain.
    """
    if finding.gain is None:
        return finding
    most = _most_confidence(finding, finding.gain)
    if finding.first is not None:
        most = less_sure(most, _most_confidence(finding, finding.first))
    status = finding.status
    if status.is_fault and not is_firm(finding):
        status = Status.INFO if _may_be_nothing(finding.gain) else Status.WARN
    least = less_sure(finding.confidence, most)
    found = replace(finding, confidence=least, status=status, is_inferred=least is not most)
    if finding.status is Status.WARN and by_gain(finding.gain) is Status.FAIL:
        return replace(found, confidence=less_sure(least, Confidence.MEDIUM))
    return found


def in_words_of_its_status(finding: Finding) -> Finding:
    """The finding; the title of a note says what takes time, and blames nothing."""
    if finding.status is not Status.INFO:
        return finding
    title = finding.title
    for fault, note in (("is slowing the run", "takes time"), ("are slowing the run", "take time")):
        title = title.replace(fault, note)
    return replace(finding, title=title)


def _may_be_nothing(gain: Gain) -> bool:
    """Whether the interval of a gain holds zero, and chance may have made all of it."""
    reaches_zero = gain.interval_s is not None and gain.interval_s[0] < NOTHING_S
    return reaches_zero and not gain.is_planned and not gain.is_once


def is_firm(finding: Finding) -> bool:
    """Whether the gain is more than nothing in all of its interval; also where it has none.

    Of a gain worth acting on also the least must be worth telling, or it is as good as nothing.
    """
    gain, interval = finding.gain, finding.gain_interval_s
    if gain is None or interval is None:
        return True
    least = gain.share * interval[0] / gain.seconds if gain.seconds else 0.0
    is_worth_acting = gain.share >= FAIL_SHARE
    return interval[0] >= NOTHING_S and (least >= WARN_SHARE or not is_worth_acting)


def _most_confidence(finding: Finding, gain: Gain) -> Confidence:
    if not is_firm(finding):
        return Confidence.LOW
    interval = gain.interval_s
    if interval is None:
        is_exact = gain.is_bound or gain.is_planned  # what is counted does not vary
        return Confidence.HIGH if is_exact else Confidence.MEDIUM
    is_narrow = interval[1] - interval[0] <= NARROW_INTERVAL * gain.seconds
    return Confidence.HIGH if is_narrow else Confidence.MEDIUM
