"""Data over two axes as inline SVG: classes of the page's palette for colors, no styles, no ids."""

from collections.abc import Iterable, Sequence
from math import ceil, floor, isfinite, log10
from typing import Any

import numpy as np
from markupsafe import Markup, escape

from perfscope.arrays import Floats
from perfscope.report.formats import Scale
from perfscope.structures import dataclass

WIDTH = 920.0  # SVG units; the page shows a chart at most this many CSS pixels wide
FONT_SIZE = 12.0
_TO_MIDDLE = 0.36  # of the letters' size, from the middle of a line of text to its base
_STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)

Values = Sequence[float] | Floats
Ticks = Iterable[tuple[float, str]]


@dataclass(frozen=True)
class Margins:
    """Room between the edges of a drawing and its axes, for what is written there."""

    top: float
    right: float
    bottom: float
    left: float


@dataclass(frozen=True)
class Axis:
    """Where values stand: `low` at `start` and `high` at `end`, in SVG units."""

    low: float
    high: float
    start: float
    end: float
    is_log: bool = False

    def at(self, values: Values) -> Floats:
        """The places of values; nan where there is none, as for 0 on a logarithmic axis."""
        low, high, shown = self.low, self.high, np.asarray(values, np.float64)
        if self.is_log:
            shown = np.log2(np.where(shown > 0, shown, np.nan))
            low, high = np.log2(low), np.log2(high)
        half = high / 2 - low / 2  # of numbers as large as there are the whole is none
        return self.start + (shown / 2 - low / 2) * ((self.end - self.start) / half if half else 0)

    def place(self, value: float) -> float:
        """The place of one value."""
        return float(self.at([value])[0])


class Drawing:
    """A chart that grows by lines, areas and texts, in the units of its data.

    Args:
        height: in SVG units, the width is `WIDTH`.
        margins: around the axes.
        x: lowest and highest value from left to right.
        y: lowest and highest value from below to above; the other way round for rows of a list.
        is_log: both axes are logarithmic.
    """

    def __init__(
        self,
        height: float,
        margins: Margins,
        *,
        x: tuple[float, float],
        y: tuple[float, float],
        is_log: bool = False,
    ) -> None:
        self.height = height
        self.x = Axis(*x, margins.left, WIDTH - margins.right, is_log)
        self.y = Axis(*y, height - margins.bottom, margins.top, is_log)
        self._parts: list[str] = []

    def line(
        self, x: Values, y: Values, role: str, *, width: float = 1.8, dashes: str = ""
    ) -> None:
        """A line through points; one that is not a number interrupts it."""
        path = _path(*_thinned(self.x.at(x), self.y.at(y)))
        self._stroke(path, role, width, dashes, unfilled=True)

    def area(self, x: Values, low: Values, high: Values, role: str) -> None:
        """What lies between two lines."""
        places, below, above = self.x.at(x), self.y.at(low), self.y.at(high)
        there, back = _thinned(places, above), _thinned(places[::-1], below[::-1])
        path = _path(np.concatenate((there[0], back[0])), np.concatenate((there[1], back[1])))
        self._parts.append(f'<path d="{path}z" class="f-{role}"/>')

    def box(self, x: tuple[float, float], y: tuple[float, float], role: str) -> None:
        """A filled rectangle."""
        left, right = sorted(self.x.at(x).tolist())
        top, bottom = sorted(self.y.at(y).tolist())
        self._parts.append(
            f'<rect x="{_short(left)}" y="{_short(top)}" width="{_short(right - left)}"'
            f' height="{_short(bottom - top)}" class="f-{role}"/>'
        )

    def dot(self, x: float, y: float, role: str, *, diameter: float) -> None:
        """A round mark at a point."""
        self._parts.append(
            f'<circle cx="{_short(self.x.place(x))}" cy="{_short(self.y.place(y))}"'
            f' r="{_short(diameter / 2)}" class="f-{role}"/>'
        )

    def note(
        self, at: tuple[float, float], text: str, *, role: str = "ink", anchor: str = "start"
    ) -> None:
        """A text whose line has its middle at a place in SVG units."""
        x, y = at
        side = "" if anchor == "start" else f' text-anchor="{anchor}"'
        self._parts.append(
            f'<text x="{_short(x)}" y="{_short(y + _TO_MIDDLE * FONT_SIZE)}"{side}'
            f' class="f-{role}">{escape(text)}</text>'
        )

    def x_ticks(self, ticks: Ticks, *, has_grid: bool) -> None:
        """Values written below the axis, which is drawn too."""
        base = max(self.y.start, self.y.end)
        for value, text in ticks:
            x = self.x.place(value)
            if has_grid:
                self._straight((x, base), (x, min(self.y.start, self.y.end)), "grid")
            self.note((x, base + 12.0), text, anchor="middle")
        self._straight((self.x.start, base), (self.x.end, base), "muted")

    def y_ticks(self, ticks: Ticks, *, has_grid: bool) -> None:
        """Values written before the axis."""
        for value, text in ticks:
            y = self.y.place(value)
            if has_grid:
                self._straight((self.x.start, y), (self.x.end, y), "grid")
            self.note((self.x.start - 7.0, y), text, anchor="end")

    def titles(self, x: str, y: str) -> None:
        """What the axes show: above the vertical one, and below the end of the other."""
        self.note((0.0, 8.0), y)
        self.note((self.x.end, self.height - 9.0), x, anchor="end")

    def upright(self, x: float, role: str, *, width: float, dashes: str) -> None:
        """A line at one value of x, over the whole height."""
        place = self.x.place(x)
        self._straight((place, self.y.start), (place, self.y.end), role, width, dashes)

    def finished(self, label: str) -> Markup:
        """The SVG element; `label` is its text alternative."""
        return Markup(
            '<svg class="chart" role="img" aria-label="{}" viewBox="0 0 {} {}" font-size="{}">'
            "{}</svg>"
        ).format(
            label,
            _short(WIDTH),
            _short(self.height),
            _short(FONT_SIZE),
            Markup("".join(self._parts)),
        )

    def _stroke(
        self, path: str, role: str, width: float, dashes: str, *, unfilled: bool = False
    ) -> None:
        fill = ' fill="none"' if unfilled else ""
        dashed = f' stroke-dasharray="{dashes}"' if dashes else ""
        self._parts.append(
            f'<path d="{path}"{fill} stroke-width="{_short(width)}"{dashed} class="s-{role}"/>'
        )

    def _straight(
        self,
        start: tuple[float, float],
        end: tuple[float, float],
        role: str,
        width: float = 0.8,
        dashes: str = "",
    ) -> None:
        path = _path(np.array([start[0], end[0]]), np.array([start[1], end[1]]))
        self._stroke(path, role, width, dashes)


