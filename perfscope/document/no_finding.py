"""What is said of a run without findings, and what to do first with it."""

from collections.abc import Sequence

from perfscope.attribution.soundness import why_spoiled
from perfscope.document import tensors
from perfscope.document.endings import after_the_end
from perfscope.document.headline import Headline, apart, headline, outside, whole
from perfscope.document.without_efficiency import known_without_efficiency
from perfscope.findings.core import wording
from perfscope.findings.core.catalog import how_to_be_whole
from perfscope.findings.core.finding import Finding, Gain
from perfscope.findings.core.thresholds import WARN_SHARE
from perfscope.findings.facts.facts import Facts
from perfscope.findings.losses.claims import is_once
from perfscope.judging import MAIN, MAJOR
from perfscope.losses.entry import NO_LOSS, Entry, LossAccount, Saving
from perfscope.losses.words import label
from perfscope.metrics.results import Results
from perfscope.output import record_again
from perfscope.schema.enums import LossKind, LossPattern, Status
from perfscope.schema.losses import NOT_USEFUL, spread
from perfscope.trace.damage import Need
from perfscope.trace.model import Format
from perfscope.units import NS, format_ratio, format_seconds, format_share, inside

TRAINS = 0.95
"""Of the ranks' time in the focus: with less training work, something is lost that is named."""

GOOD_EFFICIENCY = 0.8
"""Below this parallel efficiency a run without findings is not called healthy."""

MOST_CHARACTERS = 300  # of the reasons why nothing can be said: a terminal shows a sentence whole

STRETCHED = {
    LossKind.OTHER_PROCESSES,
    *(LossKind.WAITING, LossKind.TRANSFER, LossKind.COMMUNICATION),
}
"""Kinds of loss that take longer where other processes use the host's CPUs."""

UNKNOWN = {Status.NOT_MEASURED, Status.NOT_APPLICABLE, Status.ERROR}


def first_action(
    run: Facts, findings: Sequence[Finding], status: Status, others: Gain | None
) -> str:
    """What to do first where no finding says it.

    Of a run in which much is lost, or nothing is known, nobody can say that nothing need be done.
    """
    if ended := after_the_end(run.results.trace):
        return ended
    if others:
        command = record_again(run.results.trace.command)
        how = f": `{command}`" if command else ""
        return f"Record again while nothing else uses the host's CPUs{how}."
    is_judged = any(finding.status not in UNKNOWN for finding in findings)
    is_unknown = not is_judged or unknown_efficiency(run.results) is not None
    if is_unknown or status not in (Status.PASS, Status.INFO):
        return ""
    if status is Status.PASS and not outside(run.results, 0.0):
        return "None needed."
    return "None known."


def without_findings(
    results: Results,
    findings: Sequence[Finding],
    losses: LossAccount | None = None,
    *,
    is_disturbed: bool = False,
) -> str:
    """The sentences of the verdict where no finding says what to change."""
    judged = [finding for finding in findings if finding.status not in UNKNOWN]
    if not judged and (told := tensors.sentence(results)):
        return told
    if unknown := unknown_efficiency(results):
        known = known_without_efficiency(results)
        return f"The efficiency of this run is not known: {unknown}.{known}"
    if not judged:
        if why_spoiled(results.damage, Need.EVERY_RANK):
            return how_to_be_whole(results)
        open_ones = [finding.summary for finding in findings if finding.status.is_unmade]
        reasons = list(dict.fromkeys(open_ones or [finding.summary for finding in findings]))
        return _nothing_known(reasons)
    rest = f" {_looked_for(findings)}"
    if why_spoiled(results.damage, Need.EVERY_RANK):
        return f"The recorded ranks alone give no finding.{rest} {how_to_be_whole(results)}"
    leading = headline(results)
    ranks = len(results.trace.ranks)
    number = "" if leading.value is None else f", {leading.label} {format_ratio(leading.value)}"
    subject = f"{'1 process' if ranks == 1 else f'{ranks} ranks'}{number}"
    if is_inefficient(results) and not is_disturbed:
        lost = _lost(results, losses)
        return _inefficient(leading, subject, lost) + rest
    much = least_told(results)
    found = f"{_found_nothing(results, losses)}: nothing that is sure to save {much}"
    if is_disturbed:
        found = "No problem was found in the program; the host was too busy to rule one out"
    told = f"{apart(results)}{found}."
    if losses is None or not losses.lost_share or is_disturbed:
        return f"{told} {_part_looked_at(results) if is_disturbed else ''}{rest.strip()}"
    most = "" if is_well(losses) else _largest(losses, ranks)
    return f"{told} {_useful(results, losses)}.{most}{_once(results)}{rest}"


