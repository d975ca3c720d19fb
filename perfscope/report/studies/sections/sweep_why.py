"""Why the best configuration wins, and what every one was made of."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from perfscope.report.access import Document, mapping, number, numbers, rows, text, texts
from perfscope.report.formats import bytes_, count, decimal, percent, ratio
from perfscope.report.studies.section import Context, StudySection
from perfscope.units import MISSING

MOST_ROWS = 200
SECONDS_SHOWN = 1000.0


def _context(document: Document) -> Context:
    sweep = mapping(document, "sweep")
    found = rows(sweep, "configurations")
    ordered = sorted(found, key=lambda row: -(number(row.get("speed")) or 0.0))
    fastest = max((number(row.get("speed")) or 0.0 for row in found), default=0.0)
    best = next((row for row in found if row.get("is_best") is True), {})
    return {
        "best": text(best, "label") or ("the command as it is" if best else ""),
        "explanations": [_explanation(row) for row in rows(sweep, "why")],
        "best_reason": text(sweep, "best_reason"),
        "memory": text(sweep, "memory"),
        "unit": text(sweep, "objective", "unit"),
        "quality": text(sweep, "quality"),
        "rows": [_row(row, fastest) for row in ordered[:MOST_ROWS]],
        "left_out": max(len(ordered) - MOST_ROWS, 0),
    }


def _explanation(row: Mapping[str, Any]) -> Context:
    return {
        "label": text(row, "label") or "the command as it is",
        "sentence": text(row, "sentence"),
        "facts": texts(row, "facts"),
        "within_noise": row.get("within_noise") is True,
    }


def _row(row: Mapping[str, Any], fastest: float) -> Context:
    factors = mapping(row, "factors")
    speed, spread = number(row.get("speed")), numbers(row, "speed_interval")
    quality = number(row.get("quality"))
    return {
        "label": text(row, "label") or "the command as it is",
        "is_best": row.get("is_best") is True,
        "is_near": row.get("may_be_best") is True and row.get("is_best") is not True,
        "is_measured": speed is not None,
        "status": text(row, "status"),
        "reason": text(row, "reason"),
        "speed": decimal(speed),
        "spread": f"{decimal(spread[0])} to {decimal(spread[1])}" if len(spread) == 2 else MISSING,
        "share": f"{100 * speed / fastest:.1f}" if speed is not None and fastest else "0",
        "quality": MISSING if quality is None else decimal(quality),
        "cells": (
            ratio(number(factors.get("parallel_efficiency"))),
            ratio(number(factors.get("load_balance"))),
            ratio(number(factors.get("communication_efficiency"))),
            _of(factors, "cpus_busy", "cpus"),
            _two(number(factors.get("runnable_per_cpu"))),
            _milliseconds(number(factors.get("queue_share"))),
            count(number(factors.get("threads"))),
            _memory(factors),
        ),
    }


def _two(value: float | None) -> str:
    return MISSING if value is None else f"{value:.2f}"


def _of(factors: Mapping[str, Any], name: str, whole: str) -> str:
    value, total = number(factors.get(name)), number(factors.get(whole))
    return _two(value) if value is None or total is None else f"{value:.2f} of {total:g}"


def _milliseconds(share: float | None) -> str:
    return MISSING if share is None else f"{SECONDS_SHOWN * share:.0f} ms"


def _memory(factors: Mapping[str, Any]) -> str:
    share = number(factors.get("memory_share"))
    node = "" if share is None else f" ({percent(share)} of the node)"
    return f"{bytes_(number(factors.get('peak_bytes')))}{node}"


SECTION = StudySection("why", "Why", "sweep_why.html", _context, place=20, kinds=("sweep",))
