"""Why the best configuration wins, and what every one was made of."""

from __future__ import annotations

from perfscope.report.formats import bytes_, count, decimal, percent, ratio
from perfscope.report.studies.section import Context, StudySection
from perfscope.report.studies.sections.sweep_speed import spread, swept
from perfscope.schema.study import Study
from perfscope.schema.sweep_result import ConfigurationResult, SpeedFactors
from perfscope.units import MISSING

MOST_ROWS = 200
SECONDS_SHOWN = 1000.0


def _context(study: Study) -> Context:
    sweep = swept(study)
    ordered = sorted(sweep.configurations, key=lambda row: -(row.speed or 0.0))
    fastest = max((row.speed or 0.0 for row in ordered), default=0.0)
    best = next((row for row in ordered if row.is_best), None)
    return {
        "best": best.title if best else "",
        "explanations": [
            {
                "label": one.label or "the command as it is",
                "sentence": one.sentence,
                "facts": one.facts,
                "within_noise": one.within_noise,
            }
            for one in sweep.why
        ],
        "best_reason": sweep.best_reason,
        "memory": sweep.memory,
        "unit": sweep.objective.unit,
        "quality": sweep.quality,
        "rows": [_row(row, fastest) for row in ordered[:MOST_ROWS]],
        "left_out": max(len(ordered) - MOST_ROWS, 0),
    }


def _row(row: ConfigurationResult, fastest: float) -> Context:
    share = 100 * row.speed / fastest if row.speed is not None and fastest else None
    return {
        "label": row.title,
        "is_best": row.is_best,
        "is_near": row.is_near,
        "is_measured": row.speed is not None,
        "status": row.status,
        "reason": row.reason,
        "speed": decimal(row.speed),
        "spread": spread(row.speed_interval) or MISSING,
        "share": "0" if share is None else f"{share:.1f}",
        "quality": decimal(row.quality),
        "cells": _cells(row.factors) if row.factors else (MISSING,) * 8,
    }


def _cells(factors: SpeedFactors) -> tuple[str, ...]:
    return (
        ratio(factors.parallel_efficiency),
        ratio(factors.load_balance),
        ratio(factors.communication_efficiency),
        _of(factors.cpus_busy, factors.cpus),
        _two(factors.runnable_per_cpu),
        _milliseconds(factors.queue_share),
        count(factors.threads),
        _memory(factors),
    )


def _two(value: float | None) -> str:
    return MISSING if value is None else f"{value:.2f}"


def _of(value: float | None, total: float | None) -> str:
    return _two(value) if value is None or total is None else f"{value:.2f} of {total:g}"


def _milliseconds(share: float | None) -> str:
    return MISSING if share is None else f"{SECONDS_SHOWN * share:.0f} ms"


def _memory(factors: SpeedFactors) -> str:
    share = factors.memory_share
    node = "" if share is None else f" ({percent(share)} of the node)"
    return f"{bytes_(factors.peak_bytes)}{node}"


SECTION = StudySection("why", "Why", "sweep_why.html", _context, place=20, kinds=("sweep",))
