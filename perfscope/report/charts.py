"""The charts of the report, drawn by matplotlib as inline SVG in the colors of the page."""

from __future__ import annotations

import io
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from markupsafe import Markup

from perfscope.report.formats import PLAIN, TIME_WORDS, Scale, time_scale
from perfscope.report.svg import SERIES_ROLES, color, inline
from perfscope.report.text import shortened_apart

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH = 920.0  # SVG units; the page shows a chart at most this many CSS pixels wide
LEFT, RIGHT, TOP, BOTTOM = 78.0, 96.0, 30.0, 42.0
BAR_ROW, NARROW_BAR_ROW = 24.0, 17.0
MOST_WIDE_BARS = 16
FONT_SIZE = 12.0
MOST_LINES = 8  # more become quantile bands: nobody tells nine lines apart
LONGEST_LABEL = 18
_DASHES: tuple[Any, ...] = ("-", (0, (6, 2)), (0, (2, 2)), (0, (8, 2, 2, 2)))
_SETTINGS: dict[Any, Any] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "perfscope",
    "svg.image_inline": False,
    "text.parse_math": False,
    "font.size": FONT_SIZE,
    "path.simplify": True,
    "axes.unicode_minus": True,
}


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

    name: str  # prefix of its ids, unique within the page
    label: str
    y_title: str
    y_scale: Scale = PLAIN
    x_title: str = ""  # "" means that x is seconds of the run
    from_zero: bool = True
    height: float = 210.0


def stacked_bars(
    name: str, label: str, bars: Sequence[str], segments: Sequence[Segment], *, scale: Scale
) -> Markup:
    """Horizontal bars, one under the other, each made of the same segments.

    Args:
        name: prefix of the ids, unique within the page.
        label: the text alternative.
        bars: the text before each bar.
        segments: the parts of the bars from left to right.
        scale: the unit of the axis.
    """
    row = BAR_ROW if len(bars) <= MOST_WIDE_BARS else NARROW_BAR_ROW
    with _figure(row * len(bars) + 44.0) as (figure, axes):
        rows = list(range(len(bars)))
        starts = [0.0] * len(bars)
        for segment in segments:
            shown = [max(value, 0.0) for value in segment.values]
            axes.barh(
                rows,
                shown,
                left=starts,
                height=0.72,
                color=color(segment.role),
                linewidth=0,
                clip_on=False,
            )
            starts = [a + b for a, b in zip(starts, shown, strict=True)]
        longest = max(starts, default=0.0) or 1.0
        axes.set_xlim(0, longest)
        axes.set_ylim(len(bars) - 0.4, -0.6)
        axes.set_yticks(rows, shortened_apart(bars, LONGEST_LABEL))
        axes.grid(visible=False, axis="y")
        _ticks(axes.xaxis, scale, (0.0, longest))
        letters = max((len(bar) for bar in bars), default=0)
        left = 14.0 + 7.2 * min(letters, LONGEST_LABEL)
        _place(axes, figure, top=6.0, bottom=30.0, left=left, right=24.0)
        return _finish(figure, name, label)


def lines(plot: Plot, series: Sequence[Line]) -> Markup:
    """At most `MOST_LINES` lines with their labels at their ends; more become quantile bands."""
    if len(series) > MOST_LINES:
        return _quantile_bands(plot, series)
    with _figure(plot.height) as (figure, axes):
        for number, line in enumerate(series):
            axes.plot(
                line.x,
                line.y,
                color=color(SERIES_ROLES[number]),
                linewidth=1.8,
                linestyle=_DASHES[number % len(_DASHES)],
                clip_on=False,
            )
        _frame(axes, figure, plot)
        if len(series) > 1:  # a single line is named by the title
            ends = [(line.y[-1], line.label, SERIES_ROLES[n]) for n, line in enumerate(series)]
            _end_labels(axes, plot, ends)
        return _finish(figure, plot.name, plot.label)


def band(plot: Plot, x: Sequence[float], low: Sequence[float], high: Sequence[float]) -> Markup:
    """The space between two lines, with both drawn: what the fastest and the slowest did."""
    with _figure(plot.height) as (figure, axes):
        x, low, high = _thinned(np.asarray(x), np.asarray(low), np.asarray(high))
        _fill(axes, x, low, high, "band")
        axes.plot(x, high, color=color("series-2"), linewidth=1.6, clip_on=False)
        axes.plot(
            x, low, color=color("series-1"), linewidth=1.6, linestyle=_DASHES[1], clip_on=False
        )
        _frame(axes, figure, plot)
        ends = [(high[-1], "slowest rank", "series-2"), (low[-1], "fastest rank", "series-1")]
        _end_labels(axes, plot, ends)
        return _finish(figure, plot.name, plot.label)


def _thinned(x: Any, low: Any, high: Any, *, points: int = 400) -> tuple[Any, Any, Any]:
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
    with _figure(plot.height) as (figure, axes):
        _fill(axes, grid, low, high, "band")
        _fill(axes, grid, quarter, three_quarters, "band-inner")
        axes.plot(grid, high, color=color("series-2"), linewidth=1.2, clip_on=False)
        axes.plot(grid, median, color=color("ink"), linewidth=1.8, clip_on=False)
        axes.plot(
            grid, low, color=color("series-1"), linewidth=1.2, linestyle=_DASHES[1], clip_on=False
        )
        _frame(axes, figure, plot)
        ends = [
            (float(high[-1]), "highest rank", "series-2"),
            (float(median[-1]), "median rank", "ink"),
            (float(low[-1]), "lowest rank", "series-1"),
        ]
        _end_labels(axes, plot, ends)
        return _finish(figure, plot.name, plot.label)


