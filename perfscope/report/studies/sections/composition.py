"""Where the time of a rank goes at each size."""

from __future__ import annotations

from perfscope.report.access import Document, mapping, number, numbers, rows, texts
from perfscope.report.charts import Segment, stacked_bars
from perfscope.report.formats import percent, seconds, time_scale
from perfscope.report.studies.section import Context, StudySection
from perfscope.report.studies.sections.speedup import size_label
from perfscope.report.svg import ACCOUNT_ROLES


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


def _chart(labels: list[str], accounts: list[Context], longest: float) -> str:
    segments = [Segment(account["role"], account["values"]) for account in accounts]
    label = "Mean seconds of a rank by account, a bar a size"
    return stacked_bars("composition", label, labels, segments, scale=time_scale(longest))


SECTION = StudySection(
    "composition",
    "Where the time goes",
    "scaling_composition.html",
    _context,
    place=40,
    kinds=("scaling",),
)
