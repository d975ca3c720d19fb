"""GPUs as the driver saw them: a part of the section about accelerators."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from perfscope.report.access import integers, mapping, number, numbers, rows, text
from perfscope.report.charts import MOST_LINES, Line, Plot, lines
from perfscope.report.formats import PLAIN, byte_scale, bytes_, count, percent
from perfscope.report.sections.section import Context
from perfscope.report.views import rank_list
from perfscope.schema.enums import IdleCause, member

MOST_GPUS = 64
CHARTS = (
    ("busy", "Share of time in which a kernel ran on each GPU", "time with a kernel"),
    ("memory_bytes", "Memory in use on each GPU", "memory in use"),
    ("sm_mhz", "Clock of the processors of each GPU, in MHz", "MHz"),
)
_REASONS = {
    "power_cap": "at its power limit",
    "hardware_slowdown": "slowed by the hardware",
    "software_thermal": "slowed for heat",
    "hardware_thermal": "slowed by half for heat",
    "power_brake": "slowed by a power brake",
    "sync_boost": "held to the clock of its group",
    "application_clocks": "at clocks that were set",
    "display_clocks": "at clocks for displays",
}


def sampled_gpus(found: Mapping[str, Any]) -> Context:
    """What the samples of the driver show, from the object `sampled`."""
    gpus = rows(found, "gpus")
    return {
        "gpus": [_gpu(row) for row in gpus[:MOST_GPUS]],
        "gpus_left_out": max(len(gpus) - MOST_GPUS, 0),
        "gpu_charts": _charts(gpus[:MOST_GPUS]),
        "gpu_reason": text(found, "reason"),
    }


def idle_causes(devices: list[Mapping[str, Any]]) -> list[Context]:
    """What idle devices waited for, most first, all devices together."""
    totals: dict[str, float] = {}
    for device in devices:
        for name, value in mapping(device, "idle_s_by_cause").items():
            if (spent := number(value)) is not None:
                totals[name] = totals.get(name, 0.0) + spent
    whole = sum(totals.values())
    return [
        {
            "cause": _cause(name),
            "seconds": value,
            "share": percent(value / whole),
        }
        for name, value in sorted(totals.items(), key=lambda pair: -pair[1])
        if value > 0
    ]


def _cause(name: str) -> str:
    known = member(IdleCause, name)
    return known.label if known else "other"


def _name(row: Mapping[str, Any]) -> str:
    index = number(row.get("index"))
    number_ = f"GPU {int(index)}" if index is not None and index >= 0 else "GPU"
    instance = f" {text(row, 'uuid')[:12]}" if text(row, "board") else ""
    return f"{text(row, 'host')} {number_}{instance}"


def _gpu(row: Mapping[str, Any]) -> Context:
    ranks = integers(row, "ranks")
    throttled = mapping(row, "throttled")
    told = [
        f"{_REASONS[name]} {percent(number(share))}"
        for name, share in throttled.items()
        if name in _REASONS
    ]
    return {
        "label": _name(row),
        "name": text(row, "name"),
        "ranks": rank_list(ranks) if ranks else "none known",
        "known_by": text(row, "known_by"),
        "busy": percent(number(row.get("busy"))),
        "memory_busy": percent(number(row.get("memory_busy"))),
        "peak": bytes_(number(row.get("memory_peak_bytes"))),
        "total": bytes_(number(row.get("memory_total_bytes"))),
        "phase": text(row, "memory_peak_phase"),
        "clock": _of(row, "sm_mhz", "sm_mhz_most", "MHz"),
        "power": _of(row, "power_w", "power_limit_w", "W"),
        "celsius": f"{count(number(row.get('celsius_most')))} °C"
        if number(row.get("celsius_most")) is not None
        else "unknown",
        "throttled": ", ".join(told) or "no",
        "is_lost": row.get("is_lost") is True,
    }


def _of(row: Mapping[str, Any], key: str, most: str, unit: str) -> str:
    value, limit = number(row.get(key)), number(row.get(most))
    if value is None:
        return "unknown"
    return f"{count(value)} of {count(limit)} {unit}" if limit else f"{count(value)} {unit}"


def _charts(gpus: list[Mapping[str, Any]]) -> list[Context]:
    out = []
    for key, title, y_title in CHARTS:
        series = []
        for row in gpus:
            x, y = (numbers(row, "series", key, part) for part in ("seconds", "values"))
            if len(x) == len(y) > 1:
                series.append(Line(_name(row), x, y))
        if series:
            largest = max(value for line in series for value in line.y)
            scale = byte_scale(largest) if key == "memory_bytes" else PLAIN
            plot = Plot(f"gpus-{key[:4]}", f"{title}, over time", y_title, scale, height=180.0)
            out.append(
                {
                    "title": title,
                    "svg": lines(plot, series),
                    "is_banded": len(series) > MOST_LINES,
                }
            )
    return out
