"""All findings: what was looked for, what was found, what it costs, and what to do about it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from perfscope.report.access import (
    Document,
    integers,
    mapping,
    number,
    numbers,
    rows,
    text,
    texts,
    wholes,
)
from perfscope.report.formats import count, evidence, seconds
from perfscope.report.labels import CONFIDENCES, GAIN_BASES, status_word
from perfscope.report.sections.section import Context, Section
from perfscope.report.table import Column, Kind, Table
from perfscope.report.text import shortened
from perfscope.report.views import place, rank_list, safe_link
from perfscope.savings import Wholes

OPEN_STATUSES = ("fail", "warn", "info")
FOLDED_STATUSES = ("not_measured", "not_applicable", "error", "pass")
FOLDED_TITLES = {
    "not_measured": "could not be made: not measured",
    "not_applicable": "do not apply to this run",
    "error": "failed to run",
    "pass": "passed",
}
MOST_PLACES = 8
ANCHOR = re.compile("[a-z][a-z0-9_]*")
MOST_LINES = 40
EVIDENCE = (
    Column("Measured", "label", kind=Kind.TEXT, longest=100),
    Column(
        "Value",
        lambda row: evidence(row.get("value"), text(row, "unit")),
        kind=Kind.TEXT,
        longest=100,
    ),
    Column("Expected, or to compare", "expected", kind=Kind.TEXT, longest=120),
)


def saving_text(row: Mapping[str, Any], of: Wholes) -> str:
    """What the first action of a finding saves, with its wholes and interval; "" if not known.

    A finding of several runs has one number alone, that of all its cost.
    """
    found = mapping(row, "first_action") or row
    gain = number(found.get("gain_s"))
    if gain is None:
        return ""
    is_bound = text(found, "gain_basis") == "upper_bound"
    return of.saving(gain, is_bound=is_bound, interval=numbers(found, "gain_interval_s"))


def _saved(row: Mapping[str, Any]) -> str:
    """The seconds alone of what the first action saves; "" if not known."""
    found = mapping(row, "first_action") or row
    gain = number(found.get("gain_s"))
    at_most = "up to " if text(found, "gain_basis") == "upper_bound" else ""
    return "" if gain is None else f"{at_most}{seconds(gain)}"


def cost_text(row: Mapping[str, Any], of: Wholes) -> str:
    """What the whole fault costs, where its first action saves something else; else ""."""
    gain, first = number(row.get("gain_s")), number(mapping(row, "first_action").get("gain_s"))
    if gain is None or first is None or first == gain:
        return ""
    is_bound = text(row, "gain_basis") == "upper_bound"
    return of.saving(gain, is_bound=is_bound, interval=numbers(row, "gain_interval_s"))


def combined(verdict: Mapping[str, Any]) -> str:
    """What the findings save together, in the words of the verdict; "" where not known."""
    told = text(verdict, "combined_text")
    return f"{told[:1].upper()}{told[1:]}"


def finding_view(row: Mapping[str, Any], position: int, of: Wholes) -> Context:
    """One finding as the page shows it: links to it stay good while its diagnosis keeps its name.

    Args:
        row: as the document holds it.
        position: among the findings; makes the anchor where the id cannot.
        of: names the shares.
    """
    name = text(row, "id")
    anchor = f"finding-{name if ANCHOR.fullmatch(name) else position + 1}"
    window = numbers(row, "window_s")
    basis = text(row, "gain_basis")
    return {
        "anchor": anchor,
        "status": status_word(row.get("status")),
        "title": text(row, "title") or name,
        "id": name,
        "summary": text(row, "summary"),
        "gain": saving_text(row, of),
        "saved": _saved(row),
        "cost": cost_text(row, of),
        "gain_basis": GAIN_BASES.get(basis, basis),
        "assumptions": texts(row, "assumptions")[:MOST_LINES],
        "planned": planned_text(mapping(row, "planned")),
        "confidence": CONFIDENCES.get(text(row, "confidence"), ""),
        "ranks": rank_list(ranks) if (ranks := integers(row, "ranks")) else "",
        "window_s": " ".join(map(str, window)),
        "window": f"{seconds(window[0])} to {seconds(window[1])}" if len(window) == 2 else "",
        "where": [place(frame) for frame in rows(row, "where")[:MOST_PLACES]],
        "evidence": Table(
            f"{anchor}-evidence",
            f"Evidence for: {shortened(text(row, 'title'), 80)}",
            EVIDENCE,
            rows(row, "evidence")[:MOST_LINES],
            has_caption=False,
        ),
        "actions": texts(row, "actions")[:MOST_LINES],
        "references": [
            _reference(reference) for reference in texts(row, "references")[:MOST_LINES]
        ],
        "overlaps": texts(row, "overlaps")[:MOST_LINES],
    }


def planned_text(planned: Mapping[str, Any]) -> str:
    """The gain over the planned run; "" where nobody asked."""
    if not planned:
        return ""
    gain = number(planned.get("gain_s"))
    of = f"of {count(number(planned.get('steps')))} planned steps"
    if gain is not None:
        return f"{of}: {seconds(gain)}"
    return f"{of}: not known, {text(planned, 'reason')}"


def _reference(reference: str) -> Context:
    """A reference as text and link: an address, or a title with the address at its end."""
    title, _, address = reference.rpartition(" ")
    link = safe_link(address)
    return {"title": title if link else reference, "link": link}


def _context(document: Document) -> Context:
    found = [
        (text(row, "status"), finding_view(row, position, wholes(document)))
        for position, row in enumerate(rows(document, "findings"))
    ]
    titles = {view["id"]: view["title"] for _, view in found}
    anchors = {view["id"]: view["anchor"] for _, view in found}
    quiet = {view["id"] for status, view in found if status in FOLDED_STATUSES}
    for _, view in found:  # what was not found, or not looked for, shares its seconds with nothing
        view["overlaps"] = [
            other for other in view["overlaps"] if other in anchors and other not in quiet
        ]
    return {
        "open": [
            view
            for status, view in found
            if status in OPEN_STATUSES or status not in FOLDED_STATUSES
        ],
        "folded": [
            {"title": FOLDED_TITLES[wanted], "findings": views}
            for wanted in FOLDED_STATUSES
            if (views := [view for status, view in found if status == wanted])
        ],
        "titles": titles,
        "anchors": anchors,
        "count": len(found),
    }


SECTION = Section("findings", "All findings", "findings.html", _context)
