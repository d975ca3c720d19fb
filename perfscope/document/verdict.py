"""The verdict: one sentence about the run, and what the best fixes save together."""

from collections.abc import Sequence
from collections.abc import Set as AbstractSet

from perfscope.attribution.soundness import why_spoiled
from perfscope.document import tensors
from perfscope.document.blocks import leaders
from perfscope.document.damage import spoils_comparison
from perfscope.document.headline import Headline, apart, headline, outside, unwatched
from perfscope.document.hottest import hottest
from perfscope.document.others import beside_others, used_by_others
from perfscope.document.without_efficiency import known_without_efficiency
from perfscope.findings.core import thresholds
from perfscope.findings.core.catalog import how_to_be_whole
from perfscope.findings.core.certainty import is_firm
from perfscope.findings.core.finding import Finding, Gain
from perfscope.findings.core.gain import replayed
from perfscope.findings.core.of_whole_run import gain_of_run
from perfscope.findings.core.order import LIKELY, likely_share
from perfscope.findings.core.thresholds import WARN_SHARE
from perfscope.findings.core.wording import of_window, place, wholes_of_run
from perfscope.findings.facts.facts import Facts
from perfscope.losses.entry import NO_LOSS, LossAccount
from perfscope.losses.words import label
from perfscope.metrics.results import Results
from perfscope.output import LONGEST_TEXT
from perfscope.replay.model import Edit, Prediction
from perfscope.replay.replay import Predicts
from perfscope.savings import Wholes
from perfscope.schema.enums import LossKind, Status
from perfscope.schema.losses import NOT_USEFUL, spread
from perfscope.schema.run import Verdict
from perfscope.trace.damage import Damage, Need
from perfscope.trace.model import Format
from perfscope.units import NS, format_count, format_ratio, format_seconds, format_share, of_all

MOST = 3
TRAINS = 0.95
"""Of the ranks' time in the focus: with less training work, something is lost that is named."""

GOOD_EFFICIENCY = 0.8
"""Below this parallel efficiency a run without findings is not called healthy."""

UNPRICED_SHARE = 0.1  # of the focus: the bound that a fault without seconds is ranked as
FIRST = "singleton_worlds"  # makes the meaning of all others another
MOST_CHARACTERS = 300  # of the reasons why nothing can be said: a terminal shows a sentence whole
STRETCHED = {
    *(LossKind.OTHER_PROCESSES, LossKind.CPU_WAIT),
    *(LossKind.WAITING, LossKind.TRANSFER, LossKind.COMMUNICATION),
}
"""Kinds of loss that take longer where other processes use the host's CPUs."""
UNKNOWN = {Status.NOT_MEASURED, Status.NOT_APPLICABLE, Status.ERROR}


def verdict(
    run: Facts,
    findings: Sequence[Finding],
    damage: Sequence[Damage],
    losses: LossAccount | None = None,
) -> Verdict:
    """The `verdict` object of analysis.json, from findings in the order of the document."""
    results = run.results
    faults = [finding for finding in findings if finding.status.is_fault]
    top = _worth_most(faults)
    gain_s = combined_gain(run.on_free_cpus, top, results=results)
    counted = _counted(top) if gain_s is not None else []
    of = wholes_of_run(results)
    told = {one.id for one in damage}
    others = run.other_processes_gain
    others = others if others and thresholds.of_host(others) is Status.FAIL else None
    of_job = _with_outside(
        _sentence(results, findings, top, told=told, losses=losses, is_disturbed=bool(others)),
        results,
        top,
    )
    beside = beside_others(of_job, top, others, of, used=used_by_others(results))
    whole = "" if top and top[0].damage in told else how_to_be_whole(results)
    sentence = _preface(damage, whole if top else "") + _kept(results) + beside
    last = unwatched(results)
    return Verdict(
        sentence=sentence + _hottest(run, top, LONGEST_TEXT - len(sentence + last)) + last,
        status=_status(results, findings, faults, damage=damage, losses=losses),
        efficiency=headline(results).judged,
        combined_gain_s=gain_s,
        combined_gain_share=share_of(gain_s, of.window_s),
        combined_gain_run_share=share_of(gain_s, of.run_s),
        combined_of=tuple(finding.id for finding in counted),
        combined_text=combined_text(top, gain_s, of),
        top=tuple(finding.id for finding in top),
    )


