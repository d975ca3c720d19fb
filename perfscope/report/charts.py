"""The charts of the report: bars of parts, lines over time, bands of many ranks."""

from collections.abc import Sequence

import numpy as np
from markupsafe import Markup

from perfscope.arrays import Floats
from perfscope.report.drawing import Drawing, Margins, Values, spread, ticks
from perfscope.report.formats import PLAIN, TIME_WORDS, Scale, time_scale
from perfscope.report.palette import SERIES_ROLES
from perfscope.report.text import shortened_apart
from perfscope.structures import dataclass

LEFT, RIGHT, TOP, BOTTOM = 78.0, 96.0, 30.0, 42.0
BAR_ROW, NARROW_BAR_ROW = 24.0, 17.0
MOST_WIDE_BARS = 16
LETTER = 7.2  # SVG units that one takes at most in a label
LABEL_GAP = 15.0
MOST_LINES = 8  # more become quantile bands: nobody tells nine lines apart
LONGEST_LABEL = 18
_LARGEST = 1e300  # that has a place between margins; beyond it they would be infinite
_DASHES = ("", "11 4", "4 4", "14 4 4 4")


@dataclass(frozen=True)
class Segment:
    """One part of every bar: the role that colors it and its length in each bar."""

    role: str
    values: Sequence[float]


@dataclass(frozen=True)
class Line:
    """A quantity over x, with the label shown at its end."""

    label: str
    x: Sequence[float]
    y: Sequence[float]


@dataclass(frozen=True)
class Plot:
    """What a chart of lines says around them: its text alternative, titles and unit."""

    label: str
    y_title: str
    y_scale: Scale = PLAIN
    x_title: str = ""  # "" means that x is seconds of the run
    from_zero: bool = True
    height: float = 210.0


def stacked_bars(
    label: str, bars: Sequence[str], segments: Sequence[Segment], *, scale: Scale
) -> Markup:
    """Horizontal bars, one under the other, each made of the same segments.

    `label` is the text alternative.
    """
    row = BAR_ROW if len(bars) <= MOST_WIDE_BARS else NARROW_BAR_ROW
    lengths = np.maximum([segment.values for segment in segments], 0.0).reshape(-1, len(bars))
    ends = np.cumsum(lengths, axis=0)
    longest = float(ends.max(initial=0.0)) or 1.0
    letters = min(max((len(bar) for bar in bars), default=0), LONGEST_LABEL)
    margins = Margins(6.0, 24.0, 30.0, 14.0 + LETTER * letters)
    rows = (len(bars) - 0.4, -0.6)
    drawing = Drawing(row * len(bars) + 44.0, margins, x=(0.0, longest), y=rows)
    drawing.x_ticks(ticks((0.0, longest), scale), has_grid=True)
    drawing.y_ticks(enumerate(shortened_apart(bars, LONGEST_LABEL)), has_grid=False)
    for segment, end, length in zip(segments, ends, lengths, strict=True):
        for place in np.flatnonzero(length).tolist():
            x = (float(end[place] - length[place]), float(end[place]))
            drawing.box(x, (place - 0.36, place + 0.36), segment.role)
    return drawing.finished(label)


def lines(plot: Plot, series: Sequence[Line]) -> Markup:
    """At most `MOST_LINES` lines with their labels at their ends; more become quantile bands."""
    if len(series) > MOST_LINES:
        return _quantile_bands(plot, series)
    drawing = frame(plot, [line.x for line in series], [line.y for line in series])
    for number, line in enumerate(series):
        dashes = _DASHES[number % len(_DASHES)]
        drawing.line(line.x, line.y, SERIES_ROLES[number], dashes=dashes)
    if len(series) > 1:  # a single line is named by the title
        ends = [(line.y[-1], line.label, SERIES_ROLES[n]) for n, line in enumerate(series)]
        end_labels(drawing, ends)
    return drawing.finished(plot.label)


