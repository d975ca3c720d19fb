"""Charts of change: a waterfall from one total to the next, and a trend with its change points."""

from collections.abc import Sequence
from itertools import pairwise

from markupsafe import Markup

from perfscope.report.charts import LETTER, Plot, end_labels, frame
from perfscope.report.drawing import Drawing, Margins, ticks
from perfscope.report.formats import Scale
from perfscope.report.text import shortened
from perfscope.structures import dataclass

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


def waterfall(label: str, bars: Sequence[Fall], *, scale: Scale) -> Markup:
    """Totals and the changes between them, one under the other, each beginning where one ended.

    The first and the last bar are totals; `label` is the text alternative.
    """
    longest = max((max(bar.start, bar.end) for bar in bars), default=0.0) or 1.0
    names = [shortened(bar.label, LABEL_LETTERS) for bar in bars]
    letters = max(map(len, names), default=0)
    drawing = Drawing(
        ROW * len(bars) + 44.0,
        Margins(6.0, 110.0, 30.0, 14.0 + LETTER * letters),
        x=(0.0, longest),
        y=(len(bars) - 0.4, -0.6),
    )
    drawing.x_ticks(ticks((0.0, longest), scale), has_grid=True)
    drawing.y_ticks(enumerate(names), has_grid=False)
    for row, bar in enumerate(bars):
        role = TOTAL if bar.is_total else MORE if bar.end > bar.start else LESS
        drawing.box((bar.start, bar.end), (row - 0.33, row + 0.33), role)
        behind = drawing.x.place(max(bar.start, bar.end)) + 6.0
        drawing.note((behind, drawing.y.place(row)), bar.text)
    for row, (bar, _) in enumerate(pairwise(bars)):
        drawing.line([bar.end] * 2, [row + 0.33, row + 0.67], "muted", width=1.0)
    return drawing.finished(label)


def trend(
    plot: Plot, values: Sequence[tuple[int, float]], segments: Sequence[Segment], *, count: int
) -> Markup:
    """Points in their order, the level of each stretch, and a line at each change.

    Values have a position (from 1) and stretches too; `count` is of all positions, so that charts
    of several quantities stand under each other.
    """
    x, y = [x for x, _ in values], [y for _, y in values]
    levels = [segment.level for segment in segments]
    drawing = frame(plot, [[1, max(count, 2)]], [y, levels])
    drawing.line(x, y, "series-1", width=1.0)
    for place, value in values:
        drawing.dot(place, value, "series-1", diameter=4.5)
    for before, after in pairwise(segments):
        between = (before.last + after.first) / 2
        drawing.upright(between, "series-2", width=1.4, dashes="6 4")
    for segment in segments:
        ends = [segment.first - 0.3, segment.last + 0.3]
        drawing.line(ends, [segment.level] * 2, "ink", width=2.0)
    if segments:
        end_labels(drawing, [(segments[-1].level, "level now", "ink")])
    return drawing.finished(plot.label)
