"""Where the time went that a side takes more or less: the ledgers' difference as a waterfall."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from perfscope.report.access import Document, mapping, number, numbers, rows, text
from perfscope.report.charts_changes import Fall
from perfscope.report.charts_changes import waterfall as draw
from perfscope.report.formats import seconds, time_scale
from perfscope.report.studies.section import Context, StudySection
from perfscope.report.studies.sections.compare_answer import side_labels
from perfscope.report.table import Column, Kind, Table


def _context(document: Document) -> Context:
    words = tables(document)
    found = mapping(document, "compare", "waterfall")
    labels = side_labels(document)
    bars = (
        _bars(labels, numbers(found, "totals_s"), numbers(found, "speedups"), rows(found, "steps"))
        if words["steps"]
        else []
    )
    longest = max((max(bar.start, bar.end) for bar in bars), default=0.0)
    label = f"Seconds of {words['unit']} from {labels[0]} to {labels[-1]}" if labels else ""
    return words | {"chart": draw(label, bars, scale=time_scale(longest)) if bars else ""}


def tables(document: Document) -> Context:
    """What the section says without its chart, which takes a second to draw."""
    found = mapping(document, "compare", "waterfall")
    steps = rows(found, "steps")
    shown = _steps(document, "waterfall", "Account")
    return {
        "reason": text(found, "reason") or "the study holds no ledgers",
        "unit": _unit(found),
        "takeaway": _takeaway(steps) if shown and len(steps) == 1 else "",
        "steps": shown,
        "losses": _steps(document, "losses", "Training work, and lost to"),
    }


def _unit(found: Mapping[str, Any]) -> str:
    return "a step of a mean rank" if found.get("per_step") else "a mean rank"


def _steps(document: Document, part: str, title: str) -> list[Context]:
    """The tables of one partition of the time, from each side to the next."""
    found, labels = mapping(document, "compare", part), side_labels(document)
    steps = rows(found, "steps")
    is_whole = len(numbers(found, "totals_s")) == len(steps) + 1 == len(labels)
    return [
        _step(f"{part}-table-{place}", row, labels, title, _unit(found))
        for place, row in enumerate(steps, start=1)
        if is_whole
    ]


def signed(value: float | None) -> str:
    """A change of seconds with its sign."""
    if value is None:
        return seconds(value)
    return f"+{seconds(value)}" if value > 0 else seconds(value).replace("-", "−")


def _bars(
    labels: list[str],
    totals: list[float],
    speedups: list[float],
    steps: list[Mapping[str, Any]],
) -> list[Fall]:
    """Totals with their speed-up over the first side, and the changes between them."""
    bars = [Fall(labels[0], 0.0, totals[0], seconds(totals[0]), is_total=True)]
    for n, step in enumerate(steps):
        level = totals[n]
        for part in rows(step, "parts"):
            delta = number(part.get("delta_s")) or 0.0
            bars.append(Fall(text(part, "label"), level, level + delta, signed(delta)))
            level += delta
        end = totals[n + 1]
        told = f", ×\u00a0{speedups[n + 1]:.2f}" if n + 1 < len(speedups) else ""
        bars.append(Fall(labels[n + 1], 0.0, end, f"{seconds(end)}{told}", is_total=True))
    return bars


def _takeaway(steps: list[Mapping[str, Any]]) -> str:
    parts = [
        (delta, text(row, "label"))
        for row in rows(steps[0], "parts")
        if (delta := number(row.get("delta_s"))) is not None
    ]
    if not parts:
        return ""
    delta, label = max(parts, key=lambda part: abs(part[0]))
    if not delta:
        return ""
    moved = "grew" if delta > 0 else "shrank"
    return f"{label} {moved} most, by {seconds(abs(delta))}"


def _step(name: str, step: Mapping[str, Any], labels: list[str], title: str, unit: str) -> Context:
    ends = (int(number(step.get(key)) or 0) for key in ("from", "to"))
    start, end = (labels[n] if n < len(labels) else "" for n in ends)
    error = Column("Two standard errors", "error_s", lambda error: f"± {seconds(error)}")
    has_errors = any(number(part.get("error_s")) is not None for part in rows(step, "parts"))
    columns = (
        Column(title, "label", kind=Kind.TEXT, longest=40),
        Column(start, "from_s", seconds),
        Column(end, "to_s", seconds),
        Column("Change", "delta_s", signed),
        *([error] if has_errors else []),
    )
    table = Table(
        name,
        f"Seconds of {unit}",
        columns,
        rows(step, "parts"),
        file="study.json",
        has_caption=False,
    )
    return {"from": start, "to": end, "table": table}


SECTION = StudySection(
    "waterfall",
    "Where the time went",
    "compare_waterfall.html",
    _context,
    place=30,
    kinds=("compare",),
)