def _hottest(run: Facts, top: Sequence[Finding], room: int) -> str:
    """What computes most, in so many characters at most: a verdict is shown in full.

    Beside a major problem, or one that may be one, it would only lead to other places.
    """
    saving = top[0].recommended if top else None
    is_major = saving is not None and thresholds.by_gain(saving) is Status.FAIL
    if is_major or (top and top[0].status is Status.FAIL):
        return ""
    return hottest(run, [one.where[0] for one in top if one.where], room, is_alone=not top)


def _with_outside(of_window: str, results: Results, top: Sequence[Finding]) -> str:
    """What is said of the analyzed window, and where most seconds went if that is not in it.

    What can be had comes first: a finding says what to change, the time outside only where it
    passed. Without a finding that time leads.
    """
    saving = top[0].recommended if top else None
    told = outside(results, saving.seconds if saving else 0.0)
    if not told:
        return of_window
    return f"{of_window} {told}" if top else f"{told} In the analyzed window: {of_window}"


def _worth_most(faults: Sequence[Finding]) -> list[Finding]:
    """The faults to be shown first; those without seconds leave a place to one that has them."""
    ordered = sorted(faults, key=_weight)
    top = ordered[:MOST]
    if len(top) < MOST or any(finding.gain_s is not None for finding in top):
        return top
    priced = [one for one in ordered[MOST:] if one.gain_s is not None]
    same = [one for one in priced if one.status is top[-1].status]
    return [*top[:-1], same[0]] if same else top


def share_of(seconds: float | None, whole_s: float | None) -> float | None:
    """Seconds as a share of a whole; None where either is not known."""
    return seconds / whole_s if seconds is not None and whole_s else None


def _weight(finding: Finding) -> tuple[bool, bool, bool, float]:
    """Failed ones first, then firm ones, then by what can be had; without seconds it is much."""
    is_priced = finding.recommended is not None
    share = likely_share(finding) if is_priced else LIKELY * UNPRICED_SHARE
    is_failed = finding.status is Status.FAIL
    return finding.id != FIRST, not is_failed, not is_firm(finding), -share


def combined_gain(replay: Predicts, top: Sequence[Finding], *, results: Results) -> float | None:
    """Seconds that the first actions of the findings save when all are taken; gains do not add.

    Together they give no less than the best of them alone, and no more than their sum is claimed.
    Findings without seconds do not count; without a replay only a single finding has a number, and
    a bound that was not replayed is no part of a sum.
    """
    counted = _savings(_counted(top))
    if len(counted) < 2:
        return counted[0].seconds if counted else None
    prediction = _together(replay, counted)
    if prediction is None:
        return None
    single = [saving.seconds for saving in counted]
    together_s = gain_of_run(replayed(results, prediction, ()), results).seconds
    return min(max(together_s, *single), sum(single))


def _counted(top: Sequence[Finding]) -> list[Finding]:
    """The findings whose savings count together: the only one with seconds, or all replayable."""
    priced = [finding for finding in top if finding.recommended is not None]
    if len(priced) == 1:
        return priced
    found = [one for one in priced if one.recommended is not None and one.recommended.edits]
    return found if len(found) > 1 else []


def _savings(findings: Sequence[Finding]) -> list[Gain]:
    """What the first action of each finding saves, of those that claim seconds."""
    return [saving for finding in findings if (saving := finding.recommended) is not None]


def _together(replay: Predicts, savings: Sequence[Gain]) -> Prediction | None:
    edits: list[Edit] = [edit for saving in savings for edit in saving.edits]
    # what a rank does alone goes first: what is left is then compared between the ranks
    relative = [edit for edit in edits if edit.level is not None and edit.account is None]
    absolute = [edit for edit in edits if edit not in relative]
    return replay.predict([*dict.fromkeys(absolute), *dict.fromkeys(relative)])


def _status(
    results: Results,
    findings: Sequence[Finding],
    faults: Sequence[Finding],
    *,
    damage: Sequence[Damage],
    losses: LossAccount | None,
) -> Status:
    if spoils_comparison(damage) or any(finding.status is Status.FAIL for finding in faults):
        return Status.FAIL
    if damage or faults or _is_inefficient(results):
        return Status.WARN
    if all(finding.status in UNKNOWN for finding in findings) or _unknown_efficiency(results):
        return Status.INFO
    if losses is not None and much_is_lost(losses):
        # nobody knows the change that gives it back, which is not to have passed
        return Status.INFO
    return Status.PASS


