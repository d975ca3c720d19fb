"""Where the time of a rank goes at each size."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from perfscope.report.charts import Segment, stacked_bars
from perfscope.report.formats import number, percent, seconds, time_scale
from perfscope.report.palette import ACCOUNT_ROLES
from perfscope.report.studies.access import Document, mapping, numbers, rows, text, texts
from perfscope.report.studies.section import Context, StudySection
from perfscope.report.studies.sections.speedup import size_label
from perfscope.report.table import Column, Kind, Note, Table


def _context(document: Document) -> Context:
    found = mapping(document, "scaling")
    labels = [size_label(found, number(point.get("size"))) for point in rows(found, "points")]
    composition = mapping(found, "composition")
    names, words = texts(composition, "accounts"), texts(composition, "labels")
    raw = composition.get("seconds")
    table = [numbers({"row": row}, "row") for row in (raw if isinstance(raw, list) else [])]
    accounts: list[Context] = [
        {"role": name, "label": words[n] if n < len(words) else name, "values": table[n]}
        for n, name in enumerate(names)
        if name in ACCOUNT_ROLES and n < len(table) and len(table[n]) == len(labels)
    ]
    totals = [sum(account["values"][n] for account in accounts) for n in range(len(labels))]
    return {
        "losses": _losses(rows(found, "losses"), labels),
        "labels": labels,
        "accounts": accounts,
        "chart": _chart(labels, accounts, max(totals, default=0.0)) if accounts else "",
        "rows": [
            (
                account,
                [
                    (seconds(value), percent(value / totals[n]) if totals[n] else "")
                    for n, value in enumerate(account["values"])
                ],
            )
            for account in accounts
        ],
    }


def _losses(found: list[Mapping[str, Any]], labels: list[str]) -> Table | None:
    """Training work and what the time is lost to, with the law by which it grows."""
    if not found:
        return None
    columns = (
        Column("Training work, and lost to", "label", kind=Kind.TEXT, longest=60),
        *(_size_column(label, place) for place, label in enumerate(labels)),
        Column("Law", _law, kind=Kind.TEXT, longest=60),
    )
    caption = "Mean time of a rank by what it is lost to and size"
    return Table("losses-table", caption, columns, found, file="study.json", has_caption=False)


def _size_column(label: str, place: int) -> Column:
    def spent(row: Mapping[str, Any]) -> float | None:
        return _at(numbers(row, "seconds"), place)

    def share(row: Mapping[str, Any]) -> str:
        known = _at(numbers(row, "shares"), place)
        return "" if known is None else percent(known)

    return Column(label, spent, seconds, note=Note(share))


def _at(values: list[float], place: int) -> float | None:
    return values[place] if place < len(values) else None


def _law(row: Mapping[str, Any]) -> str:
    found = mapping(row, "model")
    return text(found, "value") or text(found, "reason")


def _chart(labels: list[str], accounts: list[Context], longest: float) -> str:
    segments = [Segment(account["role"], account["values"]) for account in accounts]
    label = "Mean seconds of a rank by account, a bar a size"
    return stacked_bars(label, labels, segments, scale=time_scale(longest))


SECTION = StudySection(
    "composition",
    "Where the time goes",
    "scaling_composition.html",
    _context,
    place=40,
    kinds=("scaling",),
)
