"""Losses: what the ranks' time went into that was no training work, by its cause."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from perfscope.report.access import Document, mapping, number, numbers, rows, text
from perfscope.report.formats import percent, seconds
from perfscope.report.sections.section import Context, Section
from perfscope.report.views import place
from perfscope.schema.enums import LossPattern, member
from perfscope.units import counted

NS = 1e-9
MOST_ROWS = 12
MOST_TOLD = 3


def _context(document: Document) -> Context:
    found = mapping(document, "losses")
    entries = rows(found, "entries")
    return {
        "takeaway": takeaway(document),
        "lost": seconds(_s(found, "lost_ns")),
        "life": seconds(_s(found, "life_ns")),
        "entries": [_entry(row) for row in entries[:MOST_ROWS]],
        "left_out": max(0, len(entries) - MOST_ROWS),
    }


def _s(row: Mapping[str, Any], key: str) -> float | None:
    ns = number(row.get(key))
    return None if ns is None else ns * NS


def _entry(row: Mapping[str, Any]) -> Context:
    saving = mapping(row, "saving")
    saved = number(saving.get("seconds"))
    at_most = "up to " if text(saving, "basis") == "upper_bound" and saved else ""
    share = number(row.get("share"))
    return {
        "label": text(row, "label"),
        "place": place(mapping(row, "where")) if row.get("where") else None,
        "ranks": _ranks(row),
        "lost": seconds(_s(row, "ns")),
        "share": "outside" if share is None else percent(share),
        "own": seconds(_s(row, "own_ns")),
        "waiting": seconds(_s(row, "waiting_ns")),
        "when": when(row),
        "saving": f"{at_most}{seconds(saved)}" if saved is not None else "",
        "reason": text(saving, "reason"),
        "findings": [one for one in row.get("findings", []) if isinstance(one, str)],
    }


def _ranks(row: Mapping[str, Any]) -> str:
    told = [str(int(rank)) for rank in numbers(row, "ranks")]
    more = int(number(row.get("ranks_left_out")) or 0)
    shown = told[:4]
    rest = len(told) - len(shown) + more
    return ", ".join(shown) + (f" and {rest} more" if rest else "")


def when(row: Mapping[str, Any]) -> str:
    """How a loss is spread over the run, in words; "" where that is not known."""
    pattern = member(LossPattern, text(row, "pattern"))
    steps = numbers(row, "steps") if isinstance(row.get("steps"), list) else []
    parts = [pattern.label] if pattern else []
    if len(steps) == 2 and pattern in (LossPattern.WINDOW, LossPattern.ONCE):
        first, last = (int(step) for step in steps)
        parts.append(f"step {first}" if first == last else f"steps {first} to {last}")
    return ", ".join(parts)


def takeaway(document: Document) -> str:
    """How much of the analyzed window was training work, and what took most of the rest."""
    found = mapping(document, "losses")
    share = number(found.get("training_share"))
    if share is None:
        return ""
    inside = [row for row in rows(found, "entries") if number(row.get("share"))]
    told = [
        f"{text(row, 'label')} {percent(number(row.get('share')))}" for row in inside[:MOST_TOLD]
    ]
    rest = f"; lost to: {', '.join(told)}" if told else ""
    more = len(inside) - len(told)
    others = f" and {counted(more, 'more cause')}" if more > 0 else ""
    training = f"{percent(share)} of the ranks’ time in the analyzed window was training work"
    return f"{training}{rest}{others}"


SECTION = Section("losses", "What time was lost to", "losses.html", _context)
