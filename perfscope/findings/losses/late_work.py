"""Why ranks are late, where it is known: what they do more of has a cure of its own."""

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import replace

from perfscope.findings.core import wording
from perfscope.findings.core.finding import Finding
from perfscope.findings.facts.facts import Facts
from perfscope.findings.facts.helper_threads import UNEVEN
from perfscope.findings.facts.only_here import shared_frames
from perfscope.findings.facts.own_callers import SELDOM
from perfscope.findings.losses.groups import NEEDED, lost_to
from perfscope.findings.losses.told import told_only
from perfscope.judging import MAIN
from perfscope.metrics.results import Results
from perfscope.schema.enums import Activity
from perfscope.units import capitalized, format_share

BY_ID = {lost_to(activity): activity for activity in NEEDED}


def others_do_without(results: Results, late: Finding, activity: Activity | None) -> bool:
    """Whether ranks that run the same function as late ones need next to none of an activity.

    Then the late ranks need not do it, either: it is none of the work that could be dealt out.
    """
    if activity not in NEEDED or late.id not in UNEVEN or not late.where:
        return False
    is_shared = late.where[0].key in {one.key for one in shared_frames(results, *late.ranks)}
    return is_shared and _part_of_others(results, late, activity) < SELDOM


def _part_of_others(results: Results, late: Finding, activity: Activity) -> float:
    """What an activity takes the others, on average, of what it takes the late ranks."""
    spent = Counter[int]()
    for row in results.activities.rows:
        if row.activity is activity:
            spent[row.rank] += row.ns
    rest = [rank.number for rank in results.trace.ranks if rank.number not in late.ranks]
    mine_ns = sum(spent[rank] for rank in late.ranks) / max(len(late.ranks), 1)
    return sum(spent[rank] for rank in rest) / max(len(rest), 1) / max(mine_ns, 1.0)


def with_comparison(run: Facts, findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """The findings; what only late ranks need is told with what the others need of it."""
    late = {one.overlaps[-1]: one for one in findings if one.id in UNEVEN and one.overlaps}
    return tuple(
        _compared(run.results, one, late[one.id])
        if one.status.is_fault and one.id in BY_ID and one.id in late
        else one
        for one in findings
    )


def _compared(results: Results, cause: Finding, late: Finding) -> Finding:
    rest = [rank.number for rank in results.trace.ranks if rank.number not in late.ranks]
    part = format_share(_part_of_others(results, late, BY_ID[cause.id]))
    runs, spends = ("runs", "spends") if len(rest) == 1 else ("run", "spend")
    place = wording.called(late.where[0])
    look = (
        f"{wording.ranks(rest)} {runs} {place} as well, but {spends} only {part} as long on it: "
        f"have {wording.ranks(late.ranks)} keep results instead of redoing the work, for example "
        "in a cache that is large enough for all that the rank goes through."
    )
    first, *more = cause.actions
    frames = tuple(dict.fromkeys((*cause.where, *late.where)))
    return replace(cause, actions=(f"{capitalized(look)} {first}", *more), where=frames)


def told_by_their_work(
    findings: Sequence[Finding], of_waiting: Collection[str], of_work: Collection[str]
) -> tuple[Finding, ...]:
    """The findings; why ranks are late that others wait for is told where it is known.

    It is where a finding about work is of these ranks alone, in a function in which they are late,
    and is worth the main part of what others wait for. `of_waiting` and `of_work` are the
    identities of findings about either.
    """
    causes = [one for one in findings if one.id in of_work and one.status.is_fault]
    told = []
    for one in findings:
        is_late = one.id in of_waiting and one.status.is_fault
        cause = next((other for other in causes if is_late and _explains(other, one)), None)
        told.append(told_only(one, cause.id, cause.title) if cause else one)
    return tuple(told)


def _explains(cause: Finding, late: Finding) -> bool:
    """Whether work of late ranks, and of no others, is why they are late where they are."""
    is_theirs = bool(late.ranks) and set(cause.ranks) == set(late.ranks)
    is_there = bool({one.key for one in cause.where} & {one.key for one in late.where})
    return is_theirs and is_there and (cause.gain_s or 0.0) > MAIN * (late.gain_s or 0.0)
