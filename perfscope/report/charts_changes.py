"""Charts of change: a waterfall from one total to the next, and a trend with its change points."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from markupsafe import Markup

from perfscope.report.charts import Plot, _end_labels, _figure, _finish, _frame, _place, _ticks
from perfscope.report.formats import Scale
from perfscope.report.svg import color
from perfscope.report.text import shortened

ROW = 26.0
LABEL_LETTERS = 26
TOTAL, MORE, LESS = "series-1", "series-2", "series-3"


@dataclass(frozen=True)
class Fall:
    """A bar of a waterfall: from `start` to `end`, with the text written behind it."""

    label: str
    start: float
    end: float
    text: str
    is_total: bool = False


@dataclass(frozen=True)
class Segment:
    """Points of a trend between two change points: first and last position, and their level."""

    first: int
    last: int
    level: float


def waterfall(name: str, label: str, bars: Sequence[Fall], *, scale: Scale) -> Markup:
    """Totals and the changes between them, one under the other, each beginning where one ended.

    Args:
        name: prefix of the ids, unique within the page.
        label: the text alternative.
        bars: from top to bottom; the first and last are totals.
        scale: the unit of the axis.
    """
    with _figure(ROW * len(bars) + 44.0) as (figure, axes):
        for row, bar in enumerate(bars):
            low, high = sorted((bar.start, bar.end))
            role = TOTAL if bar.is_total else MORE if bar.end > bar.start else LESS
            axes.barh(row, high - low, left=low, height=0.66, color=color(role), linewidth=0)
            axes.annotate(
                bar.text,
                (high, row),
                xytext=(6, 0),
                textcoords="offset points",
                va="center",
                color=color("ink"),
                annotation_clip=False,
            )
        for row, (bar, _) in enumerate(pairwise(bars)):
            axes.plot([bar.end, bar.end], [row + 0.33, row + 0.67], color=color("muted"), lw=1)
        longest = max((max(bar.start, bar.end) for bar in bars), default=0.0) or 1.0
        axes.set_xlim(0, longest)
        axes.set_ylim(len(bars) - 0.4, -0.6)
        rows = [shortened(bar.label, LABEL_LETTERS) for bar in bars]
        axes.set_yticks(list(range(len(bars))), rows)
        axes.grid(visible=False, axis="y")
        _ticks(axes.xaxis, scale, (0.0, longest))
        letters = max((len(row) for row in rows), default=0)
        _place(axes, figure, top=6.0, bottom=30.0, left=14.0 + 7.2 * letters, right=110.0)
        return _finish(figure, name, label)


def trend(
    plot: Plot, values: Sequence[tuple[int, float]], segments: Sequence[Segment], *, count: int
) -> Markup:
    """Points in their order, the level of each stretch, and a line at each change.

    Args:
        plot: titles and unit.
        values: position (from 1) and value of the points that have one.
        segments: the stretches between changes, in order; positions as in `values`.
        count: of all positions, so that charts of several quantities stand under each other.
    """
    with _figure(plot.height) as (figure, axes):
        axes.plot([1, max(count, 2)], [values[0][1]] * 2, linewidth=0, alpha=0)  # the whole width
        axes.plot(
            [x for x, _ in values],
            [y for _, y in values],
            color=color("series-1"),
            linewidth=1.0,
            marker="o",
            markersize=4.5,
            clip_on=False,
        )
        for before, after in pairwise(segments):
            axes.axvline(
                (before.last + after.first) / 2,
                color=color("series-2"),
                linewidth=1.4,
                linestyle=(0, (4, 3)),
            )
        for segment in segments:
            axes.plot(
                [segment.first - 0.3, segment.last + 0.3],
                [segment.level] * 2,
                color=color("ink"),
                linewidth=2.0,
                solid_capstyle="butt",
                clip_on=False,
            )
        _frame(axes, figure, plot)
        if segments:
            _end_labels(axes, plot, [(segments[-1].level, "level now", "ink")])
        return _finish(figure, plot.name, plot.label)
