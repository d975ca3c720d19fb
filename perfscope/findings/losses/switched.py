"""What a mode costs that slows down all that runs under it: one finding of its price and cause."""

from collections.abc import Sequence
from dataclasses import replace

from perfscope.findings.core.finding import Evidence, Finding, Gain, Spent
from perfscope.findings.core.wording import place
from perfscope.findings.facts.facts import Facts
from perfscope.findings.facts.serial_work import own_seconds
from perfscope.findings.facts.shorter_phases import without_share
from perfscope.metrics.efficiency.phases import PhaseResult
from perfscope.schema.enums import Basis, Confidence, NoInterval, PhaseKind
from perfscope.trace.switches import searched
from perfscope.units import format_seconds, format_share

SEARCHED = (
    "The gradients of backward passes in this mode are searched for NaN as well, in compiled code "
    "that no sample shows: {share} of all backward passes, by the sizes of the gradients and what "
    "a search of each size took on this CPU when the program was over. Without both the run would "
    "be {seconds} shorter."
)
LEAD = "that tracebacks and the search for NaN take"


def priced(run: Facts, lost: Finding, told: Finding) -> Finding:
    """What is lost to a mode, under the title, at the place and with the remedy of the mode.

    The line to change is the one that sets it; those that cost most stand behind that. What it
    costs in compiled code no sample shows: without a measure of all that it may save more.
    """
    found = replace(
        lost,
        title=_title(lost, told),
        where=tuple(dict.fromkeys((*told.where, *lost.where))),
        evidence=(*told.evidence, *_costs(lost, told), *lost.evidence),
        actions=told.actions,
        confidence=Confidence.MEDIUM,
        is_elsewhere=lost.is_elsewhere and not told.where,
    )
    if lost.gain is None:
        return replace(found, confidence=lost.confidence)
    return _with_search(run, found, lost.gain) or _at_least(found, lost.gain)


def _title(lost: Finding, told: Finding) -> str:
    """What the cause is, with the line that sets it, or else the one at which it costs most."""
    where = place(lost.where[0]) if lost.where and not told.where else ""
    return f"{told.title}, which costs most in {where}" if where else told.title


def _costs(lost: Finding, told: Finding) -> Sequence[Evidence]:
    """Where it costs most, if that is not the place of the finding."""
    where = place(lost.where[0]) if lost.where else ""
    return (Evidence("Costs most in", where),) if told.where and where else ()


def _at_least(found: Finding, gain: Gain) -> Finding:
    return replace(found, gain=replace(gain, interval_s=None, no_interval=NoInterval.UNSEEN))


def _with_search(run: Facts, found: Finding, gain: Gain) -> Finding | None:
    """The finding with what searching gradients costs as well; None where that is not known."""
    told_by = {rank.number: searched(rank.framework("torch")) for rank in run.results.trace.ranks}
    seen = {rank: one for rank, one in told_by.items() if one is not None}
    shares = {rank: one.share for rank, one in seen.items()}
    passes = [one for one in run.results.phases if one.kind is PhaseKind.BACKWARD]
    if not shares or not passes or gain.basis is not Basis.REPLAY or not run.replay.available:
        return None
    search = without_share(run, passes, shares)
    if search.basis is not Basis.REPLAY or search.seconds <= 0.0:
        return None
    is_whole = all(one is not None and one.is_whole for one in told_by.values())
    # no traceback is kept in a backward pass: what the two take adds up
    whole = replace(
        gain.of(gain.seconds + search.seconds),
        edits=(*gain.edits, *search.edits),
        interval_s=None,
        no_interval=NoInterval.PARTS if is_whole else NoInterval.UNSEEN,
        own_s=None,
        spent=_spent(gain, passes, shares),
    )
    share = max(shares.values())
    told = SEARCHED.format(share=format_share(share), seconds=format_seconds(whole.seconds))
    rows = tuple(
        Evidence(f"Of the backward passes of rank {rank}, the search for NaN", format_share(one))
        for rank, one in shares.items()
    )
    summary = f"{found.summary} {told}"
    return replace(found, gain=whole, summary=summary, evidence=(*found.evidence, *rows))


def _spent(gain: Gain, passes: Sequence[PhaseResult], shares: dict[int, float]) -> Spent | None:
    """What tracebacks and the search take a rank, on average."""
    if gain.spent is None:
        return None
    seconds = [
        spent_s * shares.get(rank, 0.0)
        for one in passes
        for rank, spent_s in zip(one.ranks, own_seconds(one), strict=True)
    ]
    more_s = sum(seconds) / max(1, len(shares))
    return replace(gain.spent, seconds=gain.spent.seconds + more_s, lead=LEAD)
