"""Run time and throughput over the size of the job, against ideal."""

from collections.abc import Callable, Sequence

from perfscope.report.charts import Plot
from perfscope.report.formats import decimal, ratio, seconds, speedup
from perfscope.report.palette import SERIES_ROLES
from perfscope.report.studies.curves import Curve, curves
from perfscope.report.studies.section import Context, StudySection
from perfscope.report.table import Column, Kind, Note, Table
from perfscope.schema.scaling import ScalingPoint, ScalingResult, Spread
from perfscope.schema.study import Study
from perfscope.units import counted

MOST_EXTERNAL = 5
SAME_SPEEDUP = 1.05
"""Speed-ups that differ by less are told and drawn as one."""


def _context(study: Study) -> Context:
    found = scaled(study)
    points = found.points
    reasons = filter(None, (point.samples_per_s_reason for point in points))
    return {
        "axis": found.axis_one,
        "axis_reason": found.axis_reason,
        "growth": found.growth.sentence,
        "chart": _chart(found),
        "has_steps": has_steps(found),
        "table": _table(found),
        "no_throughput": next(reasons, ""),
        "superlinear": [row.sentence for row in found.superlinear],
        "external": [f"{row.label} ({row.file})" for row in found.external],
        "notes": found.notes,
    }


def scaled(study: Study) -> ScalingResult:
    """What a scaling study found."""
    assert study.scaling is not None
    return study.scaling


def _table(found: ScalingResult) -> Table:
    rates = (
        Column("Speed-up of samples/s", "throughput_speedup", speedup),
        Column("Its efficiency", "throughput_efficiency", ratio, Kind.BAND),
    )
    columns = (
        Column("Size", lambda one: found.size_label(one.size), kind=Kind.TEXT, note=Note(_runs)),
        _spread("Run time", "time_s", seconds),
        Column("Speed-up", "speedup", speedup),
        Column("Ideal", "ideal_speedup", decimal),
        Column("Efficiency", "efficiency", ratio, Kind.BAND),
        *([_spread("Samples/s", "samples_per_s", decimal)] if _has(found, "samples_per_s") else []),
        *(rates if has_rates(found) else ()),
        *([Column("Speed-up of steps", "step_speedup", speedup)] if has_steps(found) else []),
    )
    caption = "Run time and throughput by size"
    return Table("speedup-table", caption, columns, found.points, has_caption=False)


def _has(found: ScalingResult, name: str) -> bool:
    return any(getattr(point, name) is not None for point in found.points)


def _runs(point: ScalingPoint) -> str:
    return counted(len(point.runs), "run") if len(point.runs) > 1 else ""


def _spread(title: str, name: str, write: Callable[[float | None], str]) -> Column:
    """The median of several runs, and from where to where they reach."""

    def told(point: ScalingPoint) -> str:
        found: Spread | None = getattr(point, name)
        return f"{write(found.low)} to {write(found.high)}" if found and found.count > 1 else ""

    def median(point: ScalingPoint) -> float | None:
        found: Spread | None = getattr(point, name)
        return found.median if found else None

    return Column(title, median, write, note=Note(told))


def _differ(one: float | None, other: float | None) -> bool:
    """Whether two speed-ups are told apart."""
    return one is not None and (
        other is None or max(one, other) > SAME_SPEEDUP * max(min(one, other), 0.0)
    )


def has_rates(found: ScalingResult) -> bool:
    """Whether samples per second scale otherwise than the run time, in weak scaling for example."""
    return any(_differ(point.throughput_speedup, point.speedup) for point in found.points)


def has_steps(found: ScalingResult) -> bool:
    """Whether the steps scale otherwise than the run."""
    return any(_differ(point.step_speedup, point.speedup) for point in found.points)


def _chart(found: ScalingResult) -> str:
    points = found.points
    sizes = [float(point.size) for point in points]
    if len(sizes) < 2:
        return ""
    ideal = [point.ideal_speedup for point in points]
    drawn = [Curve("ideal", "muted", sizes, ideal, is_measured=False)]
    speedups = [point.speedup for point in points]
    rates = [point.throughput_speedup for point in points]
    drawn += curve("run time", "series-1", sizes, speedups)
    if has_rates(found):
        drawn += curve("samples/s", "series-2", sizes, rates)
    if has_steps(found):
        drawn += curve("steps", "series-3", sizes, [point.step_speedup for point in points])
    for position, row in enumerate(found.external[:MOST_EXTERNAL]):
        # dots too, because somebody measured them
        role = SERIES_ROLES[(position + 2) % len(SERIES_ROLES)]
        drawn += curve(row.label, role, row.sizes, row.speedup)
    plot = Plot(
        "Speed-up of run time and throughput by size, with the ideal line",
        "Speed-up",
        x_title=found.axis_many,
        height=260.0,
    )
    return curves(plot, drawn, sizes=sizes)


def curve(label: str, role: str, x: Sequence[float], y: Sequence[float | None]) -> list[Curve]:
    """The line through what is known; none where nothing is."""
    known = [(own, value) for own, value in zip(x, y, strict=True) if value is not None]
    if not known:
        return []
    return [Curve(label, role, [x for x, _ in known], [y for _, y in known])]


SECTION = StudySection(
    "speedup", "Speed-up", "scaling_speedup.html", _context, place=10, kinds=("scaling",)
)
