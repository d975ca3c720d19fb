"""Every number of the sides beside each other; the judged one first."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from perfscope.report.access import (
    Document,
    mapping,
    maybe_numbers,
    number,
    numbers,
    rows,
    text,
    texts,
)
from perfscope.report.formats import decimal, quantity
from perfscope.report.labels import StatusWord
from perfscope.report.studies.section import Context, StudySection
from perfscope.report.table import Column, Kind, Note, Table
from perfscope.units import MISSING

ANSWERS = {
    "slower": StatusWord("✕", "Slower", "fail"),
    "faster": StatusWord("✓", "Faster", "pass"),
    "same": StatusWord("✓", "As fast", "pass"),
    "unclear": StatusWord("i", "No difference shown", "info"),
    "unknown": StatusWord("–", "Cannot tell", "none"),
}


def change(ratio: float | None) -> str:
    """A ratio as a change: `+4.9 %`."""
    if ratio is None:
        return MISSING
    share = 100 * (ratio - 1)
    return f"{share:+.1f}\u00a0%" if abs(share) < 1000 else f"× {ratio:.3g}"


def interval(bounds: list[float]) -> str:
    """An interval of a ratio as changes; "" when there is none."""
    return f"{change(bounds[0])} to {change(bounds[1])}" if len(bounds) == 2 else ""


def side_labels(document: Document) -> list[str]:
    """The labels of the sides."""
    return [text(row, "label") for row in rows(document, "compare", "sides")]


def _context(document: Document) -> Context:
    return {
        "answers": [_answer(row) for row in rows(document, "compare", "comparisons")],
        "unlike": texts(document, "compare", "unlike"),
        "left_out": _left_out(document),
        "measures": _measures(document),
        "absent": [
            (text(row, "label"), text(row, "reason"))
            for row in rows(document, "compare", "measures")
            if not _is_measured(row)
        ],
        "unit": text(document, "compare", "unit", "label"),
        "why": text(document, "compare", "unit", "why"),
        "factor": decimal(number(mapping(document, "compare").get("factor"))),
    }


def _answer(row: Mapping[str, Any]) -> Context:
    p = number(row.get("p"))
    within = mapping(row, "within_runs")
    reach = number(row.get("detectable"))
    return {
        "side": text(row, "side"),
        "against": text(row, "against"),
        "word": ANSWERS.get(text(row, "answer"), ANSWERS["unknown"]),
        "change": change(number(row.get("ratio"))),
        "interval": interval(numbers(row, "interval")),
        "p": "" if p is None else f"{p:.2g}",
        "counts": " and ".join(f"{n:g}" for n in numbers(row, "counts")),
        "reason": text(row, "reason"),
        "reach": "" if reach is None else f"{100 * reach:.0f}\u00a0%",
        "within": interval(numbers(within, "interval")),
        "within_ratio": change(number(within.get("ratio"))),
    }


def _left_out(document: Document) -> list[str]:
    runs = rows(document, "runs")
    found = []
    for side in rows(document, "compare", "sides"):
        for row in rows(side, "left_out"):
            place = int(number(row.get("run")) or 0)
            label = text(runs[place], "label") if place < len(runs) else "a run"
            found.append(f"{label} ({text(side, 'label')}): {text(row, 'reason')}")
    return found


def _measures(document: Document) -> Table:
    """What was measured of every side, and the changes from the first one."""
    sides = side_labels(document)
    titles = [f"Change, {side}" for side in sides[1:]] if len(sides) > 2 else ["Change"]
    medians = (
        Column(side, partial(_median, place), note=Note(partial(_range, place)))
        for place, side in enumerate(sides)
    )
    changes = (
        Column(
            title, partial(_change, place), note=Note(partial(_interval, place), is_everywhere=True)
        )
        for place, title in enumerate(titles)
    )
    better = Note(
        lambda row: f"({'lower' if row.get('is_lower_better') else 'higher'} is better)",
        is_below=False,
    )
    return Table(
        "compared-measures",
        "Medians over the runs of each side",
        (Column("Measure", "label", kind=Kind.TEXT, note=better), *medians, *changes),
        [row for row in rows(document, "compare", "measures") if _is_measured(row)],
        file="study.json",
        has_caption=False,
    )


def _is_measured(row: Mapping[str, Any]) -> bool:
    is_any = any(number(side.get("median")) is not None for side in rows(row, "sides"))
    return is_any or not text(row, "reason")


def _median(place: int, row: Mapping[str, Any]) -> str:
    return quantity(number(_side(row, place).get("median")), text(row, "unit"))


def _range(place: int, row: Mapping[str, Any]) -> str:
    """The range of the runs; "" when they do not differ."""
    low, high = (number(_side(row, place).get(key)) for key in ("lowest", "highest"))
    unit = text(row, "unit")
    return "" if low == high else f"{quantity(low, unit)} to {quantity(high, unit)}"


def _side(row: Mapping[str, Any], place: int) -> Mapping[str, Any]:
    sides = rows(row, "sides")
    return sides[place] if place < len(sides) else {}


def _change(place: int, row: Mapping[str, Any]) -> str:
    ratios = maybe_numbers(row, "ratios")
    return change(ratios[place] if place < len(ratios) else None)


def _interval(place: int, row: Mapping[str, Any]) -> str:
    bounds = row.get("intervals")
    if not isinstance(bounds, list) or place >= len(bounds):
        return ""
    return interval(numbers({"b": bounds[place]}, "b"))


SECTION = StudySection(
    "compared", "What was measured", "compare_answer.html", _context, place=20, kinds=("compare",)
)
