"""Whether to trust that nothing was found: what was seen, and what that would have shown."""

from collections.abc import Sequence

from perfscope.document.headline import outside
from perfscope.document.no_finding import (
    UNKNOWN,
    is_inefficient,
    is_well,
    least_told,
    much_is_lost,
    unknown_efficiency,
)
from perfscope.findings.core.finding import Finding
from perfscope.findings.core.thresholds import WARN_SHARE
from perfscope.judging import FEWEST_SAMPLES
from perfscope.losses.entry import LossAccount
from perfscope.metrics.results import Results
from perfscope.schema.findings import QualityRow
from perfscope.units import NS, counted, format_seconds, format_share

NOT_LOOKED_AT = (
    "whether the program could compute the same with less work, beyond the kinds of waste that "
    "are checked for"
)


def assurance(
    results: Results,
    findings: Sequence[Finding],
    losses: LossAccount | None,
    checks: Sequence[QualityRow] = (),
    *,
    is_disturbed: bool,
) -> str:
    """What is behind it that no finding says what to change, in sentences.

    Whether to trust it comes first, then what was seen, the least loss that would have shown, and
    what nobody looked at. "" of a run of which nothing is known. `checks` are those of the
    recording; `is_disturbed`: processes outside the job took much of its CPUs.
    """
    judged = [finding for finding in findings if finding.status not in UNKNOWN]
    if not judged or losses is None or unknown_efficiency(results) is not None:
        return ""
    told = (
        _answer(results, losses, checks, is_disturbed=is_disturbed),
        _seen(results, losses, is_disturbed=is_disturbed),
        "" if is_disturbed else _would_show(results),
        _left_out(results),
    )
    return " ".join(one for one in told if one)


def _answer(
    results: Results, losses: LossAccount, checks: Sequence[QualityRow], *, is_disturbed: bool
) -> str:
    if is_inefficient(results) or much_is_lost(losses):
        if is_disturbed:
            return "Partly: the busy host hides how much of the lost time is the program's own."
        return "Partly: that time is lost was measured, and its cause is not known."
    if is_disturbed:
        return "Partly: nothing was found, but the busy host may hide something."
    if not is_well(losses):
        return "Partly: nothing was found, and of a part of the time nothing is known."
    if failed := sum(one.status.is_fault for one in checks):
        which = "a check" if failed == 1 else f"{failed} checks"
        return f"Partly: nothing was found, and {which} of the recording did not pass."
    return "Yes, for what was looked at."


def _seen(results: Results, losses: LossAccount, *, is_disturbed: bool) -> str:
    """How much of the run was looked at, and how much of that is known to be training work.

    Where others had the CPUs the latter is no measure of the job.
    """
    window_s, run_s = results.window_s, results.run_s
    told, whole = format_seconds(window_s), format_seconds(run_s)
    told += f" of the {whole} run" if run_s > window_s and whole != told else ""
    if is_disturbed or losses.lost_share is None:
        return f"Looked at: {told}."
    useful = max(1.0 - losses.lost_share - (losses.unknown_share or 0.0), 0.0)
    return f"Looked at: {told}, {format_share(useful)} of it known to be useful computation."


def _would_show(results: Results) -> str:
    """The least loss that the checks would have told of, by their bound and by the samples.

    It is asked for only of a host that did nothing else, as other load may hide a larger one.
    """
    ranks, window_s = results.trace.ranks, results.focus.length_ns * NS
    samples = [len(results.focus.within(rank.main_stacks)) for rank in ranks]
    fewest = min(samples, default=0)
    if any(samples) and not fewest:
        return ""  # of one rank nothing would have shown
    share = max(WARN_SHARE, FEWEST_SAMPLES / fewest if fewest else 0.0)
    if window_s <= 0 or share >= 1.0:
        return ""
    much = least_told(results, share)
    told = f"As a rule, a loss of a kind that is checked for would be reported from {much} on"
    if not sum(samples):
        return f"{told}, but of no function, as no stacks were sampled."
    return f"{told} (with {counted(sum(samples), 'stack sample')})."


def _left_out(results: Results) -> str:
    """What nobody looked at, beside the checks that could not be made, which the verdict counts."""
    rest_s = results.run_s - results.window_s
    is_told = results.run_s > 0 and rest_s > 0 and not outside(results, 0.0)
    of_what = "of start-up and end" if results.options.focus is None else "around that window"
    first = f"{format_seconds(rest_s)} {of_what}, and " if is_told else ""
    return f"Not looked at: {first}{NOT_LOOKED_AT}."
