"""A chart of measured points: one a value, with its spread, and values that gave none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from perfscope.report.charts import BOTTOM, LEFT, TOP, _figure, _finish, _place, _ticks
from perfscope.report.formats import Scale
from perfscope.report.svg import colour
from perfscope.report.text import shortened

HEIGHT = 280.0
MARGIN = 40.0
LONGEST_VALUE = 14


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


def measured_points(
    name: str, label: str, points: Sequence[Point], *, x_title: str, y_title: str, scale: Scale
) -> Markup:
    """Points at equal distances, joined by a line where neighbours were measured.

    Args:
        name: prefix of the ids, unique within the page.
        label: the text alternative.
        points: from left to right.
        x_title: what is varied.
        y_title: what was measured.
        scale: the unit of the axis of what was measured.
    """
    with _figure(HEIGHT) as (figure, axes):
        ends = [v for p in points for v in (p.y, p.high) if v is not None]
        top = max(ends, default=1.0) * 1.16 or 1.0
        axes.set_ylim(0, top)
        axes.set_xlim(-0.5, len(points) - 0.5)
        axes.grid(visible=False, axis="x")
        axes.plot(
            range(len(points)),
            [float("nan") if point.y is None else point.y for point in points],
            color=colour("series-1"),
            linewidth=1.8,
            clip_on=False,
        )
        for x, point in enumerate(points):
            _draw(axes, x, point)
        axes.set_xticks(range(len(points)), [shortened(p.text, LONGEST_VALUE) for p in points])
        _ticks(axes.yaxis, scale, (0.0, top), most=5)
        _place(axes, figure, top=TOP, bottom=BOTTOM, left=LEFT, right=MARGIN)
        width, height = (float(v) * 72 for v in figure.get_size_inches())
        figure.text(0, 1 - 12 / height, y_title, color=colour("ink"), va="baseline")
        figure.text(1 - MARGIN / width, 5 / height, x_title, color=colour("ink"), ha="right")
        return _finish(figure, name, label)


def _draw(axes: object, x: int, point: Point) -> None:
    """One point with its spread, or the note why there is none."""
    from matplotlib.axes import Axes  # noqa: PLC0415 - loaded by the figure

    assert isinstance(axes, Axes)
    if point.y is None:
        axes.plot([x], [0], "x", color=colour("series-2"), markersize=8, clip_on=False)
    else:
        axes.plot([x], [point.y], "o", color=colour("series-1"), markersize=7, clip_on=False)
        if point.low is not None and point.high is not None:
            axes.plot([x, x], [point.low, point.high], color=colour("ink"), linewidth=1.4)
            for end in (point.low, point.high):
                axes.plot([x - 0.04, x + 0.04], [end, end], color=colour("ink"), linewidth=1.4)
    if point.note:
        height = point.high if point.high is not None else point.y or 0.0
        axes.annotate(
            shortened(point.note, 24),
            (x, height),
            xytext=(0, 10),
            textcoords="offset points",
            color=colour("ink"),
            ha="center",
            annotation_clip=False,
        )