def band(plot: Plot, x: Sequence[float], low: Sequence[float], high: Sequence[float]) -> Markup:
    """The space between two lines, with both drawn: what the fastest and the slowest did."""
    drawing = frame(plot, [x], [low, high])
    kept = _thinned(np.asarray(x, float), np.asarray(low, float), np.asarray(high, float))
    drawing.area(*kept, "band")
    drawing.line(kept[0], kept[2], "series-2", width=1.6)
    drawing.line(kept[0], kept[1], "series-1", width=1.6, dashes="10 3")
    ends = [(high[-1], "slowest rank", "series-2"), (low[-1], "fastest rank", "series-1")]
    end_labels(drawing, ends)
    return drawing.finished(plot.label)


def _thinned(
    x: Floats, low: Floats, high: Floats, *, points: int = 400
) -> tuple[Floats, Floats, Floats]:
    """At most `points` points that keep the lowest and highest of what they stand for."""
    if len(x) <= points:
        return x, low, high
    starts = np.unique(np.linspace(0, len(x) - 1, points).astype(int))
    return x[starts], np.minimum.reduceat(low, starts), np.maximum.reduceat(high, starts)


def _quantile_bands(plot: Plot, series: Sequence[Line]) -> Markup:
    """Lowest to highest, the middle half, and the median of many lines on a common axis."""
    used = [line for line in series if len(line.x) > 1]
    if not used:
        return Markup("")
    grid = np.linspace(min(line.x[0] for line in used), max(line.x[-1] for line in used), 160)
    values = np.array([np.interp(grid, line.x, line.y) for line in used])
    low, quarter, median, three_quarters, high = np.quantile(
        values, [0, 0.25, 0.5, 0.75, 1], axis=0
    )
    drawing = frame(plot, [grid], [low, high])
    drawing.area(grid, low, high, "band")
    drawing.area(grid, quarter, three_quarters, "band-inner")
    drawing.line(grid, high, "series-2", width=1.2)
    drawing.line(grid, median, "ink")
    drawing.line(grid, low, "series-1", width=1.2, dashes="7 2")
    ends = [
        (float(high[-1]), "highest rank", "series-2"),
        (float(median[-1]), "median rank", "ink"),
        (float(low[-1]), "lowest rank", "series-1"),
    ]
    end_labels(drawing, ends)
    return drawing.finished(plot.label)


def frame(plot: Plot, x: Sequence[Values], y: Sequence[Values]) -> Drawing:
    """Limits, titles and ticks of a chart of lines through these values."""
    start, end = _limits(x)
    low, high = _limits(y)
    if plot.from_zero:
        low = min(low, 0.0)
    margin = (high - low) * 0.08 or abs(high) * 0.1 or 1.0
    bottom = low if plot.from_zero and low == 0 else low - margin
    x_scale, x_title = PLAIN, plot.x_title
    if not x_title:
        time = time_scale(end)
        x_scale, x_title = Scale(time.factor), f"{TIME_WORDS[time.unit]} of the run"
    drawing = Drawing(
        plot.height,
        Margins(TOP, RIGHT, BOTTOM, LEFT),
        x=(start, end if end > start else start + 1),
        y=(bottom, high + margin),
    )
    drawing.y_ticks(ticks((bottom, high + margin), plot.y_scale, most=5), has_grid=True)
    drawing.x_ticks(ticks((start, end), x_scale, most=9), has_grid=False)
    drawing.titles(x_title, plot.y_title)
    return drawing


def end_labels(
    drawing: Drawing,
    ends: Sequence[tuple[float, str, str]],
    *,
    longest: int = 13,
    gap: float = LABEL_GAP,
) -> None:
    """Writes each line's label beside its end, pushed apart where they would overlap.

    `ends` are the value at the end of each line, its label and its role; `gap` is from one label
    to the next.
    """
    found = sorted(ends, key=lambda end: end[0])
    base = drawing.y.start
    heights = [base - drawing.y.place(value) for value, _, _ in found]  # above the axis
    places = spread(heights, gap, base - drawing.y.end)
    shown = shortened_apart([label for _, label, _ in found], longest)
    for label, place, (_, _, role) in zip(shown, places, found, strict=True):
        drawing.note((drawing.x.end + 8.0, base - place), label, role=role)


def _limits(values: Sequence[Values]) -> tuple[float, float]:
    found = np.concatenate([np.asarray(one, float) for one in values])
    found = found[np.isfinite(found)]
    found = np.clip(found, -_LARGEST, _LARGEST)
    return (float(found.min()), float(found.max())) if len(found) else (0.0, 1.0)
