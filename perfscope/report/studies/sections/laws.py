"""Amdahl's law and performance models, with what they foretell and how sure that is."""

from __future__ import annotations

from collections.abc import Sequence

from perfscope.report.charts import Plot
from perfscope.report.formats import decimal, percent, seconds, time_scale
from perfscope.report.studies.curves import DASHED, Curve, curves
from perfscope.report.studies.section import Context, StudySection
from perfscope.report.studies.sections.speedup import scaled
from perfscope.schema.scaling import (
    Amdahl,
    ExtraP,
    FittedModel,
    Forecast,
    NotFitted,
    ScalingPart,
    ScalingResult,
)
from perfscope.schema.study import Study

MOST_ALTERNATIVES = 6
DOTTED = "2 3.5"  # seen between the dashes of a model of the same law


def _context(study: Study) -> Context:
    found = scaled(study)
    law = found.parts[0].amdahl if found.parts else None
    models = [part.model for part in found.parts]
    return {
        "amdahl": _amdahl(found, law) if isinstance(law, Amdahl) else None,
        "amdahl_reason": law.reason if law else "",
        "chart": _chart(found, found.parts[0]) if found.parts else "",
        "models": [_model(found, part) for part in found.parts],
        "model_reasons": _reasons(models),
        "extra_p_reasons": _reasons([part.extra_p for part in found.parts]),
        "has_models": any(model.value for model in models),
    }


def _reasons(found: Sequence[NotFitted | FittedModel | ExtraP]) -> list[str]:
    return sorted({one.reason for one in found if one.reason})


def _amdahl(found: ScalingResult, law: Amdahl) -> Context:
    most, at_least = law.most_speedup, law.most_speedup_at_least
    return {
        "serial": percent(law.value),
        "serial_interval": " to ".join(map(percent, law.serial_interval or ())),
        "most": decimal(most) if most is not None else "",
        "at_least": decimal(at_least) if at_least is not None else "",
        "reference": found.size_label(found.points[0].size) if found.points else "",
        "forecasts": [_forecast(found, row) for row in law.forecasts],
    }


def _forecast(found: ScalingResult, row: Forecast) -> Context:
    return {
        "size": found.size_label(row.size),
        "value": seconds(row.value),
        "interval": " to ".join(map(seconds, row.interval or ())),
    }


def _model(found: ScalingResult, part: ScalingPart) -> Context:
    own, other = part.model, part.extra_p
    told: Context = {"label": part.label, "text": own.value, "reason": own.reason, "extra_p": ""}
    if isinstance(own, FittedModel):
        shown = ", ".join(own.alternatives[:MOST_ALTERNATIVES])
        if len(own.alternatives) > MOST_ALTERNATIVES:
            shown += f" and {len(own.alternatives) - MOST_ALTERNATIVES} more"
        told |= {
            "error": percent(own.cross_validation_error),
            "alternatives": shown,
            "forecasts": [_forecast(found, row) for row in own.forecasts],
        }
    if isinstance(other, ExtraP):
        forecasts = [(found.size_label(row.size), seconds(row.value)) for row in other.forecasts]
        told |= {"extra_p": other.value, "extra_p_forecasts": forecasts}
    return told


def _chart(found: ScalingResult, whole: ScalingPart) -> str:
    """Run time as measured, and as each law continues it."""
    sizes = [float(point.size) for point in found.points]
    times = [point.time_s.median for point in found.points if point.time_s]
    law, own = whole.amdahl, whole.model
    drawn: list[Curve] = []
    if not sizes or len(times) != len(sizes):
        return ""
    if isinstance(law, Amdahl):
        values = [law.constant_s + law.parallel_s * sizes[0] / size for size in sizes]
        drawn += _continued("Amdahl’s law", "series-2", DOTTED, (sizes, values), law.forecasts)
    if isinstance(own, FittedModel):
        drawn += _continued("model", "series-3", DASHED, (sizes, own.fitted), own.forecasts)
    if not drawn:
        return ""
    drawn.insert(0, Curve("measured", "series-1", sizes, times))
    plot = Plot(
        "Run time as measured and as the laws continue it",
        "Run time",
        y_scale=time_scale(max(times)),
        x_title=found.axis_many,
        height=260.0,
    )
    ticks = sorted({x for curve in drawn for x in curve.x})
    return curves(plot, drawn, sizes=ticks, measured_until=sizes[-1])


def _continued(
    label: str,
    role: str,
    dashes: str,
    fitted: tuple[Sequence[float], Sequence[float]],
    forecasts: Sequence[Forecast],
) -> list[Curve]:
    """A law over the sizes and beyond, and its intervals there as strokes through its line."""
    x, y = [float(one.size) for one in forecasts], [one.value for one in forecasts]
    line = Curve(label, role, [*fitted[0], *x], [*fitted[1], *y], is_measured=False, dashes=dashes)
    spread = [one.interval for one in forecasts if one.interval]
    if len(spread) < len(x):
        return [line]
    return [line, Curve("", role, x, y, spread, is_measured=False)]


SECTION = StudySection(
    "laws", "Laws and extrapolation", "scaling_laws.html", _context, place=50, kinds=("scaling",)
)
