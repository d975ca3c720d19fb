"""The verdict: one sentence about the run, and what the best fixes save together."""

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from functools import partial

from perfscope.document.assurance import assurance
from perfscope.document.damage import spoils_comparison
from perfscope.document.endings import failed_with
from perfscope.document.headline import headline, outside, unwatched
from perfscope.document.hottest import hottest
from perfscope.document.no_finding import (
    UNKNOWN,
    first_action,
    is_inefficient,
    is_well,
    largest_loss,
    unknown_efficiency,
    without_findings,
)
from perfscope.document.others import (
    IF_PROGRAM,
    beside_others,
    host_first,
    host_gain,
    may_be_host,
    used_by_others,
    wholes_beside,
    why_so_much,
)
from perfscope.document.splits import as_measured, is_told_idle, of_this_run, under_load_s
from perfscope.document.track_record import track_record
from perfscope.findings.core import thresholds
from perfscope.findings.core.catalog import how_to_be_whole
from perfscope.findings.core.certainty import is_firm
from perfscope.findings.core.finding import Finding, Gain
from perfscope.findings.core.gain import replayed
from perfscope.findings.core.of_whole_run import gain_of_run
from perfscope.findings.core.order import likely_share
from perfscope.findings.facts.facts import Facts
from perfscope.judging import MAJOR
from perfscope.losses.entry import LossAccount
from perfscope.metrics.results import Results
from perfscope.output import LONGEST_TEXT
from perfscope.replay.model import Edit, Level, Prediction
from perfscope.replay.replay import Predicts
from perfscope.savings import BOUNDED_HALF, REPLAYED_HALF, Beside, Wholes, is_more
from perfscope.schema.enums import NoInterval, Status
from perfscope.schema.findings import QualityRow
from perfscope.schema.run import Verdict
from perfscope.trace.damage import Damage
from perfscope.units import format_count, format_seconds, inside

MOST = 3
FIRST = "singleton_worlds"  # makes the meaning of all others another


def verdict(
    run: Facts,
    findings: Sequence[Finding],
    damage: Sequence[Damage],
    losses: LossAccount | None = None,
    checks: Sequence[QualityRow] = (),
) -> Verdict:
    """The `verdict` object of analysis.json, from findings in the order of the document."""
    results = run.results
    faults = [finding for finding in findings if finding.status.is_fault]
    top = _worth_most(faults)
    gain_s = combined_gain(run.on_free_cpus, top, results=results)
    counted = _counted(top) if gain_s is not None else []
    told, record = {one.id for one in damage}, ""
    others = run.other_processes_gain
    others = others if others and thresholds.of_host(others) is Status.FAIL else None
    of_run, is_disturbed = host_gain(run), others is not None
    of = wholes_beside(results, of_run)
    if not top:
        of_job = without_findings(results, findings, losses, is_disturbed=is_disturbed)
    else:
        of_job, record = _about(top[0], of, told), _how_near(top[0], of)
    host = _host(run, top, of_run, of)
    assured = partial(assurance, results, findings, losses, checks)
    beside = beside_others(_with_outside(of_job, results, top), top, host)
    whole = "" if top and top[0].damage in told else how_to_be_whole(results)
    sentence = _preface(damage, whole if top else "") + beside + _kept(results)
    status = _status(results, findings, faults, damage=damage, losses=losses)
    is_first = not top or bool(failed_with(results.trace))
    found = Verdict(
        sentence=" ".join(filter(None, (sentence + unwatched(results), host if top else ""))),
        host=host,
        assurance="" if top or damage else assured(is_disturbed=is_disturbed),
        action=first_action(run, findings, status, others) if is_first else "",
        hot_spots=_hot_spots(run, top),
        status=status,
        efficiency=headline(results).judged,
        combined_gain_s=gain_s,
        combined_gain_share=share_of(gain_s, of.window_s),
        combined_gain_run_share=share_of(gain_s, of.run_s),
        combined_of=tuple(finding.id for finding in counted),
        combined_text=_combined_text(run, top, gain_s, of),
        top=tuple(finding.id for finding in top),
        largest_loss=None if top else largest_loss(losses, of_job, len(results.trace.ranks)),
        track_record=record,
    )
    return found if of_run is None else _beside_idle_host(run, of_run, found)


