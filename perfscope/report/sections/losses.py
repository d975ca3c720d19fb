"""Losses: what the ranks' time went into that was no training work, by its cause."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from perfscope import places
from perfscope.report.formats import percent, seconds
from perfscope.report.sections.breakdown import cause_role, work_of_verdict
from perfscope.report.sections.section import Context, Section
from perfscope.report.table import Column, Kind, Table
from perfscope.report.views import Place, Shown, place_of
from perfscope.savings import ROUGHLY
from perfscope.schema.analysis import Analysis
from perfscope.schema.enums import Account, Basis, LossKind, LossPattern
from perfscope.schema.losses import NOT_USEFUL, LossEntry, Losses, LossSaving, spread
from perfscope.units import NS, counted, format_seconds, inside, of_all

MOST_SHOWN, MOST_ROWS = 4, 40
MOST_RANKS = 4
MOST_TOLD = 3
PART = "part of that"
OF_HOST = "other work on the host slows communication as well: the run loses more than this"
LEAST_ELSEWHERE = 0.01  # of the window: less is no contradiction between two figures


def _place(entry: LossEntry) -> Place | None:
    return place_of(entry.where) if entry.where else None


def _ranks(entry: LossEntry) -> str:
    shown = ", ".join(map(str, sorted(entry.ranks[:MOST_RANKS])))
    rest = max(len(entry.ranks) - MOST_RANKS, 0) + entry.ranks_left_out
    return shown + (f" and {rest} more" if rest else "")


def _share(entry: LossEntry) -> str:
    return "outside" if entry.share is None else percent(entry.share)


def _saving(entry: LossEntry) -> str | None:
    found = entry.saving
    if found.seconds is None:
        return found.reason if found.basis else None  # what it is part of has a saving
    is_bound = found.basis is Basis.UPPER_BOUND and found.seconds
    return f"{ROUGHLY if is_bound else ''}{seconds(found.seconds)}"


def as_found(result: Analysis) -> list[LossEntry]:
    """The entries, with the saving of the finding that explains them where there is one.

    A finding of several entries has its saving beside the largest, of which the others are part:
    so one place has one saving.
    """
    rows = {row.id: row for row in result.findings if row.status.is_fault}
    found, told = [], set[str]()
    for entry in result.losses.entries:
        if entry.kind is LossKind.OTHER_PROCESSES:
            found.append(replace(entry, saving=LossSaving(None, None, None, OF_HOST)))
            continue
        row = next((rows[name] for name in entry.findings if name in rows), None)
        first = row.first_action if row else None
        if row is None or first is None or first.gain_s is None:
            found.append(entry)
            continue
        saving = LossSaving(None, None, first.gain_basis, PART)
        if row.id not in told:
            saving = LossSaving(first.gain_s, first.gain_interval_s, first.gain_basis, None)
        told.add(row.id)
        found.append(replace(entry, saving=saving))
    return found


def when(entry: LossEntry, ranks: int = 0) -> str:
    """How a loss is spread over the run, in words; "" where that is not known."""
    parts = (
        [spread(entry.pattern, ranks)] if entry.pattern and entry.is_certain is not False else []
    )
    if entry.steps and entry.pattern in (LossPattern.WINDOW, LossPattern.ONCE):
        first, last = entry.steps
        if first == last:
            parts.append(f"step {first}")
        elif entry.pattern is LossPattern.WINDOW:
            parts.append(f"steps {first} to {last}")
    return ", ".join(parts)


def _interval(entry: LossEntry) -> str:
    """Between what is lost in the whole run, "" where steps do not tell."""
    if entry.run_interval_s is None:
        return ""
    low, high = entry.run_interval_s
    return "exact" if low == high else f"{format_seconds(low)} to {format_seconds(high)}"


WAITED = Column("Others waited", lambda entry: entry.waiting_ns * NS, seconds)
COLUMNS = (
    Column("Cause", lambda entry: Shown(cause_role(entry), entry.label), kind=Kind.KEYED),
    Column("Lost", lambda entry: entry.ns * NS, seconds),
    Column("Of the window", _share),
    Column("Own time", lambda entry: entry.own_ns * NS, seconds),
    WAITED,
    Column("Run shorter by", _saving, hint=lambda entry: entry.saving.reason),
    Column("Ranks", _ranks, kind=Kind.TEXT),
    Column("Where", _place, kind=Kind.PLACE, absent=""),
    Column("When", when, kind=Kind.TEXT),
)
OF_WHOLE_RUN = (
    COLUMNS[0],
    Column("Lost in the run", "run_s", seconds),
    Column("As its steps vary", _interval, kind=Kind.TEXT),
    Column("In the kept steps", lambda entry: entry.ns * NS, seconds),
    *COLUMNS[2:],
)
"""Of a thinned run; what ranks spent and waited stays that of the kept steps."""


def _context(result: Analysis) -> Context:
    found = result.losses
    if not found.entries:
        return {"table": None, "life": seconds(found.life_ns * NS) if found.life_ns else ""}
    caption = "Lost time of all ranks by cause"
    columns: Sequence[Column] = COLUMNS
    if result.whole_run:
        caption, columns = f"{caption}, own time and waiting in the kept steps", OF_WHOLE_RUN
    if result.run.ranks == 1:
        columns = (*columns[:-1], replace(columns[-1], get=partial(when, ranks=1)))
    if not waits_are_told(result):
        columns = tuple(column for column in columns if column is not WAITED)
    entries = as_found(result)
    whole = Table("losses-all", caption, columns, entries, MOST_ROWS, "causes")
    is_all = len(entries) <= MOST_SHOWN
    most = whole if is_all else replace(whole, caption=f"{caption}: the largest")
    return {
        "takeaway": takeaway(result),
        "lost": seconds(found.lost_ns * NS),
        "life": seconds(found.life_ns * NS),
        "table": replace(most, id="losses-table", rows=entries[:MOST_SHOWN]),
        "whole": None if is_all else whole,
        "extent": _extent(found),
        "elsewhere": _elsewhere(found),
    }


def waits_are_told(result: Analysis) -> bool:
    """Whether a rank waits in it, or could have been seen to wait.

    What tells no efficiency of the hosts tells no waiting either, and 0 would say that none waited.
    """
    waited = any(entry.waiting_ns for entry in result.losses.entries)
    return waited or result.metrics.parallel_efficiency.value is not None


def _elsewhere(found: Losses) -> str:
    """What the categories and the training efficiency count as training work, and this does not."""
    own_ns = sum(
        one.own_ns
        for one in found.entries
        if one.account is Account.TRAINING and one.share is not None
    )
    if own_ns < LEAST_ELSEWHERE * found.window_ns:
        return ""
    return (
        "Part of it passed inside training steps: categories and training efficiency count that "
        "as training."
    )


def takeaway(result: Analysis) -> str:
    """How much of the analyzed window was lost, and to what."""
    work, told = work_of_verdict(result), _sentence(result)
    return f"{told}. Not among it: {work}" if told and work else told


def _known(found: Losses) -> list[LossEntry]:
    """What was lost in the analyzed window to a known cause."""
    return [one for one in found.entries if one.share and one.kind is not LossKind.UNKNOWN]


def _extent(found: Losses) -> str:
    """How many causes there are: those that the sentence counts, and those that it leaves out."""
    causes = counted(len(_known(found)), "cause")
    rest = [one for one in found.entries if one.kind is not LossKind.UNKNOWN and not one.share]
    outside = f", and {len(rest)} outside the window" if rest else ""
    return causes + (", what is not known" if found.unknown_share else "") + outside


def _told_apart(entry: LossEntry, shown: Sequence[LossEntry]) -> str:
    """The label of a cause, with its function where no phase or other word tells it apart."""
    is_alone = sum(one.label == entry.label for one in shown) == 1
    is_alone = is_alone and (entry.kind is not LossKind.WAITING or bool(entry.phase))
    where = entry.where
    if is_alone or where is None:
        return entry.label
    return f"{entry.label} in {places.called(where.function, where.file, where.line)}"


def _sentence(result: Analysis) -> str:
    """Each cause with its seconds, which are those of the first screen; its shares are not."""
    found, ranks = result.losses, result.run.recorded_ranks
    if found.lost_share is None:
        return ""
    known = _known(found)
    shown = known[:MOST_TOLD]
    told = [f"{inside(_told_apart(entry, known))} {seconds(entry.mean_s)}" for entry in shown]
    each = ", per rank" if ranks > 1 else ""
    causes = f"{each}: {', '.join(told)}" if told else ""
    more = len(known) - len(told)
    others = f" and {counted(more, 'more cause')}" if more > 0 else ""
    time = f"{of_all('time', result.run.ranks)} in the analyzed window"
    lost = (
        f"{percent(found.lost_share)} of {time} went to {NOT_USEFUL}"
        if found.lost_share
        else f"None of {time} is known to be lost"
    )
    unknown = f"; {percent(found.unknown_share)} is unattributed" if found.unknown_share else ""
    return f"{lost}{causes}{others}{unknown}"


SECTION = Section("losses", "Causes of lost time", "losses.html", _context, is_summary=True)
