"""Timeline: what each rank did when, as a picture that a script lets people zoom into."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping
from typing import Any

from perfscope.report.access import Document, mapping, number, rank_name, rows, text, texts
from perfscope.report.formats import Scale, seconds, time_scale
from perfscope.report.palette import ACCOUNT_ROLES
from perfscope.report.sections.section import Context, Section
from perfscope.report.text import shortened
from perfscope.report.timeline import Axis, Row, timeline_picture
from perfscope.report.views import Shown

NOBODY = "."
LETTER = re.compile("[a-z]")
MOST_ROWS = 64
LONGEST_HOST = 14


def _context(document: Document) -> Context:
    found = mapping(document, "timeline")
    ranks = rows(found, "rows")[:MOST_ROWS]
    accounts = _accounts(found)
    levels = _levels(found, len(ranks), set(accounts))
    length_s = number(found.get("length_s")) or 0.0
    if not levels or length_s <= 0:
        return {"reason": text(found, "reason") or "no rank left a recording of its time"}
    axis = _axis(number(found.get("start_s")) or 0.0, length_s)
    used = [accounts[letter] for letter in accounts if _is_used(levels, letter)]
    names = [_name(row) for row in ranks]
    labels = _labels(ranks)
    coarsest = levels[0]
    finest = [_spent(row, levels[-1]["bin_s"]) for row in levels[-1]["rows"]]
    drawn = [Row(*row) for row in zip(names, labels, coarsest["rows"], finest, strict=True)]
    return {
        "reason": "",
        "from": seconds(axis.start_s),
        "length": seconds(length_s),
        "chart": timeline_picture(
            "What each rank did over time", drawn, coarsest["bin_s"], axis, accounts
        ),
        "used": used,
        "has_gaps": _is_used(levels, NOBODY),
        "finest": seconds(levels[-1]["bin_s"]),
        "rows": len(ranks),
        "left_out": int(number(found.get("ranks_left_out")) or 0),
        "data": _data(axis, accounts, list(zip(names, labels, strict=True)), levels),
    }


def _accounts(found: Mapping[str, Any]) -> dict[str, Shown]:
    """The accounts by letter."""
    out = {}
    for row in rows(found, "accounts"):
        letter, role = text(row, "letter"), text(row, "id")
        if LETTER.fullmatch(letter):
            out[letter] = Shown(role if role in ACCOUNT_ROLES else "untraced", text(row, "label"))
    return out


def _levels(found: Mapping[str, Any], ranks: int, letters: set[str]) -> list[Context]:
    """The levels that hold a known letter for each bin of each rank, coarsest first."""
    known = letters | {NOBODY}
    out = []
    for level in rows(found, "levels"):
        bins, bin_s = number(level.get("bins")), number(level.get("bin_s"))
        cells = texts(level, "rows")
        is_whole = len(cells) == ranks > 0 and all(
            len(row) == bins and set(row) <= known for row in cells
        )
        if is_whole and bins and bin_s and bin_s > 0:
            out.append({"bin_s": bin_s, "rows": cells})
    return out


def _spent(cells: str, bin_s: float) -> dict[str, float]:
    """Seconds of each letter of a row."""
    return {letter: count * bin_s for letter, count in Counter(cells).items()}


def _is_used(levels: list[Context], letter: str) -> bool:
    return any(letter in row for level in levels for row in level["rows"])


def _axis(start_s: float, length_s: float) -> Axis:
    """In seconds, and in less for a time that ends before the first second."""
    end_s = start_s + length_s
    return Axis(start_s, length_s, Scale(1.0, "s") if end_s >= 1 else time_scale(end_s))


def _name(row: Mapping[str, Any]) -> str:
    host = text(row, "host")
    return rank_name(row) + (f" on {host}" if host else "")


def _labels(ranks: list[Mapping[str, Any]]) -> list[str]:
    """What stands before each bar: the rank, with its host where there are several."""
    hosts = {text(row, "host") for row in ranks}
    return [
        rank_name(row)
        + (f" · {shortened(text(row, 'host'), LONGEST_HOST)}" if len(hosts) > 1 else "")
        for row in ranks
    ]


def _data(
    axis: Axis,
    accounts: dict[str, Shown],
    ranks: list[tuple[str, str]],
    levels: list[Context],
) -> str:
    """What the script draws, as JSON text."""
    return json.dumps(
        {
            "start": axis.start_s,
            "length": axis.length_s,
            "unit": axis.scale.unit,
            "factor": axis.scale.factor,
            "accounts": [
                {"letter": letter, "role": shown.role, "label": shown.label}
                for letter, shown in accounts.items()
            ],
            "rows": [{"name": name, "label": label} for name, label in ranks],
            "levels": [{"bin": level["bin_s"], "rows": level["rows"]} for level in levels],
        },
        separators=(",", ":"),
    )


SECTION = Section("timeline", "Timeline", "timeline.html", _context)
