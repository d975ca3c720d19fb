"""Every number of the sides beside each other; the judged one first."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from perfscope.report.access import Document, mapping, number, numbers, rows, text, texts
from perfscope.report.formats import decimal, quantity
from perfscope.report.labels import StatusWord
from perfscope.report.studies.section import Context, StudySection

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
        return "–"
    share = 100 * (ratio - 1)
    return f"{share:+.1f}\u00a0%" if abs(share) < 1000 else f"× {ratio:.3g}"


def interval(bounds: list[float]) -> str:
    """An interval of a ratio as changes; "" when there is none."""
    return f"{change(bounds[0])} to {change(bounds[1])}" if len(bounds) == 2 else ""


def side_labels(document: Document) -> list[str]:
    """The labels of the sides."""
    return [text(row, "label") for row in rows(document, "compare", "sides")]


def _context(document: Document) -> Context:
    labels = side_labels(document)
    several = len(labels) > 2
    return {
        "sides": labels,
        "changes": [f"Change, {label}" for label in labels[1:]] if several else ["Change"],
        "answers": [_answer(row) for row in rows(document, "compare", "comparisons")],
        "unlike": texts(document, "compare", "unlike"),
        "left_out": _left_out(document),
        "measures": [_measure(row) for row in rows(document, "compare", "measures")],
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


def _measure(row: Mapping[str, Any]) -> Context:
    unit = text(row, "unit")
    sides = rows(row, "sides")
    return {
        "label": text(row, "label"),
        "better": "lower" if row.get("is_lower_better") else "higher",
        "cells": [_value(side, unit) for side in sides],
        "changes": _changes(row),
        "reason": text(row, "reason")
        if all(number(side.get("median")) is None for side in sides)
        else "",
    }


def _value(side: Mapping[str, Any], unit: str) -> tuple[str, str]:
    """The median, and the range when the runs differ."""
    middle, low, high = (number(side.get(key)) for key in ("median", "lowest", "highest"))
    if middle is None:
        return ("–", "")
    spread = "" if low == high else f"{quantity(low, unit)} to {quantity(high, unit)}"
    return (quantity(middle, unit), spread)


def _changes(row: Mapping[str, Any]) -> list[tuple[str, str]]:
    ratios = row.get("ratios") if isinstance(row.get("ratios"), list) else []
    bounds = row.get("intervals") if isinstance(row.get("intervals"), list) else []
    return [
        (change(number(ratio)), interval(numbers({"b": bound}, "b")))
        for ratio, bound in zip(ratios or [], bounds or [], strict=False)
    ]


SECTION = StudySection(
    "compared", "What was measured", "compare_answer.html", _context, place=20, kinds=("compare",)
)
