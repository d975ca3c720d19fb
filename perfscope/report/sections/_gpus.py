"""GPUs as the driver saw them: a part of the section about accelerators."""

from collections.abc import Callable, Sequence
from operator import attrgetter

from perfscope.report.charts import MOST_LINES, Line, Plot, lines
from perfscope.report.formats import PLAIN, Scale, byte_scale, bytes_, count, percent
from perfscope.report.sections.section import Context
from perfscope.report.table import Column, Kind, Note, Table
from perfscope.report.views import rank_list
from perfscope.schema.common import Series
from perfscope.schema.devices import Device, Gpu, GpuSeries, SampledGpus
from perfscope.schema.enums import IdleCause, member

MOST_GPUS = 64


def _plain(_: float) -> Scale:
    """The axis of what has no unit that grows."""
    return PLAIN


CHARTS: tuple[tuple[Callable[[GpuSeries], Series], str, str, Callable[[float], Scale]], ...] = (
    (
        attrgetter("busy"),
        "Share of time in which a kernel ran on each GPU",
        "time with a kernel",
        _plain,
    ),
    (attrgetter("memory_bytes"), "Memory in use on each GPU", "memory in use", byte_scale),
    (attrgetter("sm_mhz"), "SM clock of each GPU, in MHz", "MHz", _plain),
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


def sampled_gpus(found: SampledGpus) -> Context:
    """What the samples of the driver show."""
    return {
        "gpus": Table(
            "gpus-sampled", "GPUs over the analyzed window", GPUS, found.gpus, MOST_GPUS, "GPUs"
        ),
        "gpu_charts": _charts(found.gpus[:MOST_GPUS]),
        "gpu_reason": found.reason,
    }


def idle_causes(devices: Sequence[Device]) -> list[tuple[str, float, float]]:
    """What idle devices waited for, most first, all devices together: seconds and their share."""
    totals: dict[str, float] = {}
    for device in devices:
        for name, spent in device.idle_s_by_cause.items():
            totals[name] = totals.get(name, 0.0) + spent
    whole = sum(totals.values())
    return [
        (_cause(name), s, s / whole)
        for name, s in sorted(totals.items(), key=lambda one: -one[1])
        if s > 0
    ]


def _cause(name: str) -> str:
    known = member(IdleCause, name)
    return known.label if known else "other"


def _name(gpu: Gpu) -> str:
    number = f" {gpu.index}" if gpu.index >= 0 else ""
    instance = f" {gpu.uuid[:12]}" if gpu.board else ""
    return f"{gpu.host} GPU{number}{instance}"


def _label(gpu: Gpu) -> str:
    return f"{_name(gpu)} (lost during the run)" if gpu.is_lost else _name(gpu)


def _throttled(gpu: Gpu) -> str:
    told = [f"{_REASONS[n]} {percent(s)}" for n, s in gpu.throttled.items() if n in _REASONS]
    return ", ".join(told) or "no"


def _of(value: float | None, limit: float | None, unit: str) -> str | None:
    """A value with the largest one that it can have."""
    if value is None:
        return None
    return f"{count(value)} of {count(limit)} {unit}" if limit else f"{count(value)} {unit}"


def _memory(gpu: Gpu) -> str:
    return f"{bytes_(gpu.memory_peak_bytes)} of {bytes_(gpu.memory_total_bytes)}"


def _known_by(gpu: Gpu) -> str:
    return f"by {gpu.known_by}" if gpu.known_by else ""


def _peak_phase(gpu: Gpu) -> str:
    return f"in {gpu.memory_peak_phase}" if gpu.memory_peak_phase else ""


GPUS = (
    Column("GPU", _label, kind=Kind.TEXT, note=Note(lambda gpu: gpu.name, is_below=False)),
    Column(
        "Ranks",
        lambda gpu: rank_list(gpu.ranks) if gpu.ranks else "none known",
        kind=Kind.TEXT,
        longest=200,
        note=Note(_known_by, is_below=False),
    ),
    Column("Time with a kernel", "busy", percent),
    Column("Time with memory traffic", "memory_busy", percent),
    Column("Peak of memory", _memory, kind=Kind.TEXT, note=Note(_peak_phase, is_below=False)),
    Column("Processors' clock", lambda gpu: _of(gpu.sm_mhz, gpu.sm_mhz_most, "MHz")),
    Column("Power", lambda gpu: _of(gpu.power_w, gpu.power_limit_w, "W")),
    Column("Hottest", "celsius_most", "{:,.0f} °C".format),
    Column("Slowed down", _throttled, kind=Kind.TEXT, longest=400),
)


def _charts(gpus: Sequence[Gpu]) -> list[Context]:
    out = []
    for get, title, y_title, scale in CHARTS:
        of_gpu = [(_name(gpu), get(gpu.series)) for gpu in gpus]
        shown = [
            Line(name, one.seconds, one.values) for name, one in of_gpu if len(one.seconds) > 1
        ]
        if shown:
            largest = max(value for line in shown for value in line.y)
            plot = Plot(f"{title}, over time", y_title, scale(largest), height=180.0)
            out.append(
                {"title": title, "svg": lines(plot, shown), "is_banded": len(shown) > MOST_LINES}
            )
    return out