def _beside_idle_host(run: Facts, others: Gain, found: Verdict) -> Verdict:
    """The verdict with what other processes cost, and how long the run takes without them."""
    idle = run.idle_run
    return replace(
        found,
        others_s=others.seconds,
        idle_low_s=idle.low_s if idle else None,
        idle_high_s=idle.high_s if idle else None,
    )


def _host(run: Facts, top: Sequence[Finding], others: Gain | None, of: Wholes) -> str:
    """What processes outside the job cost, how much they used, and why it costs so much."""
    if others is None:
        return ""
    idle, why = run.idle_run, why_so_much(run.results, others)
    ends = (idle.low_s, idle.high_s) if idle else None
    return host_first(top, others, of, used=used_by_others(run.results), why=why, ends=ends)


def _how_near(finding: Finding, of: Wholes) -> str:
    """Where the range of the saving in the sentence comes from; "" where the run tells it."""
    saving = finding.recommended
    odds = _odds(_told(saving, of), of) if saving is not None else None
    if saving is None or odds is None:
        return ""
    return track_record(is_bound=saving.is_bound, end=_end(_told(saving, of), odds[1]))


def told_range(finding: Finding, of: Wholes) -> tuple[float, float] | None:
    """Between what the saving is told to lie; None where no range is told."""
    saving = finding.recommended
    if saving is None:
        return None
    told = _told(saving, of)
    return _odds(told, of) or (None if told.is_bound else told.interval_s)


def _told(saving: Gain, of: Wholes) -> Gain:
    """What the sentence tells: the saving on an idle host, or else that of this run."""
    return saving if is_told_idle(saving, of) else as_measured(saving)


def _end(saving: Gain, high_s: float) -> str:
    """Why a range ends before those of other programs do; "" where it does not."""
    least_s = (BOUNDED_HALF if saving.is_bound else REPLAYED_HALF)[1] * saving.seconds
    if not is_more(least_s, high_s):
        return ""
    most = "an even split frees no more" if _is_split(saving) else "it takes no more"
    if saving.spent and saving.spent.most_s:
        most = "no rank loses more"
    return f"here, {most} than {format_seconds(high_s)}"


def _odds(saving: Gain, of: Wholes) -> tuple[float, float] | None:
    """The range of such fixes of other programs; None where it is not the one to tell."""
    spent = saving.spent
    most_s = (spent.most_s or spent.seconds) * _idle_part(saving) if spent else None
    if spent is not None and most_s is not None:
        most_s = max(most_s, saving.seconds) if spent.is_gone else most_s + of.meets_s
    is_split = _is_split(saving)
    if is_split:  # the ranks wait no longer than that
        most_s = most_s if most_s and is_more(most_s, saving.seconds) else saving.seconds
    if saving.no_interval is NoInterval.UNSEEN:  # a part of it was not measured
        return None
    return of.odds(
        saving.seconds,
        is_bound=saving.is_bound,
        interval=saving.interval_s,
        is_by_assumption=saving.is_by_assumption,
        most_s=most_s,
        is_exact=is_split or (spent is not None and spent.is_exact),
    )


def _hot_spots(run: Facts, top: Sequence[Finding]) -> str:
    """What computes most; beside a major problem it would only lead to other places."""
    saving = top[0].recommended if top else None
    if saving is None:
        is_major = bool(top) and top[0].status is Status.FAIL
    else:
        is_major = saving.share >= MAJOR
    if is_major:
        return ""
    named = [one.where[0] for one in top if one.where]
    return hottest(run, named, LONGEST_TEXT, is_alone=not top)


