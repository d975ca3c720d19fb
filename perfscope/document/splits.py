"""Where a saving comes from: what ranks spend, what of that stays, and what ends with it."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from perfscope.document.breakdown import LostInAccount, cause_of, in_run_s
from perfscope.findings.core.finding import Evidence, Finding, Gain, Spent
from perfscope.findings.core.wording import ranks
from perfscope.judging import MAJOR
from perfscope.metrics.results import Results
from perfscope.replay.model import Edit, Level
from perfscope.savings import (
    LEAST_TOLD,
    Wholes,
    is_more,
    rest_text,
    saves_more,
    split_text,
)
from perfscope.schema.enums import Account, LossKind
from perfscope.schema.findings import Waited
from perfscope.schema.losses import LossEntry, Losses
from perfscope.units import format_seconds

LOADED = "Saving with the load that this run met"
"""What is told beside that on an idle host, which sentences tell."""

Accounts = Mapping[Account, Sequence[LostInAccount]]

HALF = 0.5
"""What is left of work that two ranks do at once."""

OF_CAUSE = "lost_to_"
"""What the id of a finding begins with that is made from one cause of the loss account."""

PLACES = (
    *("account", "ranks", "phase", "function", "activity", "until_ns", "waits_for_cpu"),
    "is_cpu_time",
)
"""What edits say of the work that they are about, not of what becomes of it."""

BY_OTHERS = (LossKind.WAITING, LossKind.OUTSIDE)
"""Losses that are no time which a rank spends by itself inside the window."""


def split(finding: Finding, lost: Losses, results: Results) -> Finding:
    """The finding, whose saving tells what of it ranks spend by themselves where it is more.

    Waits are lost to those who wait: a finding of these has its seconds in rows already.
    """
    saving = finding.recommended
    if saving is None or len(results.trace.ranks) < 2 or results.devices is not None:
        return finding
    if finding.first and saving.own_s is None:
        return finding  # a part of what is lost: which part of the ranks' own time is not known
    found = replace(saving, own_s=_own_s(finding, saving, lost, results))
    return replace(finding, first=found) if finding.first else replace(finding, gain=found)


def _own_s(finding: Finding, saving: Gain, lost: Losses, results: Results) -> float | None:
    """What ranks spend by themselves, mean of all; None where the saving is no more than that."""
    own_s = saving.own_s
    if own_s is None:
        mine = [one for one in lost.entries if finding.id in one.findings]
        if not mine:
            return None
        mine = [one for one in mine if _is_cause(one, finding.id)] or mine
        if any(one.kind in BY_OTHERS for one in mine):
            return None
        own_s = sum(in_run_s(one, one.own_ns) for one in mine) / len(results.trace.ranks)
        own_s *= saving.seconds / (under_load_s(saving) or saving.seconds or 1.0)
    return own_s if is_more(saving.seconds, own_s) else None


def _is_cause(entry: LossEntry, finding: str) -> bool:
    return entry.activity is not None and finding == f"{OF_CAUSE}{entry.activity.value}"


def bridged(
    finding: Finding, results: Results, of: Wholes, waited: Waited | None = None
) -> Finding:
    """The finding, whose saving tells how what its title says that it takes leads to it.

    Both as measured, with the load that others put on the host; nothing where the saving is told
    of an idle host, of which no rows are. `waited` is who waits for its ranks: where nothing
    else is told, or less than is saved, the saving comes from that.
    """
    saving = finding.recommended
    if saving is None or not finding.status.is_fault:
        return finding
    if waited is not None and (saving.spent is None or _is_of_more(saving)):
        saving = replace(saving, spent=_of_waiting(finding, saving, waited) or saving.spent)
    here = as_measured(saving)
    is_idle = is_told_idle(saving, of)
    told = [saving.bridge, _of_part(finding, saving), "" if is_idle else _rest(here, results)]
    if saving.spent is None and not is_idle:  # no words of the finding tell what it takes
        told.append(split_text(here.seconds, here.own_s, is_bound=saving.is_bound))
    if saving.counts_more:
        told.append(f"The saving {saving.counts}")
    found = replace(saving, bridge=" ".join(f"{one}." for one in told if one))
    if is_idle:
        row = Evidence(LOADED, of.loaded(here.seconds))
        title = _idle_title(finding)
        finding = replace(finding, title=title, evidence=(*finding.evidence, row))
    return replace(finding, first=found) if finding.first else replace(finding, gain=found)


def _idle_title(finding: Finding) -> str:
    """A title without the seconds that it says that something takes, which the load of others made.

    The saving beside it counts nothing of that load.
    """
    told_s = _titled_s(finding)
    if told_s is None:
        return finding.title
    told, long = f" {format_seconds(told_s)}", " long"
    return finding.title.replace(f"{told} per rank", long, 1).replace(told, long, 1)


def _titled_s(finding: Finding) -> float | None:
    """What the title says that it takes, as `format_seconds` writes it; None where it does not."""
    if finding.titled_s is not None:
        return finding.titled_s
    spent = finding.gain.spent if finding.gain else None
    return spent.seconds if spent else None


def _is_of_more(saving: Gain) -> bool:
    """Whether work is dealt out evenly, of which the action tells a part that is less than saved.

    What the others wait for is then all of it, and in a row of where the time went.
    """
    is_dealt_out = {one.level for one in saving.edits} <= {Level.EVEN, Level.SHARED}
    is_more_saved = saving.spent is not None and saves_more(saving.seconds, saving.spent.seconds)
    return bool(saving.edits) and is_dealt_out and is_more_saved


def _of_waiting(finding: Finding, saving: Gain, waited: Waited) -> Spent | None:
    """What ranks that wait can save by taking their part of the work that they wait for.

    The rank that is late keeps its own part. None of a change that does not divide work.
    """
    waiting = len(waited.ranks)
    each_s, sharing = waited.each_s, waiting + len(finding.ranks)
    parts = {_kept_off(one, waiting / sharing) for one in saving.edits}
    part = parts.pop() if len(parts) == 1 else None
    if part is None or saves_more(saving.seconds, each_s * part):
        return None
    who = f"{ranks(waited.ranks)} {'waits' if waiting == 1 else 'wait on average'}"
    lead = f"that sharing the work takes off the {format_seconds(each_s)} for which {who}"
    return Spent(each_s * part, lead=lead, is_gone=True)


def _kept_off(edit: Edit, shared: float) -> float | None:
    """Of the work that others wait for, what an edit takes from the late rank; None if not known.

    `shared` is what it is where all ranks share the work.
    """
    if edit.level in (Level.SHARED, Level.EVEN):
        return shared
    return HALF if edit.factor == HALF and edit.level is None else None


def is_told_idle(saving: Gain, of: Wholes) -> bool:
    """Whether a saving is told of an idle host, of which it is a part."""
    return under_load_s(saving) is not None and saving.seconds < (of.idle_s or 0.0)


def under_load_s(saving: Gain) -> float | None:
    """What it saves under the load of this run, where that is told as more; else None."""
    loaded_s = saving.under_load_s
    return loaded_s if loaded_s is not None and is_more(loaded_s, saving.seconds) else None


def as_measured(saving: Gain) -> Gain:
    """What it saves of this run, with the load that others put on the host meanwhile.

    All that a page tells of a run is of that run, so that a saving can be found in its rows.
    """
    loaded_s = under_load_s(saving)
    if loaded_s is None or not saving.seconds:
        return saving
    more, interval = loaded_s / saving.seconds, saving.interval_s
    return replace(
        saving.of(loaded_s),
        interval_s=interval and (more * interval[0], more * interval[1]),
        under_load_s=None,
    )


def of_this_run(finding: Finding) -> Finding:
    """The finding with what its change saves as measured."""
    gain, first = finding.gain, finding.first
    return replace(finding, gain=gain and as_measured(gain), first=first and as_measured(first))


def _of_part(finding: Finding, saving: Gain) -> str:
    """What the first action takes away of all that the title is about; "" for all of it."""
    whole, part = finding.gain and finding.gain.spent, saving.spent
    if not whole or not part or not part.part:
        return ""
    amounts = f"{_spent(whole)}, {format_seconds(part.seconds)}"
    return f"Of the {amounts} is {part.part}, and the first action removes that"


def _spent(spent: Spent) -> str:
    return f"{format_seconds(spent.seconds)}{_each(spent)}"


def _each(spent: Spent) -> str:
    return " per rank" if spent.is_each else ""


def _meet(results: Results) -> bool:
    """Whether ranks wait for each other at all."""
    ranks = results.trace.ranks
    return len(ranks) > 1 and any(calls for one in ranks for calls, *_ in one.totals.values())


def as_in_rows(finding: Finding, in_accounts: Accounts, lost: Losses) -> Finding:
    """The finding, with the seconds that readers see of it in the rows of where the time went.

    What its diagnosis measured by another way differs from that a little. The same where that is
    more, as where small rows are not told one by one, where it has no row of its own, and where it
    tells nothing that a rank spends on average.
    """
    saving, causes = finding.gain, _own_causes(finding, lost)
    rows_s = sum(
        one.seconds for rows in in_accounts.values() for one in rows if one.cause in causes
    )
    if not rows_s or saving is None or saving.spent is None or not saving.spent.is_each:
        return finding
    if abs(rows_s - saving.spent.seconds) > MAJOR * saving.spent.seconds:
        return finding
    before, now = (f" {format_seconds(one)}" for one in (saving.spent.seconds, rows_s))
    title = finding.title.replace(before, now, 1)
    spent = replace(saving.spent, seconds=rows_s)
    return replace(finding, title=title, gain=replace(saving, spent=spent))


def _own_causes(finding: Finding, lost: Losses) -> set[str]:
    """The causes of which a finding claims all that was lost to them: their rows are its own."""
    claimed: defaultdict[str, list[bool]] = defaultdict(list)
    for entry in lost.entries:
        if entry.own_ns:
            claimed[cause_of(entry)].append(finding.id in entry.findings)
    return {cause for cause, found in claimed.items() if all(found)}


def _takes_all(edits: Sequence[Edit]) -> bool:
    """Whether a change leaves nothing of what it is about."""
    return bool(edits) and all(one == replace(Edit(), **_place_of(one)) for one in edits)


def _place_of(edit: Edit) -> dict[str, Any]:
    """What an edit is about, whatever it does to that."""
    return {name: getattr(edit, name) for name in PLACES}


def _rest(saving: Gain, results: Results) -> str:
    spent = saving.spent
    if spent is None:
        return ""
    is_more_saved = saves_more(saving.seconds, spent.seconds)
    if is_more_saved and saving.counts_more:
        return ""  # what else it counts is said, and not all waiting
    is_less_saved = saving.seconds < (1 - LEAST_TOLD) * spent.seconds
    is_gone = spent.is_gone or _takes_all(saving.edits)
    if is_less_saved and (saving.is_bound or not is_gone or not _meet(results)):
        return ""  # not known what becomes of the rest
    if len(results.trace.ranks) < 2 and is_more_saved:
        return ""  # nobody else waits
    return rest_text(
        saving.seconds,
        spent.seconds,
        spent.lead,
        each=_each(spent),
        is_bound=saving.is_bound,
        interval=saving.interval_s,
    )
