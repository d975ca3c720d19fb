"""Run time and throughput over the size of the job, against ideal."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from perfscope.report.charts import Plot
from perfscope.report.formats import decimal, ratio, seconds
from perfscope.report.labels import band
from perfscope.report.palette import SERIES_ROLES
from perfscope.report.studies.curves import Curve, curves
from perfscope.report.studies.section import Context, StudySection
from perfscope.schema.scaling import ScalingPoint, ScalingResult, Spread
from perfscope.schema.study import Study

MOST_EXTERNAL = 5


def _context(study: Study) -> Context:
    found = scaled(study)
    points = found.points
    reasons = filter(None, (point.samples_per_s_reason for point in points))
    return {
        "axis": found.axis_one,
        "axis_reason": found.axis_reason,
        "growth": found.growth.sentence,
        "chart": _chart(found),
        "rows": [_row(found, point) for point in points],
        "no_throughput": next(reasons, ""),
        "superlinear": [row.sentence for row in found.superlinear],
        "external": [f"{row.label} ({row.file})" for row in found.external],
        "notes": found.notes,
    }


def scaled(study: Study) -> ScalingResult:
    """What a scaling study found."""
    assert study.scaling is not None
    return study.scaling


def _row(found: ScalingResult, point: ScalingPoint) -> Context:
    rate = point.throughput_efficiency
    return {
        "label": found.size_label(point.size),
        "runs": len(point.runs),
        "time": _spread(point.time_s, seconds),
        "speedup": decimal(point.speedup),
        "ideal": decimal(point.ideal_speedup),
        "efficiency": ratio(point.efficiency),
        "band": band(point.efficiency),
        "rate": _spread(point.samples_per_s, decimal),
        "rate_speedup": decimal(point.throughput_speedup),
        "rate_efficiency": ratio(rate),
        "rate_band": band(rate) if rate is not None else None,
    }


def _spread(found: Spread | None, write: Callable[[float | None], str]) -> Context:
    if found is None:
        return {"value": write(None), "range": ""}
    told = f"{write(found.low)} to {write(found.high)}" if found.count > 1 else ""
    return {"value": write(found.median), "range": told}


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
    # dashes let a line be seen through another one on it
    drawn += curve("samples/s", "series-2", sizes, rates, dashes="11 11")
    for position, row in enumerate(found.external[:MOST_EXTERNAL]):
        # dots too, because somebody measured them
        role = SERIES_ROLES[(position + 2) % len(SERIES_ROLES)]
        drawn += curve(row.label, role, row.sizes, row.speedup)
    plot = Plot(
        "Speed-up of run time and throughput over size, beside the ideal line",
        "Speed-up",
        x_title=found.axis_many,
        height=260.0,
    )
    return curves(plot, drawn, sizes=sizes)


def curve(
    label: str, role: str, x: Sequence[float], y: Sequence[float | None], *, dashes: str = ""
) -> list[Curve]:
    """The line through what is known; none where nothing is."""
    known = [(own, value) for own, value in zip(x, y, strict=True) if value is not None]
    if not known:
        return []
    return [Curve(label, role, [x for x, _ in known], [y for _, y in known], dashes=dashes)]


SECTION = StudySection(
    "speedup", "Speed-up", "scaling_speedup.html", _context, place=10, kinds=("scaling",)
)