def _with_outside(of_window: str, results: Results, top: Sequence[Finding]) -> str:
    """What is said of the analyzed window, and where most seconds went if that is not in it.

    What can be had comes first: a finding says what to change, the time outside only where it
    passed. Without a finding that time leads.
    """
    saving = top[0].recommended if top else None
    told = outside(results, saving.seconds if saving else 0.0)
    if not told:
        return of_window
    return (
        f"{of_window} {told}" if top else f"{told} Apart from start-up and end: {inside(of_window)}"
    )


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
    is_failed = finding.status is Status.FAIL
    return finding.id != FIRST, not is_failed, not is_firm(finding), -likely_share(finding)


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
    if damage or faults or is_inefficient(results):
        return Status.WARN
    if all(finding.status in UNKNOWN for finding in findings) or unknown_efficiency(results):
        return Status.INFO
    if losses is not None and not is_well(losses):
        # nobody knows the change that gives it back, which is not to have passed
        return Status.INFO
    return Status.PASS


def _combined_text(
    run: Facts, top: Sequence[Finding], gain_s: float | None, of: Wholes
) -> str | None:
    """What findings save together, as each of them is told; `gain_s` is that on an idle host."""
    if of.idle_s:
        return combined_text(top, gain_s, of)
    here = [of_this_run(one) for one in top]
    if gain_s is not None and run.on_free_cpus.load.edits:
        gain_s = combined_gain(run.replay, here, results=run.results)
    return combined_text(here, gain_s, of)


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


def _about(finding: Finding, of: Wholes, damaged: AbstractSet[str]) -> str:
    """The sentence about the most costly finding, and what its first action saves.

    "" where it is about one of the damages, which are told already.
    """
    if finding.damage in damaged:
        return ""
    saving = finding.recommended
    if saving is None:
        return f"{finding.title}.{_unpriced(finding, of)}"
    is_idle, ranged = is_told_idle(saving, of), _told(saving, of)
    of_host = of.run_s and of.idle_s and may_be_host(finding, of.run_s - of.idle_s)
    told = of.fix(
        as_measured(saving).seconds,
        is_bound=saving.is_bound,
        interval=ranged.interval_s,
        is_least=saving.no_interval is NoInterval.UNSEEN,
        beside=Beside(
            ends=_odds(ranged, of),
            idle_s=saving.seconds if is_idle else None,
            condition=IF_PROGRAM if of_host else "",
        ),
    )
    return f"{finding.title}. The fix would save {told}."


def _idle_part(saving: Gain) -> float:
    """What it saves on an idle host, by what it saves with the load of this run."""
    return saving.seconds / (under_load_s(saving) or saving.seconds or 1.0)


def _is_split(saving: Gain) -> bool:
    """Whether it deals out the same work evenly, so that no fix of that kind saves more."""
    return bool(saving.edits) and all(
        one.level in (Level.EVEN, Level.SHARED) for one in saving.edits
    )


def _unpriced(finding: Finding, of: Wholes) -> str:
    """How much a finding is about that claims no seconds; "" where nobody knows."""
    stake = finding.at_stake
    if stake is None:
        return ""
    told = f"{format_seconds(stake.seconds)} ({of.of_run.shares(stake.seconds)})"
    return f" Up to {told} is at stake: a run with the first action tells how much of it is saved."


def _kept(results: Results) -> str:
    """That the run was thinned, which is no damage: its totals are whole."""
    whole = results.whole_run
    if whole is None:
        return ""
    return (
        f" Details come from {format_count(whole.kept)} of {format_count(whole.ended)} "
        f"{whole.unit.label}; efficiency and savings cover all of them."
    )


def _preface(damage: Sequence[Damage], how_to_be_whole: str) -> str:
    """What must be said first: what is wrong with the recording, what to do, what is withheld."""
    said = " ".join(one.text for one in damage)
    if spoils_comparison(damage):
        said += f" {how_to_be_whole}".rstrip() + " Figures that need every rank are withheld."
    return f"{said} " if said else ""
