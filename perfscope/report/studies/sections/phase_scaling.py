"""Time, speed-up and efficiency of each phase."""

from collections.abc import Sequence
from dataclasses import replace

from perfscope.report.charts import Plot
from perfscope.report.formats import decimal, ratio, seconds, time_scale
from perfscope.report.palette import SERIES_ROLES
from perfscope.report.studies.curves import Curve, curves
from perfscope.report.studies.section import Context, StudySection
from perfscope.report.studies.sections.speedup import curve, scaled
from perfscope.report.table import Column, Kind, Note, Table
from perfscope.schema.scaling import Amdahl, FittedModel, ScalingPart, ScalingResult
from perfscope.schema.study import Study
from perfscope.units import counted

MOST_CURVES = 6
LEAST_SPEEDUP = 0.01
LEAST_SHARE = 0.05  # of the run; a shorter phase is not named


def _context(study: Study) -> Context:
    found = scaled(study)
    sizes = [float(point.size) for point in found.points]
    return {
        "takeaway": _takeaway(found),
        "has_law": any(_law(part, sizes) for part in found.parts),
        "table": _table(found.parts, [found.size_label(size) for size in sizes]),
        "chart": _chart(found, sizes) if len(sizes) > 1 else "",
    }


def _takeaway(found: ScalingResult) -> str:
    """The phase that scales worst, of those worth naming at the largest size."""
    if not found.parts or not found.points:
        return ""
    known = [
        (value, part.label)
        for part in found.parts[1:]
        if (value := part.efficiency[-1]) is not None
        and part.id != "communication"  # one rank has none: it can only grow
        and _is_long(part, found.parts[0], -1)
    ]
    if not known:
        return ""
    value, name = min(known)
    size = found.size_label(found.points[-1].size)
    return f"{name} scales worst: efficiency {ratio(value)} with {size}"


def _is_long(part: ScalingPart, whole: ScalingPart, place: int) -> bool:
    """Whether a phase takes a share of the run at a size that is worth naming."""
    own, all_of_it = part.time_s[place], whole.time_s[place]
    return (
        own is not None and all_of_it is not None and own.median >= LEAST_SHARE * all_of_it.median
    )


def _table(parts: Sequence[ScalingPart], sizes: Sequence[str]) -> Table:
    columns = [Column("Phase", "label", kind=Kind.TEXT, note=Note(_alone))]
    for place, label in enumerate(sizes):
        columns += _size_columns(label, place)
    caption = "Phases by size: time, speed-up, efficiency"
    return Table("phases-table", caption, columns, parts, has_caption=False)


def _alone(part: ScalingPart) -> str:
    """That always as many ranks do it, however many there are."""
    entered = part.ranks or ()
    is_same = len(set(entered)) == 1 and len(entered) > 1
    return f"on {counted(entered[-1], 'rank')} alone" if is_same else ""


def _size_columns(label: str, place: int) -> list[Column]:
    """The time at a size with its speed-up, and, beyond the first size, the efficiency."""

    def time(part: ScalingPart) -> float | None:
        found = part.time_s[place]
        return found.median if found else None

    def speedup(part: ScalingPart) -> str:
        found = part.speedup[place]
        if found is None or not place:
            return ""
        return f"×{decimal(found)}" if found >= LEAST_SPEEDUP else f"below ×{LEAST_SPEEDUP}"

    own = Column(label, time, seconds, note=Note(speedup))
    if not place:
        return [own]
    return [own, Column("Efficiency", lambda part: part.efficiency[place], ratio, Kind.BAND)]


def _chart(found: ScalingResult, sizes: Sequence[float]) -> str:
    """Seconds of the parts that take most at any size, each with the law that was fitted to it."""
    drawn: list[tuple[Curve, ScalingPart]] = []
    for part in found.parts:
        known = [time if time and time.median > 0 else None for time in part.time_s]
        label = part.label.split(" (")[0]
        medians = curve(label, "ink", sizes, [time.median if time else None for time in known])
        spread = [(time.low, time.high) for time in known if time]
        drawn += [(replace(one, spread=spread), part) for one in medians]
    drawn.sort(key=lambda pair: -max(pair[0].y))
    if not drawn:
        return ""
    shown: list[Curve] = []
    for role, (one, part) in zip(SERIES_ROLES, drawn[:MOST_CURVES], strict=False):
        shown.append(replace(one, role=role))
        if law := _law(part, sizes):
            shown.append(Curve("", role, sizes, law, is_measured=False))
    plot = Plot(
        "Time of each phase over the size of the job",
        "Time",
        y_scale=time_scale(max(drawn[0][0].y)),
        x_title=found.axis_many,
        height=260.0,
    )
    return curves(plot, shown, sizes=sizes)


def _law(part: ScalingPart, sizes: Sequence[float]) -> Sequence[float]:
    """What the model of a part gives at the sizes, else Amdahl's law; nothing without either."""
    if isinstance(part.model, FittedModel):
        return part.model.fitted
    if isinstance(part.amdahl, Amdahl):
        law = part.amdahl
        return [law.constant_s + law.parallel_s * sizes[0] / size for size in sizes]
    return ()


SECTION = StudySection(
    "phases",
    "Phases",
    "scaling_phases.html",
    _context,
    place=30,
    kinds=("scaling",),
    is_folded=True,
)
