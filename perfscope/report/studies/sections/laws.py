"""Amdahl's law and performance models, with what they foretell and how sure that is."""

from collections.abc import Sequence

from perfscope.report.charts import Plot
from perfscope.report.formats import decimal, percent, seconds, time_scale
from perfscope.report.studies.curves import DASHED, Curve, curves
from perfscope.report.studies.section import Context, StudySection
from perfscope.report.studies.sections.speedup import scaled
from perfscope.report.table import Column, Kind, Note, Table
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
from perfscope.structures import dataclass

MOST_ALTERNATIVES = 6
DOTTED = "2 3.5"  # seen between the dashes of a model of the same law


def _context(study: Study) -> Context:
    found = scaled(study)
    law = found.parts[0].amdahl if found.parts else None
    models = [part.model for part in found.parts]
    return {
        "takeaway": _takeaway(found, law),
        "amdahl": _amdahl(found, law) if isinstance(law, Amdahl) else None,
        "amdahl_reason": law.reason if law else "",
        "chart": _chart(found, found.parts[0]) if found.parts else "",
        "models": _models(found),
        "model_reasons": _reasons(models),
        "extra_p_reasons": _reasons([part.extra_p for part in found.parts]),
        "has_models": any(model.value for model in models),
    }


def _takeaway(found: ScalingResult, law: Amdahl | NotFitted | None) -> str:
    if not isinstance(law, Amdahl):
        return ""
    told = f"Amdahl's law: serial share {percent(law.value)}"
    if law.most_speedup is None or not found.points:
        return told
    first = found.size_label(found.points[0].size)
    return (
        f"{told}, so that no size is more than {decimal(law.most_speedup)} times as fast as {first}"
    )


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


@dataclass(frozen=True)
class _ModelRow:
    """One model as the table shows it; that of Extra-P stands below ours of the same part."""

    label: str
    depth: int
    text: str | None
    reason: str
    error: float | None = None
    alternatives: str = ""
    forecasts: tuple[str, ...] = ()


MODELS = (
    Column("Part", "label", kind=Kind.TEXT, depth=lambda row: row.depth),
    Column(
        "Model (s)",
        "text",
        kind=Kind.CODE,
        longest=120,
        absent="none",
        note=Note(lambda row: row.reason),
    ),
    Column("Error on left-out sizes", "error", percent),
    Column("Predict as well", "alternatives", kind=Kind.TEXT, longest=200),
    Column("Extrapolated", "forecasts", kind=Kind.LINES, longest=80),
)


def _models(found: ScalingResult) -> Table:
    rows = [row for part in found.parts for row in _rows(found, part)]
    return Table("models-table", "Performance models", MODELS, rows, has_caption=False)


def _rows(found: ScalingResult, part: ScalingPart) -> list[_ModelRow]:
    own, other = part.model, part.extra_p
    if isinstance(own, FittedModel):
        shown = ", ".join(own.alternatives[:MOST_ALTERNATIVES]) or "none"
        if len(own.alternatives) > MOST_ALTERNATIVES:
            shown += f" and {len(own.alternatives) - MOST_ALTERNATIVES} more"
        forecasts = tuple(_told(**_forecast(found, row)) for row in own.forecasts)
        rows = [
            _ModelRow(part.label, 0, own.value, "", own.cross_validation_error, shown, forecasts)
        ]
    else:
        rows = [_ModelRow(part.label, 0, None, own.reason or "")]
    if isinstance(other, ExtraP):
        told = tuple(
            f"{found.size_label(row.size)}: {seconds(row.value)}" for row in other.forecasts
        )
        rows.append(_ModelRow("by Extra-P", 1, other.value, "", forecasts=told))
    return rows


def _told(size: str, value: str, interval: str) -> str:
    """An extrapolated time with its interval."""
    return f"{size}: {value} ({interval})" if interval else f"{size}: {value}"


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
        drawn += _continued("Amdahl's law", "series-2", DOTTED, (sizes, values), law.forecasts)
    if isinstance(own, FittedModel):
        drawn += _continued("model", "series-3", DASHED, (sizes, own.fitted), own.forecasts)
    if not drawn:
        return ""
    drawn.insert(0, Curve("measured", "series-1", sizes, times))
    plot = Plot(
        "Run time, measured and extrapolated",
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
    "laws",
    "Laws and extrapolation",
    "scaling_laws.html",
    _context,
    place=50,
    kinds=("scaling",),
    is_folded=True,
)
