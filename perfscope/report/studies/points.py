"""A chart of measured points: one a value, with its spread, and values that gave none."""

from collections.abc import Sequence

from markupsafe import Markup

from perfscope.report.charts import BOTTOM, LEFT, TOP
from perfscope.report.drawing import Drawing, Margins, ticks
from perfscope.report.formats import Scale
from perfscope.report.text import shortened
from perfscope.structures import dataclass

HEIGHT = 280.0
MARGIN = 40.0
LONGEST_VALUE = 14
BAR, DOT, WHISKER = 0.5, 8.0, 0.03


@dataclass(frozen=True)
class Point:
    """One value: its text on the axis, what was measured there, or why nothing was."""

    text: str  # the value
    y: float | None  # what was measured, None for nothing
    low: float | None = None  # lower end of the spread, None without one
    high: float | None = None  # its upper end
    note: str = ""  # said at the point: `best`, `failed`, ...


@dataclass(frozen=True)
class Titles:
    """What stands around the points: the text alternative, what is varied, what was measured."""

    label: str
    x: str
    y: str


def measured_points(
    titles: Titles, points: Sequence[Point], *, is_joined: bool, scale: Scale
) -> Markup:
    """Points at equal distances: joined by a line where the values are numbers, else bars.

    `is_joined` says whether neighbors have to do with each other.
    """
    ends = [v for p in points for v in (p.y, p.high) if v is not None]
    top = max(ends, default=1.0) * 1.16 or 1.0
    margins = Margins(TOP, MARGIN, BOTTOM, LEFT)
    drawing = Drawing(HEIGHT, margins, x=(-0.5, len(points) - 0.5), y=(0.0, top))
    drawing.y_ticks(ticks((0.0, top), scale, most=5), has_grid=True)
    texts = enumerate(shortened(point.text, LONGEST_VALUE) for point in points)
    drawing.x_ticks(((float(place), text) for place, text in texts), has_grid=False)
    drawing.titles(titles.x, titles.y)
    if is_joined:
        heights = [float("nan") if point.y is None else point.y for point in points]
        drawing.line(range(len(points)), heights, "series-1")
    for x, point in enumerate(points):
        _draw(drawing, x, point, is_joined=is_joined)
    return drawing.finished(titles.label)


def _draw(drawing: Drawing, x: int, point: Point, *, is_joined: bool) -> None:
    """One point with its spread, or the note why there is none."""
    if point.y is not None:
        if is_joined:
            drawing.dot(x, point.y, "series-1", diameter=DOT)
        else:
            drawing.box((x - BAR / 2, x + BAR / 2), (0.0, point.y), "band-inner")
    if point.low is not None and point.high is not None:
        drawing.line([x, x], [point.low, point.high], "ink", width=1.4)
        for end in (point.low, point.high):
            drawing.line([x - WHISKER, x + WHISKER], [end, end], "ink", width=1.4)
    note = point.note if point.y is not None else f"✕ {point.note}"
    if note:
        height = point.high if point.high is not None else point.y or 0.0
        above = drawing.y.place(height) - 14.0
        drawing.note((drawing.x.place(x), above), shortened(note, 24), anchor="middle")