def ticks(limits: tuple[float, float], scale: Scale, *, most: int = 7) -> list[tuple[float, str]]:
    """Round values in the unit of the scale with their texts, at most `most` intervals apart."""
    low, high = (limit / scale.factor for limit in limits)
    if not (isfinite(low) and isfinite(high) and high > low):
        return []
    power = 10.0 ** floor(log10((high - low) / most))
    step = next(one * power for one in _STEPS if one * power * most >= (high - low) * (1 - 1e-9))
    slack = 1e-9 * step
    numbers = range(ceil((low - slack) / step), floor((high + slack) / step) + 1)
    return [(n * step * scale.factor, scale.tick(float(f"{n * step:.12g}"))) for n in numbers]


def spread(places: Iterable[float], gap: float, limit: float) -> list[float]:
    """Places in ascending order, pushed apart to at least `gap`, and together down below `limit`.

    Those that overlapped stand around where they were.
    """
    wanted, placed, position = list(places), [], float("-inf")
    for place in wanted:
        position = max(place, position + gap)
        placed.append(position)
    if not placed:
        return []
    moved = (sum(placed) - sum(wanted)) / len(placed)
    down = max(placed[-1] - limit, moved, 0.0)
    return [place - down for place in placed]


def _thinned(x: Floats, y: Floats) -> tuple[Floats, Floats]:
    """Of many points only the highest and the lowest in each unit of width, which look the same."""
    if len(x) <= 2 * WIDTH:
        return x, y
    column = np.floor(x)
    first = np.flatnonzero(np.diff(column, prepend=column[0] - 1))
    bounds: Any = np.minimum.reduceat(y, first), np.maximum.reduceat(y, first)
    return np.repeat(x[first], 2), np.stack(bounds, axis=1).ravel()


def _path(x: Floats, y: Floats) -> str:
    out, is_down = [], False
    for left, top in zip(x.tolist(), y.tolist(), strict=True):
        if isfinite(left) and isfinite(top):
            out.append(f"{'L' if is_down else 'M'}{_short(left)} {_short(top)}")
        is_down = isfinite(left) and isfinite(top)
    return "".join(out)


def _short(value: float) -> str:
    text = f"{value:.1f}".removesuffix(".0")
    return "0" if text == "-0" else text
