"""GPUs as the driver saw them: a part of the section about accelerators."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from perfscope.report.access import integers, mapping, number, numbers, rows, text
from perfscope.report.charts import MOST_LINES, Line, Plot, lines
from perfscope.report.formats import PLAIN, byte_scale, bytes_, count, percent
from perfscope.report.sections.section import Context
from perfscope.report.table import Column, Kind, Note, Table
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
        "gpus": Table(
            "gpus-sampled", "GPUs over the analyzed window", GPUS, gpus, MOST_GPUS, "GPUs"
        ),
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
            "share": value / whole,
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


def _label(row: Mapping[str, Any]) -> str:
    return f"{_name(row)} (lost during the run)" if row.get("is_lost") is True else _name(row)


def _ranks(row: Mapping[str, Any]) -> str:
    ranks = integers(row, "ranks")
    return rank_list(ranks) if ranks else "none known"


def _throttled(row: Mapping[str, Any]) -> str:
    told = [
        f"{_REASONS[name]} {percent(number(share))}"
        for name, share in mapping(row, "throttled").items()
        if name in _REASONS
    ]
    return ", ".join(told) or "no"


def _of(key: str, most: str, unit: str) -> Callable[[Mapping[str, Any]], str | None]:
    """A value with the largest one that it can have."""

    def written(row: Mapping[str, Any]) -> str | None:
        value, limit = number(row.get(key)), number(row.get(most))
        if value is None:
            return None
        return f"{count(value)} of {count(limit)} {unit}" if limit else f"{count(value)} {unit}"

    return written


def _memory(row: Mapping[str, Any]) -> str:
    peak, whole = (number(row.get(f"memory_{key}_bytes")) for key in ("peak", "total"))
    return f"{bytes_(peak)} of {bytes_(whole)}"


def _prefixed(word: str, key: str) -> Note:
    """A text of the row behind a word, beside what stands in the cell."""
    return Note(lambda row: f"{word} {found}" if (found := text(row, key)) else "", is_below=False)


GPUS = (
    Column("GPU", _label, kind=Kind.TEXT, note=Note(lambda row: text(row, "name"), is_below=False)),
    Column("Ranks", _ranks, kind=Kind.TEXT, longest=200, note=_prefixed("by", "known_by")),
    Column("Time with a kernel", "busy", percent),
    Column("Time with memory traffic", "memory_busy", percent),
    Column("Peak of memory", _memory, kind=Kind.TEXT, note=_prefixed("in", "memory_peak_phase")),
    Column("Processors’ clock", _of("sm_mhz", "sm_mhz_most", "MHz")),
    Column("Power", _of("power_w", "power_limit_w", "W")),
    Column("Hottest", "celsius_most", "{:,.0f} °C".format),
    Column("Slowed down", _throttled, kind=Kind.TEXT, longest=400),
)


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
            plot = Plot(f"{title}, over time", y_title, scale, height=180.0)
            out.append(
                {
                    "title": title,
                    "svg": lines(plot, series),
                    "is_banded": len(series) > MOST_LINES,
                }
            )
    return out