def least_told(results: Results, share: float = WARN_SHARE) -> str:
    """What a loss has to be to be told of, `642 ms of the 69.8 s run`."""
    return f"{format_seconds(share * results.window_s)} of the {_whole_text(results)}"


def _nothing_known(reasons: Sequence[str]) -> str:
    """That nothing can be said, with as many of the reasons as a terminal shows whole."""
    said = "Nothing can be said about this run."
    for place, reason in enumerate(reasons):
        if place and len(said) + len(reason) >= MOST_CHARACTERS:
            break
        said += f" {reason}"
    return said


def _once(results: Results) -> str:
    """How much of the run is not judged, as it lies before and after the analyzed window.

    Around a window that the user chose lie steps as well, and what is most of the run was told.
    """
    rest_s = results.run_s - results.window_s
    is_chosen = results.options.focus is not None
    if is_chosen or rest_s < MAJOR * results.run_s or outside(results, 0.0):
        return ""
    return (
        f" The {format_seconds(rest_s)} of start-up and end come once, however long the run is, "
        "and were not judged."
    )


def _part_looked_at(results: Results) -> str:
    """Where start-up and end are much of the run: that what was checked for was so beside them."""
    rest_s = results.run_s - results.window_s
    if results.options.focus is not None or rest_s < MAJOR * results.run_s:
        return ""
    return f"Apart from {format_seconds(rest_s)} of start-up and end, "


def _looked_for(findings: Sequence[Finding]) -> str:
    """How much is behind it that nothing was found; what cannot be there is not looked for."""
    made = sum(finding.status not in UNKNOWN for finding in findings)
    unmade = sum(finding.status.is_unmade for finding in findings)
    kinds = "kind of problem was" if made == 1 else "kinds of problem were"
    rest = f"; {unmade} more could not be" if unmade else ""
    return f"{made} {kinds} checked for{rest}."


def _useful(results: Results, losses: LossAccount) -> str:
    """What share of the run is useful; of what is not known, nobody can tell."""
    lost, unknown = losses.lost_share or 0.0, losses.unknown_share or 0.0
    if unknown >= WARN_SHARE:
        told = f"{_of_whole(results, lost)} of the {_whole_text(results)} went to {NOT_USEFUL}"
        return f"{told}, and of {_of_whole(results, unknown)} nothing is known"
    return f"{_of_whole(results, 1.0 - lost)} of the {_whole_text(results)} is useful computation"


def _whole_text(results: Results) -> str:
    """What such a share is of: `36.4 s run`."""
    whole_s, name = whole(results)
    return f"{format_seconds(whole_s)} {name}"


def _of_whole(results: Results, share: float) -> str:
    """A share of the analyzed window as one of the whole."""
    whole_s, _ = whole(results)
    spent_s = share * results.focus.length_ns * NS
    return format_share(spent_s / whole_s if whole_s else None)


def is_well(losses: LossAccount) -> bool:
    """Whether nearly all of the ranks' time is known to be training work: nothing need be done."""
    lost, unknown = losses.lost_share, losses.unknown_share
    return lost is not None and unknown is not None and lost + unknown <= 1 - TRAINS


def much_is_lost(losses: LossAccount) -> bool:
    """Whether too much is lost to a known cause to say that nothing is to be fixed.

    What is not known may all be training work: a check of the result's quality tells of it.
    """
    return losses.lost_share is not None and losses.lost_share > 1 - TRAINS