def _sentence(
    results: Results,
    findings: Sequence[Finding],
    top: Sequence[Finding],
    *,
    told: AbstractSet[str],
    losses: LossAccount | None,
    is_disturbed: bool,
) -> str:
    if not top:
        return _healthy(results, findings, losses, is_disturbed=is_disturbed)
    blocks = len(top) - len(leaders(top))
    others = {1: "", 2: " There is 1 more problem."}.get(blocks, " There are 2 more problems.")
    first = "" if top[0].damage in told else _about(top[0], wholes_of_run(results))
    return (first + others).strip()


def combined_text(top: Sequence[Finding], gain_s: float | None, of: Wholes) -> str | None:
    """What the first actions save when taken together, as a clause that says which count.

    None where fewer than two were replayed at once, or one that was not saves more than these.
    """
    counted = _savings(top)
    replayed = [saving for saving in counted if saving.edits]
    if gain_s is None or len(replayed) < 2 or gain_s < max(one.seconds for one in counted):
        return None
    which = "both" if len(top) == 2 else "all of them"
    if len(replayed) < len(counted):
        which = "both findings that can be simulated"
    elif len(replayed) < len(top):
        which = "both findings that have an estimate"
    is_bound = any(saving.is_bound for saving in replayed)
    return f"fixing {which} would save {of.of_run.saving(gain_s, is_bound=is_bound)}"


def _about(finding: Finding, of: Wholes) -> str:
    """The sentence about the most costly finding, and what its first action saves."""
    saving = finding.recommended
    if saving is None:
        return f"{finding.title}."
    is_bound = saving.is_bound
    told = of.of_run.saving(
        saving.seconds,
        is_bound=is_bound,
        interval=saving.interval_s,
        is_by_assumption=saving.is_by_assumption,
    )
    return f"{finding.title}. Estimated saving: {told}. {saving.bridge}".rstrip()


def _healthy(
    results: Results,
    findings: Sequence[Finding],
    losses: LossAccount | None = None,
    *,
    is_disturbed: bool = False,
) -> str:
    judged = [finding for finding in findings if finding.status not in UNKNOWN]
    if not judged and (told := tensors.sentence(results)):
        return told
    if unknown := _unknown_efficiency(results):
        known = known_without_efficiency(results)
        return f"The efficiency of this run is not known: {unknown}.{known}"
    if not judged:
        if why_spoiled(results.damage, Need.EVERY_RANK):
            return how_to_be_whole(results)
        open_ones = [finding.summary for finding in findings if finding.status.is_unmade]
        reasons = list(dict.fromkeys(open_ones or [finding.summary for finding in findings]))
        said = "Nothing can be said about this run."
        for place, reason in enumerate(reasons):
            if place and len(said) + len(reason) >= MOST_CHARACTERS:
                break
            said += f" {reason}"
        return said
    not_made = sum(finding.status.is_unmade for finding in findings)
    rest = f" {not_made} of {len(findings)} diagnoses could not run." if not_made else ""
    if why_spoiled(results.damage, Need.EVERY_RANK):
        return f"The recorded ranks alone give no finding.{rest} {how_to_be_whole(results)}"
    leading = headline(results)
    ranks = len(results.trace.ranks)
    number = "" if leading.value is None else f", {leading.label} {format_ratio(leading.value)}"
    subject = f"{'1 process' if ranks == 1 else f'{ranks} ranks'}{number}"
    alone = apart(results)
    if _is_inefficient(results) and not is_disturbed:
        lost = _lost(losses, ranks)
        return _inefficient(leading, subject, lost) + rest
    if losses is not None and much_is_lost(losses):
        no_change = f"perfscope found no change that would save at least {of_window(WARN_SHARE)}"
        share = f"{format_share(losses.lost_share)} of {of_all('time', ranks)} there"
        used = f"{share} went to {NOT_USEFUL}{_largest(losses, ranks, is_disturbed=is_disturbed)}"
        return f"{alone}{no_change}. {used}.{rest}"
    return (
        f"{alone}{_found_nothing(results)}: {subject}{_little(losses, ranks)}, and no finding is "
        f"worth {of_window(WARN_SHARE)}.{rest}"
    )


