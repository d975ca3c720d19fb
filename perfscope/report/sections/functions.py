"""Functions: where the computation takes place in the user's code."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from perfscope.report.access import Document, mapping, maybe_numbers, number, rows, text
from perfscope.report.formats import percent, seconds
from perfscope.report.palette import ACCOUNT_ROLES
from perfscope.report.sections.section import Context, Section
from perfscope.report.text import shortened
from perfscope.report.views import place

MOST_FUNCTIONS = 40
ABSENT = "the stack sampler was off (--stack-hz 0) or the program is not Python"


def _context(document: Document) -> Context:
    labels = {text(row, "id"): text(row, "label") for row in rows(document, "ledger")}
    found = rows(document, "ledger_functions")
    largest = max((own for row in found if (own := number(row.get("seconds")))), default=0.0)
    shown = []
    for row in found[:MOST_FUNCTIONS]:
        own = number(row.get("seconds"))
        account = text(row, "account")
        by_rank = maybe_numbers(row, "seconds_by_rank")
        shown.append(
            {
                "place": place(row),
                "seconds": seconds(own),
                "share": percent(number(row.get("share"))),
                "width": round(100 * own / largest, 2) if own and largest > 0 else 0,
                "role": account if account in ACCOUNT_ROLES else "untraced",
                "account": labels.get(account, account),
                "busiest": seconds(max((s for s in by_rank if s is not None), default=None)),
            }
        )
    unlabeled = number(mapping(document, "unlabeled").get("share"))
    return {
        "absent": "" if shown else ABSENT,
        "functions": shown,
        "left_out": max(len(found) - MOST_FUNCTIONS, 0),
        "unlabeled": percent(unlabeled) if unlabeled else "",
        "takeaway": _takeaway(found),
    }


def _takeaway(found: list[Mapping[str, Any]]) -> str:
    if not found or not text(found[0], "function"):
        return ""
    share = percent(number(found[0].get("share")))
    return f"{shortened(text(found[0], 'function'), 60)} takes {share} of the ranks’ time"


SECTION = Section("functions", "Functions", "functions.html", _context, is_folded=True)
