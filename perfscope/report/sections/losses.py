"""Losses: what the ranks' time went into that was no training work, by its cause."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from perfscope.report.formats import percent, seconds
from perfscope.report.sections.section import Context, Section
from perfscope.report.table import Column, Kind, Table
from perfscope.report.views import Place, place_of
from perfscope.schema.analysis import Analysis
from perfscope.schema.enums import Account, Basis, LossPattern
from perfscope.schema.losses import LossEntry, Losses, name_of_work
from perfscope.schema.time import LedgerAccount
from perfscope.units import counted

NS = 1e-9
MOST_SHOWN, MOST_ROWS = 6, 40
MOST_RANKS = 4
MOST_TOLD = 3


def _place(entry: LossEntry) -> Place | None:
    return place_of(entry.where) if entry.where else None


def _ranks(entry: LossEntry) -> str:
    shown = ", ".join(map(str, entry.ranks[:MOST_RANKS]))
    rest = max(len(entry.ranks) - MOST_RANKS, 0) + entry.ranks_left_out
    return shown + (f" and {rest} more" if rest else "")


def _share(entry: LossEntry) -> str:
    return "outside" if entry.share is None else percent(entry.share)


def _saving(entry: LossEntry) -> str | None:
    found = entry.saving
    if found.seconds is None:
        return None
    is_bound = found.basis is Basis.UPPER_BOUND and found.seconds
    return f"{'up to ' if is_bound else ''}{seconds(found.seconds)}"


def when(entry: LossEntry) -> str:
    """How a loss is spread over the run, in words; "" where that is not known."""
    parts = [entry.pattern.label] if entry.pattern else []
    if entry.steps and entry.pattern in (LossPattern.WINDOW, LossPattern.ONCE):
        first, last = entry.steps
        parts.append(f"step {first}" if first == last else f"steps {first} to {last}")
    return ", ".join(parts)


COLUMNS = (
    Column("Cause", "label", kind=Kind.TEXT),
    Column("Lost", lambda entry: entry.ns * NS, seconds),
    Column("Of the window", _share),
    Column("Own time", lambda entry: entry.own_ns * NS, seconds),
    Column("Others waited", lambda entry: entry.waiting_ns * NS, seconds),
    Column("Run shorter by", _saving, hint=lambda entry: entry.saving.reason),
    Column("Ranks", _ranks, kind=Kind.TEXT),
    Column("Where", _place, kind=Kind.PLACE, absent=""),
    Column("When", when, kind=Kind.TEXT),
)


def _context(result: Analysis) -> Context:
    found, work = result.losses, _work(result.ledger)
    if not found.entries:
        life = seconds(found.life_ns * NS) if found.life_ns else ""
        return {"table": None, "life": life, "work": work}
    caption = "Lost time of all ranks by cause"
    whole = Table("losses-all", caption, COLUMNS, found.entries, MOST_ROWS, "causes")
    is_all = len(found.entries) <= MOST_SHOWN
    return {
        "takeaway": _sentence(found, work),
        "work": work,
        "lost": seconds(found.lost_ns * NS),
        "life": seconds(found.life_ns * NS),
        "table": replace(whole, id="losses-table", rows=found.entries[:MOST_SHOWN]),
        "whole": None if is_all else whole,
        "extent": _extent(found),
    }


def takeaway(result: Analysis) -> str:
    """How much of the analyzed window was training work, and what took most of the rest."""
    return _sentence(result.losses, _work(result.ledger))


def _work(ledger: Sequence[LedgerAccount]) -> str:
    training = Account.TRAINING.value
    return name_of_work(trains=any(one.seconds for one in ledger if one.id == training))


def _inside(found: Losses) -> list[LossEntry]:
    """What was lost in the analyzed window, as far as it can be counted there."""
    return [entry for entry in found.entries if entry.share]


def _extent(found: Losses) -> str:
    """How many causes there are: those that the sentence counts, and those that it leaves out."""
    inside = len(_inside(found))
    outside = len(found.entries) - inside
    return counted(inside, "cause") + (f", and {outside} outside the window" if outside else "")


def _sentence(found: Losses, work: str) -> str:
    if found.training_share is None:
        return ""
    inside = _inside(found)
    told = [f"{entry.label} {percent(entry.share)}" for entry in inside[:MOST_TOLD]]
    rest = f"; lost to: {', '.join(told)}" if told else ""
    more = len(inside) - len(told)
    others = f" and {counted(more, 'more cause')}" if more > 0 else ""
    share = percent(found.training_share)
    training = f"{share} of the ranks’ time in the analyzed window was {work}"
    return f"{training}{rest}{others}"


SECTION = Section("losses", "What time was lost to", "losses.html", _context, is_summary=True)
