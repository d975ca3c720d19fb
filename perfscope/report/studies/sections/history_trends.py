"""Trends over commits and dates, with their changes."""

from collections.abc import Sequence

from perfscope.report.charts import Plot
from perfscope.report.charts_changes import Segment, trend
from perfscope.report.formats import PLAIN, Scale, byte_scale, quantity, seconds, time_scale
from perfscope.report.labels import StatusWord
from perfscope.report.studies.section import Context, StudySection
from perfscope.report.studies.sections.compare_answer import change, probability
from perfscope.report.table import Column, Kind, Table
from perfscope.schema.history import History, HistoryGroup, HistoryPoint, LossTrend, Trend
from perfscope.schema.study import Study
from perfscope.units import capitalized

MOST_GROUPS = 6
BETTER = StatusWord("✓", "Better", "pass")
WORSE = StatusWord("✕", "Worse", "fail")


def trends(study: Study) -> History:
    """What a history found."""
    assert study.history is not None
    return study.history


def _context(study: Study) -> Context:
    found = trends(study)
    return {
        "groups": [_group(group, n) for n, group in enumerate(found.groups[:MOST_GROUPS])],
        "left_out": max(len(found.groups) - MOST_GROUPS, 0),
        "factor": f"{found.factor:g}",
    }


def _group(group: HistoryGroup, position: int) -> Context:
    points = group.points
    drawn = [row for row in group.series if row.segments]
    return {
        "label": group.label,
        "count": len(points),
        "first": points[0].day if points else "",
        "last": points[-1].day if points else "",
        "series": [
            {
                "id": f"trend-{position}-{place}",
                "label": capitalized(row.label),
                "chart": _chart(row),
                "better": "lower is better" if row.is_lower_better else "higher is better",
                "changes": changes(row, points),
            }
            for place, row in enumerate(drawn)
        ],
        "losses": losses(group, f"losses-{position}"),
        "absent": [
            (capitalized(row.label), row.reason or "") for row in group.series if not row.segments
        ],
    }


def changes(row: Trend, points: Sequence[HistoryPoint]) -> list[Context]:
    """The changes of one quantity in words."""
    return [
        {
            "label": points[one.at].label,
            "day": points[one.at].day,
            "change": change(one.ratio),
            "before": quantity(one.before, row.unit),
            "after": quantity(one.after, row.unit),
            "word": WORSE if one.is_worse else BETTER,
            "p": probability(one.p),
        }
        for one in row.changes
    ]


def losses(group: HistoryGroup, identity: str = "losses") -> Table | None:
    """Training work and what the time was lost to, with the last change of each."""
    if not group.losses:
        return None

    def last(row: LossTrend) -> str:
        if not row.changes:
            return "no change"
        told = row.changes[-1]
        more = told.after - told.before
        return f"{'+' if more > 0 else '-'}{seconds(abs(more))} since {group.points[told.at].label}"

    columns = (
        Column("Useful computation, and lost to", "label", kind=Kind.TEXT, longest=60),
        Column("level now", _level, seconds),
        Column("last change", last, kind=Kind.TEXT, longest=60),
    )
    caption = f"What the time was lost to, mean of the ranks: {group.label}"
    return Table(identity, caption, columns, group.losses, file="study.json", has_caption=False)


def _level(row: LossTrend) -> float | None:
    return row.segments[-1].level if row.segments else None


def _chart(row: Trend) -> str:
    held = [(place, value) for place, value in enumerate(row.values, start=1) if value is not None]
    segments = [Segment(one.first + 1, one.last + 1, one.level) for one in row.segments]
    plot = Plot(
        label=f"{row.label} over {len(held)} points, {len(segments)} levels",
        y_title=row.unit if row.unit not in ("s", "B", "ratio") else "",
        y_scale=_scale(row.unit, max(value for _, value in held)),
        x_title="points in the order of their dates",
        from_zero=False,
        height=200.0,
    )
    return trend(plot, held, segments, count=len(row.values))


def _scale(unit: str, largest: float) -> Scale:
    if unit == "s":
        return time_scale(largest)
    return byte_scale(largest) if unit == "B" else PLAIN


SECTION = StudySection(
    "trends", "Trends", "history_trends.html", _context, place=10, kinds=("history",)
)
