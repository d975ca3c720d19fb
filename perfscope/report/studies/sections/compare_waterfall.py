"""Where the time went that a side takes more or less: the ledgers' difference as a waterfall."""

from perfscope.report.charts_changes import Fall
from perfscope.report.charts_changes import waterfall as draw
from perfscope.report.formats import seconds, signed, time_scale
from perfscope.report.studies.section import Context, StudySection
from perfscope.report.studies.sections.compare_answer import compared, side_labels
from perfscope.report.table import Column, Kind, Table
from perfscope.schema.compare import Compare, Waterfall, WaterfallStep
from perfscope.schema.study import Study
from perfscope.structures import dataclass


@dataclass(frozen=True)
class Step:
    """The numbers from one side to the next."""

    start: str
    end: str
    table: Table


def _context(study: Study) -> Context:
    found = compared(study)
    labels, steps, unit = side_labels(found), found.waterfall.steps, unit_of(found)
    shown = spent(found)
    bars = _bars(labels, found.waterfall) if shown else []
    longest = max((max(bar.start, bar.end) for bar in bars), default=0.0)
    label = f"Seconds {unit}, from {labels[0]} to {labels[-1]}" if labels else ""
    return {
        "reason": found.waterfall.reason or "the study holds no ledgers",
        "unit": unit,
        "takeaway": _takeaway(steps[0]) if shown and len(steps) == 1 else "",
        "steps": shown,
        "losses": lost(found),
        "chart": draw(label, bars, scale=time_scale(longest)) if bars else "",
    }


def spent(found: Compare) -> list[Step]:
    """Where the time went that a side takes more or less."""
    return _steps("waterfall", found.waterfall, side_labels(found), "Category")


def lost(found: Compare) -> list[Step]:
    """What it was lost to."""
    return _steps("losses", found.losses, side_labels(found), "Useful computation, and lost to")


def unit_of(found: Compare) -> str:
    """What the seconds are of, as a clause behind them."""
    return _unit(found.waterfall)


def _unit(found: Waterfall) -> str:
    return "per step, mean of the ranks" if found.per_step else "per rank, mean of the ranks"


def _steps(name: str, found: Waterfall, labels: list[str], title: str) -> list[Step]:
    """The tables of one partition of the time, from each side to the next."""
    if not len(found.totals_s) == len(found.steps) + 1 == len(labels):
        return []
    return [
        _step(f"{name}-table-{place}", step, labels, title, _unit(found))
        for place, step in enumerate(found.steps, start=1)
    ]


def _bars(labels: list[str], found: Waterfall) -> list[Fall]:
    """Totals with their speed-up over the first side, and the changes between them."""
    totals = found.totals_s
    bars = [Fall(labels[0], 0.0, totals[0], seconds(totals[0]), is_total=True)]
    for step in found.steps:
        level, end = totals[step.from_], totals[step.to]
        for part in step.parts:
            bars.append(Fall(part.label, level, level + part.delta_s, signed(part.delta_s)))
            level += part.delta_s
        faster = found.speedups[step.to]
        told = "" if faster is None else f", ×\u00a0{faster:.2f}"
        bars.append(Fall(labels[step.to], 0.0, end, f"{seconds(end)}{told}", is_total=True))
    return bars


def _takeaway(step: WaterfallStep) -> str:
    most = max(step.parts, key=lambda part: abs(part.delta_s), default=None)
    if most is None or not most.delta_s:
        return ""
    moved = "grew" if most.delta_s > 0 else "shrank"
    return f"{most.label} {moved} most, by {seconds(abs(most.delta_s))}"


def _step(name: str, step: WaterfallStep, labels: list[str], title: str, unit: str) -> Step:
    start, end = labels[step.from_], labels[step.to]
    error = Column("Two standard errors", "error_s", lambda error: f"± {seconds(error)}")
    has_errors = any(part.error_s is not None for part in step.parts)
    columns = (
        Column(title, "label", kind=Kind.TEXT, longest=40),
        Column(start, "from_s", seconds),
        Column(end, "to_s", seconds),
        Column("Change", "delta_s", signed),
        *([error] if has_errors else []),
    )
    caption = f"{title}: seconds {unit}, {start} to {end}"
    table = Table(name, caption, columns, step.parts, file="study.json", has_caption=False)
    return Step(start, end, table)


SECTION = StudySection(
    "waterfall",
    "Where the time went",
    "compare_waterfall.html",
    _context,
    place=30,
    kinds=("compare",),
)