def _little(losses: LossAccount | None, ranks: int) -> str:
    """What share was lost, as a clause; "" where nobody knows."""
    if losses is None or losses.lost_share is None:
        return ""
    if not losses.lost_share:
        return f", none of {of_all('time', ranks)} is known to be lost"
    return f", {_went(losses, ranks)}"


def _went(losses: LossAccount, ranks: int) -> str:
    share = f"{format_share(losses.lost_share)} of {of_all('time', ranks)} in the analyzed window"
    return f"{share} went to {NOT_USEFUL}"


def much_is_lost(losses: LossAccount) -> bool:
    """Whether too much is lost to a known cause to say that nothing is to be fixed.

    What is not known may all be training work: a check of the result's quality tells of it.
    """
    return losses.lost_share is not None and losses.lost_share > 1 - TRAINS


def _lost(losses: LossAccount | None, ranks: int) -> str:
    """What most time was lost to, where too much is lost to say that nothing is to be fixed."""
    if losses is None or not much_is_lost(losses):
        return ""
    return f"{_went(losses, ranks)}{_largest(losses, ranks, is_disturbed=False)}"


def _largest(losses: LossAccount, ranks: int, *, is_disturbed: bool) -> str:
    """The largest cause of lost time, as the rest of a sentence.

    Where it was just told what other work on the host costs, that is part of the share, and how
    long messages and late ranks took is no measure of what they would without it.
    """
    included = ", including what other processes take" if is_disturbed else ""
    not_own = NO_LOSS | STRETCHED if is_disturbed else NO_LOSS
    first = next((one for one in losses.entries if one.cause.kind not in not_own), None)
    if first is None or first.ns < WARN_SHARE * losses.window_ns:
        return included
    is_told = first.pattern is not None and first.is_certain is not False
    pattern = f", {spread(first.pattern, ranks)}" if is_told and first.pattern else ""
    where = f" in {place(first.frame)}" if first.frame else ""
    each = f"{format_seconds(first.ns * NS / ranks)}{' per rank' if ranks > 1 else ''}"
    own = " besides communication and waiting for other ranks" if is_disturbed and ranks > 1 else ""
    return (
        f"{included}. Of its causes{own}, the largest is “{label(first)}”{where}: {each}{pattern}"
    )


def _inefficient(leading: Headline, subject: str, lost: str) -> str:
    """That much is lost; the parallel efficiency counts less than all of it, which is said."""
    if not lost or leading.value is None or leading.id != "parallel_efficiency":
        why = lost or leading.lost_to
        return f"Efficiency is low: {subject}{why and f'; {why}'}."
    return (
        f"Efficiency is low: {lost}. Parallel efficiency, {format_ratio(leading.value)}, counts "
        "only what ranks lose to each other."
    )


def _unknown_efficiency(results: Results) -> str | None:
    """Why the efficiency of a run of several ranks is not known; None where it is, or was told."""
    trace = results.trace
    is_lone = trace.format is Format.PERFSCOPE and len(trace.ranks) == 1
    if is_lone or apart(results) or why_spoiled(results.damage, Need.EVERY_RANK):
        return None  # a lone process needs none, of a damaged run it is said already
    whole = headline(results)
    return whole.reason if whole.value is None else None


def _found_nothing(results: Results) -> str:
    if any(damage.id == "endings" for damage in results.damage):
        return "Up to that point nothing to fix was found"
    return "Nothing to fix was found"


def _is_inefficient(results: Results) -> bool:
    """Whether the ranks lost so much that "nothing to fix" would mislead."""
    value = headline(results).value
    return value is not None and value < GOOD_EFFICIENCY


def _kept(results: Results) -> str:
    """That the run was thinned, which is no damage: its totals are whole."""
    whole = results.whole_run
    if whole is None:
        return ""
    return (
        f"Details are of {format_count(whole.kept)} of {format_count(whole.ended)} "
        f"{whole.unit.label}, efficiency and savings are of all of them. "
    )


def _preface(damage: Sequence[Damage], how_to_be_whole: str) -> str:
    """What must be said first: what is wrong with the recording, what to do, what is withheld."""
    said = " ".join(one.text for one in damage)
    if spoils_comparison(damage):
        said += f" {how_to_be_whole}".rstrip() + " Figures that need every rank are withheld."
    return f"{said} " if said else ""
