"""Charts of quantities over the size of the job, with ideal lines, spreads and extrapolations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import log2
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from perfscope.report import charts
from perfscope.report.svg import color
from perfscope.report.text import shortened

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LOGARITHMIC_FROM = 16.0  # largest over smallest size, from which both axes are logarithmic
DASHED = (0, (5, 4))
WIDE_RIGHT = 150.0


@dataclass(frozen=True)
class Curve:
    """One line: a measured one has dots, any other is dashed.

    Attributes:
        label: at its end.
        role: colors it.
        x, y: its points, at least one.
        spread: lowest and highest of repeats at each point; empty where there is one run each.
        is_measured: not ideal, not extrapolated.
        dashes: of a line that may lie on another one.
    """

    label: str
    role: str
    x: Sequence[float]
    y: Sequence[float]
    spread: Sequence[tuple[float, float]] = ()
    is_measured: bool = True
    dashes: Any = "-"


def curves(
    plot: charts.Plot,
    found: Sequence[Curve],
    *,
    sizes: Sequence[float],
    measured_until: float | None = None,
) -> Markup:
    """Lines over sizes, which are ticks of the axis.

    Args:
        plot: titles and unit.
        found: at least one.
        sizes: where ticks stand.
        measured_until: from there on it is extrapolated, which a line and a word say.
    """
    is_log = max(sizes) >= LOGARITHMIC_FROM * min(sizes)
    with charts._figure(plot.height) as (figure, axes):
        for curve in found:
            _draw(axes, curve)
        if is_log:
            axes.set_xscale("log", base=2)
            axes.set_yscale("log", base=2)
        _limits(axes, found, is_log=is_log)
        _size_ticks(axes, sizes, is_log=is_log)
        if is_log:
            _powers(axes, plot)
        else:
            charts._ticks(axes.yaxis, plot.y_scale, axes.get_ylim(), most=5)
        charts._place(
            axes, figure, top=charts.TOP, bottom=charts.BOTTOM, left=charts.LEFT, right=WIDE_RIGHT
        )
        height = plot.height
        figure.text(0, 1 - 12 / height, plot.y_title, color=color("ink"), va="baseline")
        figure.text(
            1 - WIDE_RIGHT / charts.WIDTH, 5 / height, plot.x_title, color=color("ink"), ha="right"
        )
        if measured_until is not None:
            _border(axes, measured_until)
        _labels(axes, found, plot)
        return charts._finish(figure, plot.name, plot.label)


def _draw(axes: Axes, curve: Curve) -> None:
    stroke = color(curve.role)
    axes.plot(
        curve.x,
        curve.y,
        color=stroke,
        linewidth=1.8 if curve.is_measured else 1.4,
        linestyle=curve.dashes if curve.is_measured or curve.dashes != "-" else DASHED,
        marker="o" if curve.is_measured else "",
        markersize=5,
        clip_on=False,
    )
    for x, (low, high) in zip(curve.x, curve.spread, strict=False):
        axes.plot([x, x], [low, high], color=stroke, linewidth=4.0, alpha=1.0, clip_on=False)


def _limits(axes: Axes, found: Sequence[Curve], *, is_log: bool) -> None:
    x = [value for curve in found for value in curve.x]
    y = [value for curve in found for value in curve.y]
    y += [bound for curve in found for pair in curve.spread for bound in pair]
    first, last = min(x), max(x)
    if is_log:
        axes.set_xlim(first, last if last > first else 2 * first)
        axes.set_ylim(min(y) / 1.15, max(y) * 1.15)
        return
    axes.set_xlim(first, last if last > first else first + 1)
    axes.set_ylim(0, max(y) * 1.08 or 1.0)


def _size_ticks(axes: Axes, sizes: Sequence[float], *, is_log: bool) -> None:
    """A tick at each size, as far as their labels have room."""
    shown: list[float] = []
    low, high = axes.get_xlim()
    room = charts.WIDTH - charts.LEFT - WIDE_RIGHT
    for size in sorted(set(sizes)):
        if shown:
            step = (size / shown[-1]) if is_log else size - shown[-1]
            whole = (high / low) if is_log else high - low
            share = log2(step) / log2(whole) if is_log else step / whole
            if share * room < 34:
                continue
        shown.append(size)
    axes.set_xticks(shown, [f"{size:,.6g}" for size in shown])
    axes.minorticks_off()
    axes.grid(visible=False, axis="x")


def _powers(axes: Axes, plot: charts.Plot) -> None:
    """Ticks at powers of two of the unit, for a logarithmic axis."""
    low, high = (limit / plot.y_scale.factor for limit in axes.get_ylim())
    exponents = range(int(log2(low)) - 2, int(log2(high)) + 3)
    ticks = [2.0**n for n in exponents if low <= 2.0**n <= high]
    every = -(-len(ticks) // 6)
    shown = ticks[::every] if ticks else []
    labels = [plot.y_scale.tick(float(f"{tick:.3g}")) for tick in shown]
    axes.set_yticks([tick * plot.y_scale.factor for tick in shown], labels)
    axes.minorticks_off()


def _border(axes: Axes, size: float) -> None:
    axes.axvline(size, color=color("muted"), linewidth=1.0, linestyle=(0, (1, 2)))
    axes.annotate(
        "extrapolated →",
        (size, 1.0),
        xycoords=("data", "axes fraction"),
        xytext=(6, -2),
        textcoords="offset points",
        color=color("muted"),
        va="top",
    )


def _labels(axes: Axes, found: Sequence[Curve], plot: charts.Plot) -> None:
    """Each label beside the right edge, in the order of the ends, pushed apart."""
    inner = plot.height - charts.TOP - charts.BOTTOM
    to_pixels, inverse = axes.transData, axes.transAxes.inverted()
    ends = sorted(
        (
            float(inverse.transform(to_pixels.transform((curve.x[-1], curve.y[-1])))[1]),
            curve.label,
            curve.role,
        )
        for curve in found
        if curve.label
    )
    gap = 15.0 / inner
    placed, position = [], float("-inf")
    for value, label, role in ends:
        position = max(value, position + gap)
        placed.append((position, label, role))
    moved = sum(y for y, _, _ in placed) - sum(value for value, _, _ in ends)
    overshoot = max(position - 1.0, moved / len(placed), 0.0)
    for y, label, role in placed:
        axes.annotate(
            shortened(label, 21),
            (1.0, y - overshoot),
            xycoords="axes fraction",
            xytext=(10, 0),
            textcoords="offset points",
            color=color(role),
            va="center",
            annotation_clip=False,
        )
