"""The verdict: one sentence about the run, and what the best fixes give back together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from perfscope.findings.finding import Status
from perfscope.findings.thresholds import WARN_SHARE
from perfscope.result import tensors
from perfscope.result.endings import account_of_ends
from perfscope.trace.model import Format
from perfscope.units import format_ratio, format_seconds, format_share

if TYPE_CHECKING:
    from collections.abc import Sequence

    from perfscope.findings.finding import Finding
    from perfscope.metrics.results import Results
    from perfscope.replay.model import Edit, Prediction, Replay

Json = dict[str, Any]
MOST = 3
GOOD_EFFICIENCY = 0.8
"""Below this parallel efficiency a run without findings is not called healthy."""

UNPRICED_SHARE = 0.1  # of the focus: what a fault without seconds is ranked as
FAULTS = {Status.FAIL, Status.WARN}
FIRST = "singleton_worlds"  # makes the meaning of all others another
OPEN = {Status.NOT_MEASURED, Status.ERROR}
MOST_REASONS = 5
UNKNOWN = {Status.NOT_MEASURED, Status.NOT_APPLICABLE, Status.ERROR}
NS = 1e-9


def verdict(results: Results, replay: Replay, findings: Sequence[Finding]) -> Json:
    """The `verdict` object of analysis.json, from findings in the order of the document."""
    faults = [finding for finding in findings if finding.status in FAULTS]
    top = _worth_most(faults)
    gain_s, share = combined_gain(results, replay, top)
    return {
        "sentence": _preface(results) + _sentence(results, findings, top, gain_s),
        "status": _status(results, findings, faults).value,
        "combined_gain_s": gain_s,
        "combined_gain_share": share,
        "combined_text": combined_text(top, gain_s),
        "top": [finding.id for finding in top],
    }


def _worth_most(faults: Sequence[Finding]) -> list[Finding]:
    """The faults to be shown first; those without seconds leave a place to one that has them."""
    ordered = sorted(faults, key=_weight)
    top = ordered[:MOST]
    if len(top) < MOST or any(finding.gain_s is not None for finding in top):
        return top
    priced = [one for one in ordered[MOST:] if one.gain_s is not None]
    same = [one for one in priced if one.status is top[-1].status]
    return [*top[:-1], same[0]] if same else top


def _weight(finding: Finding) -> tuple[bool, bool, float]:
    """Failed ones first, inside by what they cost; a fault without seconds counts as large."""
    share = UNPRICED_SHARE if finding.gain_share is None else finding.gain_share
    return finding.id != FIRST, finding.status is not Status.FAIL, -share


def combined_gain(
    results: Results, replay: Replay, top: Sequence[Finding]
) -> tuple[float | None, float | None]:
    """Seconds and share that the findings give back when all are fixed; gains do not add.

    Together they give no less than the best of them alone, and no more than their sum is claimed.
    Findings without seconds do not count; without a replay only a single finding has a number, and
    a bound that was not replayed is no part of a sum.
    """
    counted = [finding for finding in top if finding.gain_s is not None]
    if not counted:
        return None, None
    if len(counted) == 1:
        return counted[0].gain_s, counted[0].gain_share
    replayable = _replayable(top)
    prediction = _together(replay, replayable) if len(replayable) > 1 else None
    if prediction is None:
        return None, None
    single = [finding.gain_s for finding in replayable if finding.gain_s is not None]
    gain_s = min(max(prediction.gain_s, *single), sum(single))
    return gain_s, gain_s / (results.focus.length_ns * NS)


def _replayable(findings: Sequence[Finding]) -> list[Finding]:
    """Findings whose gain is that of edits."""
    return [finding for finding in findings if finding.gain_s is not None and finding.edits]


def _together(replay: Replay, findings: Sequence[Finding]) -> Prediction | None:
    edits: list[Edit] = [edit for finding in findings for edit in finding.edits]
    # what a rank does alone goes first: what is left is then compared between the ranks
    relative = [edit for edit in edits if edit.level is not None and edit.account is None]
    absolute = [edit for edit in edits if edit not in relative]
    return replay.predict([*dict.fromkeys(absolute), *dict.fromkeys(relative)])


def _status(results: Results, findings: Sequence[Finding], faults: Sequence[Finding]) -> Status:
    if any(finding.status is Status.FAIL for finding in faults):
        return Status.FAIL
    if faults or _is_inefficient(results):
        return Status.WARN
    if all(finding.status in UNKNOWN for finding in findings) or _unknown_efficiency(results):
        return Status.INFO
    return Status.PASS


def _sentence(
    results: Results, findings: Sequence[Finding], top: Sequence[Finding], gain_s: float | None
) -> str:
    if not top:
        return _healthy(results, findings)
    return _about(top[0]) + _more(top, gain_s)


def _more(top: Sequence[Finding], gain_s: float | None) -> str:
    """How many further findings there are, and what all give back when fixed together."""
    if len(top) == 1:
        return ""
    there = "There is one more finding" if len(top) == 2 else "There are two more findings"
    together = combined_text(top, gain_s)
    return f" {there}; {together}." if together else f" {there}."


def combined_text(top: Sequence[Finding], gain_s: float | None) -> str | None:
    """What the findings give back when fixed together, as a clause that says which of them count.

    None where fewer than two were replayed at once.
    """
    replayed = _replayable(top)
    if gain_s is None or len(replayed) < 2:
        return None
    which = "they" if len(replayed) == len(top) else "the two with a number"
    if len(replayed) < sum(finding.gain_s is not None for finding in top):
        which = "the two that can be replayed"
    bounded = any(finding.gain_basis == "upper_bound" for finding in replayed)
    most = "up to " if bounded else ""
    return f"fixed together, {which} would give back {most}{format_seconds(gain_s)}"


def _about(finding: Finding) -> str:
    """The sentence about the most costly finding."""
    if finding.gain_s is None or finding.gain_share is None:
        return f"{finding.title}."
    bound = "up to " if finding.gain_basis == "upper_bound" else ""
    share = format_share(finding.gain_share)
    return (
        f"{finding.title}. Without this the run would be {bound}{format_seconds(finding.gain_s)} "
        f"({share}) shorter."
    )


def _healthy(results: Results, findings: Sequence[Finding]) -> str:
    if unknown := _unknown_efficiency(results):
        return f"The efficiency of this run is not known: {unknown}."
    judged = [finding for finding in findings if finding.status not in UNKNOWN]
    if not judged:
        if told := tensors.sentence(results):
            return told
        open_ones = [finding.summary for finding in findings if finding.status in OPEN]
        reasons = list(dict.fromkeys(open_ones or [finding.summary for finding in findings]))
        return "Nothing can be said about this run. " + " ".join(reasons[:MOST_REASONS])
    efficiency = results.efficiency.parallel_efficiency.value
    ranks = len(results.trace.ranks)
    number = f", parallel efficiency {format_ratio(efficiency)}" if efficiency is not None else ""
    not_made = sum(finding.status in OPEN for finding in findings)
    rest = f" {not_made} of {len(findings)} diagnoses could not be made." if not_made else ""
    subject = f"{ranks} {'rank' if ranks == 1 else 'ranks'}{number}"
    if _is_inefficient(results):
        return (
            f"No cause was found for a low efficiency: {subject}; {_communication(results)}.{rest}"
        )
    return (
        f"{_found_nothing(results)}: {subject}, and no finding is worth {format_share(WARN_SHARE)} "
        f"of the run.{rest}"
    )


def _unknown_efficiency(results: Results) -> str | None:
    """Why no efficiency of a run with threads or without tracing is known, None where one is."""
    headline = results.efficiency.parallel_efficiency
    is_open = results.efficiency.is_hybrid or results.trace.format is Format.PARAVER
    return headline.reason if is_open and headline.value is None else None


def _found_nothing(results: Results) -> str:
    cut_short = any(not rank.ending.is_natural for rank in results.trace.ranks)
    return "Up to then nothing to fix was found" if cut_short else "Nothing to fix was found"


def _is_inefficient(results: Results) -> bool:
    """Whether the ranks lost so much that "nothing to fix" would mislead."""
    value = results.efficiency.parallel_efficiency.value
    return value is not None and value < GOOD_EFFICIENCY


def _communication(results: Results) -> str:
    """How much of the ranks' time went into communication, and which part of it."""
    found = results.communication
    parts = {
        "waiting for others": sum(found.wait_s_by_rank),
        "transfer": sum(found.transfer_s_by_rank),
        "other": sum(found.other_s_by_rank),
    }
    whole = results.focus.length_ns * NS * len(results.trace.ranks)
    shares = ", ".join(f"{name} {format_share(s / whole)}" for name, s in parts.items() if s)
    return (
        f"communication took {format_share(sum(parts.values()) / whole)} of their time ({shares})"
    )


def _preface(results: Results) -> str:
    """What must be said first: that ranks did not end by themselves, and what was not recorded."""
    account = account_of_ends(results.trace)
    return (f"{account} " if account else "") + _covered_part(results)


def _covered_part(results: Results) -> str:
    """That only the beginning was recorded in detail, and how much of it."""
    trace, end_ns = results.trace, results.focus.end_ns
    ends_ns = [rank.detail_end_ns for rank in trace.ranks if rank.detail_end_ns is not None]
    if not ends_ns or min(ends_ns) > end_ns:
        return ""
    if min(ends_ns) < end_ns:
        return "Records were lost from before every rank had started: little can be told. "
    what = "Records were dropped" if trace.format is Format.PERFSCOPE else "The trace is cut off"
    return (
        f"{what}: what follows is about the first {format_seconds(end_ns * NS)} of "
        f"{format_seconds(trace.wall_ns * NS)}. "
    )
