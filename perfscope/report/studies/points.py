"""A chart of measured points: one a value, with its spread, and values that gave none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from markupsafe import Markup

from perfscope.report.charts import BOTTOM, LEFT, TOP, _figure, _finish, _place, _ticks
from perfscope.report.formats import Scale
from perfscope.report.svg import color
from perfscope.report.text import shortened

if TYPE_CHECKING:
    from matplotlib.axes import Axes

HEIGHT = 280.0
MARGIN = 40.0
LONGEST_VALUE = 14
BAR, DOT, WHISKER = 0.5, 8.0, 0.03


@dataclass(frozen=True)
class Point:
    """One value: its text on the axis, what was measured there, or why nothing was.

    Attributes:
        text: the value.
        y: what was measured, None for nothing.
        low: lower end of the spread, None without one.
        high: its upper end.
        note: said at the point: `best`, `failed`, ...
    """

    text: str
    y: float | None
    low: float | None = None
    high: float | None = None
    note: str = ""


@dataclass(frozen=True)
class Titles:
    """What stands around the points: the text alternative, what is varied, what was measured."""

    label: str
    x: str
    y: str


def measured_points(
    name: str, titles: Titles, points: Sequence[Point], *, is_joined: bool, scale: Scale
) -> Markup:
    """Points at equal distances: joined by a line where the values are numbers, else bars.

    Args:
        name: prefix of the ids, unique within the page.
        titles: what stands around them.
        points: from left to right.
        is_joined: whether neighbors have to do with each other.
        scale: the unit of the axis of what was measured.
    """
    with _figure(HEIGHT) as (figure, axes):
        ends = [v for p in points for v in (p.y, p.high) if v is not None]
        top = max(ends, default=1.0) * 1.16 or 1.0
        axes.set_ylim(0, top)
        axes.set_xlim(-0.5, len(points) - 0.5)
        axes.grid(visible=False, axis="x")
        heights = [float("nan") if point.y is None else point.y for point in points]
        places = range(len(points))
        if is_joined:
            axes.plot(places, heights, color=color("series-1"), linewidth=1.8, clip_on=False)
        else:
            bars = [0.0 if point.y is None else point.y for point in points]
            axes.bar(places, bars, width=BAR, color=color("band-inner"), linewidth=0)
        for x, point in enumerate(points):
            _draw(axes, x, point, has_dot=is_joined)
        axes.set_xticks(places, [shortened(p.text, LONGEST_VALUE) for p in points])
        _ticks(axes.yaxis, scale, (0.0, top), most=5)
        _place(axes, figure, top=TOP, bottom=BOTTOM, left=LEFT, right=MARGIN)
        width, height = (float(v) * 72 for v in figure.get_size_inches())
        figure.text(0, 1 - 12 / height, titles.y, color=color("ink"), va="baseline")
        figure.text(1 - MARGIN / width, 5 / height, titles.x, color=color("ink"), ha="right")
        return _finish(figure, name, titles.label)


def _draw(axes: Axes, x: int, point: Point, *, has_dot: bool) -> None:
    """One point with its spread, or the note why there is none."""
    ink = color("ink")
    if point.y is not None and has_dot:
        # a line of no length with a round end: a marker would be a reference that `inline` drops
        (dot,) = axes.plot([x, x], [point.y, point.y], color=color("series-1"), clip_on=False)
        dot.set_linewidth(DOT)
        dot.set_solid_capstyle("round")
    if point.low is not None and point.high is not None:
        axes.plot([x, x], [point.low, point.high], color=ink, linewidth=1.4)
        for end in (point.low, point.high):
            axes.plot([x - WHISKER, x + WHISKER], [end, end], color=ink, linewidth=1.4)
    note = point.note if point.y is not None else f"✕ {point.note}"
    if note:
        height = point.high if point.high is not None else point.y or 0.0
        axes.annotate(
            shortened(note, 24),
            (x, height),
            xytext=(0, 10),
            textcoords="offset points",
            color=ink,
            ha="center",
            annotation_clip=False,
        )