@contextmanager
def _figure(height: float) -> Iterator[tuple[Figure, Axes]]:
    """A figure of the page's width in SVG units, drawn alike on every machine."""
    import matplotlib as mpl  # noqa: PLC0415 - takes a second, and only a report needs it
    from matplotlib.figure import Figure  # noqa: PLC0415

    with warnings.catch_warnings(), mpl.rc_context():
        warnings.simplefilter("ignore")  # fonts without a glyph: the browser has its own fonts
        # the user's own settings must not change the page
        defaults = mpl.rcParamsDefault
        mpl.rcParams.update({k: v for k, v in defaults.items() if "backend" not in k})
        mpl.rcParams.update(_SETTINGS)
        figure = Figure(figsize=(WIDTH / 72, height / 72), dpi=72)
        figure.patch.set_visible(False)
        axes = figure.add_axes((0.1, 0.1, 0.8, 0.8))
        axes.patch.set_visible(False)
        for side, spine in axes.spines.items():
            spine.set_visible(side == "bottom")
            spine.set_color(color("muted"))
        axes.set_axisbelow(True)
        axes.grid(color=color("grid"), linewidth=0.8)
        axes.tick_params(left=False, bottom=False, labelcolor=color("ink"), labelsize=FONT_SIZE)
        yield figure, axes


def _place(
    axes: Axes, figure: Figure, *, top: float, bottom: float, left: float, right: float
) -> None:
    """Puts the axes at distances from the edges given in SVG units."""
    width, height = (float(v) * 72 for v in figure.get_size_inches())
    axes.set_position(
        (
            left / width,
            bottom / height,
            (width - left - right) / width,
            (height - top - bottom) / height,
        )
    )


def _frame(axes: Axes, figure: Figure, plot: Plot) -> None:
    """Limits, titles and tick labels of a chart of lines."""
    low, high = axes.dataLim.intervaly
    if plot.from_zero:
        low = min(low, 0.0)
    margin = (high - low) * 0.08 or abs(high) * 0.1 or 1.0
    bottom = low if plot.from_zero and low == 0 else low - margin
    start, end = axes.dataLim.intervalx
    x_scale, x_title = PLAIN, plot.x_title
    if not x_title:
        time = time_scale(end)
        x_scale, x_title = Scale(time.factor), f"{TIME_WORDS[time.unit]} of the run"
    axes.set_ylim(bottom, high + margin)
    axes.set_xlim(start, end if end > start else start + 1)
    axes.grid(visible=False, axis="x")
    _ticks(axes.yaxis, plot.y_scale, (bottom, high + margin), most=5)
    _ticks(axes.xaxis, x_scale, (start, end), most=9)
    _place(axes, figure, top=TOP, bottom=BOTTOM, left=LEFT, right=RIGHT)
    width, height = (float(v) * 72 for v in figure.get_size_inches())
    figure.text(0, 1 - 12 / height, plot.y_title, color=color("ink"), va="baseline")
    figure.text(1 - RIGHT / width, 5 / height, x_title, color=color("ink"), ha="right")


def _ticks(axis: Any, scale: Scale, limits: tuple[float, float], *, most: int = 7) -> None:
    """Round ticks in the unit of the scale, over data that stays in its own unit."""
    from matplotlib.ticker import MaxNLocator  # noqa: PLC0415

    low, high = (limit / scale.factor for limit in limits)
    found = MaxNLocator(most, steps=[1, 2, 2.5, 5, 10]).tick_values(low, high)
    shown = [float(value) for value in found if low <= value <= high]
    axis.set_ticks([v * scale.factor for v in shown], [scale.tick(v) for v in shown])


def _fill(axes: Axes, x: Any, low: Any, high: Any, role: str) -> None:
    """The area between two lines, as one polygon."""
    axes.fill(
        [*x, *reversed(x)], [*low, *reversed(high)], color=color(role), linewidth=0, clip_on=False
    )


def _end_labels(axes: Axes, plot: Plot, ends: Sequence[tuple[float, str, str]]) -> None:
    """Writes each line's label beside its end, pushed apart where they would overlap."""
    bottom, top = axes.get_ylim()
    gap = 15.0 / (plot.height - TOP - BOTTOM) * (top - bottom)
    position = float("-inf")
    placed = []
    for value, label, role in sorted(ends, key=lambda end: end[0]):
        position = max(value, position + gap)
        placed.append((position, label, role))
    moved = sum(y for y, _, _ in placed) - sum(value for value, _, _ in ends)
    overshoot = max(position - top, moved / len(placed))
    shown = shortened_apart([label for _, label, _ in placed], 13)
    for label, (y, _, role) in zip(shown, placed, strict=True):
        axes.annotate(
            label,
            (1.0, y - overshoot),
            xycoords=("axes fraction", "data"),
            xytext=(8, 0),
            textcoords="offset points",
            color=color(role),
            va="center",
            annotation_clip=False,
        )


def _finish(figure: Figure, name: str, label: str) -> Markup:
    """Writes the figure as SVG and makes it part of the page."""
    out = io.StringIO()
    nothing = {"Date": None, "Creator": None, "Format": None, "Type": None}
    figure.savefig(out, format="svg", metadata=nothing)
    return inline(out.getvalue(), prefix=name, label=label)