def _lost(results: Results, losses: LossAccount | None) -> str:
    """What most time was lost to, where too much is lost to say that nothing is to be fixed."""
    if losses is None or not much_is_lost(losses):
        return ""
    largest = _largest(losses, len(results.trace.ranks))
    lost = _of_whole(results, losses.lost_share or 0.0)
    return f"{lost} of the {_whole_text(results)} went to {NOT_USEFUL}.{largest}".rstrip(".")


def largest_loss(losses: LossAccount | None, told: str, ranks: int) -> int | None:
    """The place in the account of the loss that sentences name as the largest; None for none."""
    words = _largest(losses, ranks).rstrip(".") if losses is not None else ""
    return _largest_place(losses) if losses is not None and words and words in told else None


def _largest_place(losses: LossAccount) -> int | None:
    """The place in the account of the largest cause of lost time; None where none is large."""
    mine = [place for place, one in enumerate(losses.entries) if one.cause.kind not in NO_LOSS]
    # what comes once is judged by how long the run is, and leaves the place to what lasts
    lasting = [place for place in mine if not is_once(losses.entries[place])]
    first = next(iter(lasting or mine), None)
    if first is None or losses.entries[first].ns < WARN_SHARE * losses.window_ns:
        return None
    return first


def _largest(losses: LossAccount, ranks: int) -> str:
    """The largest cause of lost time, as a sentence after others; "" where none is large."""
    found = _largest_place(losses)
    if found is None:
        return ""
    first = losses.entries[found]
    is_told = first.pattern is not None and first.is_certain is not False
    pattern = f", {spread(first.pattern, ranks)}" if is_told and first.pattern else ""
    where = f" in {wording.place(first.frame)}" if first.frame else ""
    each = f"{format_seconds(first.ns * NS / ranks)}{' per rank' if ranks > 1 else ''}"
    what = f"{inside(label(first))}{_for_whom(first)}{where}"
    evened = _evened(first, losses.window_ns * NS / ranks)
    return f" The largest loss is {what}: {each}{pattern}{evened}."


def _for_whom(entry: Entry) -> str:
    """Whom most of the waiting is for, where that is one rank in every step."""
    is_told = entry.cause.kind is LossKind.WAITING and entry.pattern is LossPattern.STATIC
    if not is_told or entry.is_certain is False or entry.first_share <= MAIN:
        return ""
    return f", mostly for {wording.ranks(entry.ranks[:1])},"


def _evened(entry: Entry, window_s: float) -> str:
    """What is saved where no rank is late; nobody knows whether the work can be dealt out so."""
    saving = entry.saving
    if entry.cause.kind is not LossKind.WAITING or not isinstance(saving, Saving):
        return ""
    if saving.seconds < WARN_SHARE * window_s:
        return ""
    shorter = f"the run would be {format_seconds(saving.seconds)} shorter"
    return f"; if all ranks took equally long, {shorter}"


def _inefficient(leading: Headline, subject: str, lost: str) -> str:
    """That much is lost; the parallel efficiency counts less than all of it, which is said."""
    if not lost or leading.value is None or leading.id != "parallel_efficiency":
        why = lost or leading.lost_to
        return f"Efficiency is low: {subject}{why and f'; {why}'}."
    return (
        f"Efficiency is low: {lost}. Parallel efficiency, {format_ratio(leading.value)}, counts "
        "only what ranks lose to each other."
    )


def unknown_efficiency(results: Results) -> str | None:
    """Why the efficiency of a run of several ranks is not known; None where it is, or was told."""
    trace = results.trace
    is_lone = trace.format is Format.PERFSCOPE and len(trace.ranks) == 1
    if is_lone or apart(results) or why_spoiled(results.damage, Need.EVERY_RANK):
        return None  # a lone process needs none, of a damaged run it is said already
    whole = headline(results)
    return whole.reason if whole.value is None else None


def _found_nothing(results: Results, losses: LossAccount | None) -> str:
    if losses is not None and not is_well(losses):
        return "No problem was found"
    if any(damage.id == "endings" for damage in results.damage):
        return "Up to that point all was well"
    return "All is well"


def is_inefficient(results: Results) -> bool:
    """Whether the ranks lost so much that "nothing to fix" would mislead."""
    value = headline(results).value
    return value is not None and value < GOOD_EFFICIENCY
