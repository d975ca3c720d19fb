"""All findings: what was looked for, what was found, what it costs, and what to do about it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from perfscope.report.access import Document, integers, mapping, number, numbers, rows, text, texts
from perfscope.report.formats import count, evidence, percent, seconds
from perfscope.report.sections.section import Context, Section
from perfscope.report.views import place, rank_list, safe_link
from perfscope.report.words import CONFIDENCES, GAIN_BASES, status_word

OPEN_STATUSES = ("fail", "warn", "info")
FOLDED_STATUSES = ("not_measured", "not_applicable", "error", "pass")
FOLDED_TITLES = {
    "not_measured": "could not be made: not measured",
    "not_applicable": "do not apply to this run",
    "error": "failed to run",
    "pass": "passed",
}
MOST_PLACES = 8
MOST_LINES = 40


def finding_view(row: Mapping[str, Any], position: int) -> Context:
    """One finding as the page shows it; `position` makes its anchor."""
    gain, share = number(row.get("gain_s")), number(row.get("gain_share"))
    interval = numbers(row, "gain_interval_s")
    window = numbers(row, "window_s")
    basis = text(row, "gain_basis")
    return {
        "anchor": f"finding-{position + 1}",
        "status": status_word(row.get("status")),
        "title": text(row, "title") or text(row, "id"),
        "id": text(row, "id"),
        "summary": text(row, "summary"),
        "gain": "" if gain is None else seconds(gain),
        "gain_prefix": "at most " if basis == "upper_bound" else "about ",
        "gain_share": "" if share is None else f"{percent(share)} of the analysed time",
        "gain_interval": (
            f"{seconds(interval[0])} to {seconds(interval[1])}" if len(interval) == 2 else ""
        ),
        "gain_basis": GAIN_BASES.get(basis, basis),
        "assumptions": texts(row, "assumptions")[:MOST_LINES],
        "planned": _planned(mapping(row, "planned")),
        "confidence": CONFIDENCES.get(text(row, "confidence"), ""),
        "ranks": rank_list(ranks) if (ranks := integers(row, "ranks")) else "",
        "window": f"{seconds(window[0])} to {seconds(window[1])}" if len(window) == 2 else "",
        "where": [place(frame) for frame in rows(row, "where")[:MOST_PLACES]],
        "evidence": [
            {
                "label": text(item, "label"),
                "value": evidence(item.get("value"), text(item, "unit")),
                "expected": text(item, "expected"),
            }
            for item in rows(row, "evidence")[:MOST_LINES]
        ],
        "actions": texts(row, "actions")[:MOST_LINES],
        "references": [
            _reference(reference) for reference in texts(row, "references")[:MOST_LINES]
        ],
        "overlaps": texts(row, "overlaps")[:MOST_LINES],
    }


def _planned(planned: Mapping[str, Any]) -> str:
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
        (text(row, "status"), finding_view(row, position))
        for position, row in enumerate(rows(document, "findings"))
    ]
    titles = {view["id"]: view["title"] for _, view in found}
    anchors = {view["id"]: view["anchor"] for _, view in found}
    quiet = {view["id"] for status, view in found if status in FOLDED_STATUSES}
    for _, view in found:  # what was not found shares its seconds with nothing
        view["overlaps"] = [other for other in view["overlaps"] if other not in quiet]
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
