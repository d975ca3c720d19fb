"""Charts of quantities over the size of the job, with ideal lines, spreads and extrapolations."""

from collections.abc import Sequence
from math import log2

from markupsafe import Markup

from perfscope.report.charts import BOTTOM, LEFT, TOP, Plot, end_labels
from perfscope.report.drawing import Drawing, Margins, ticks
from perfscope.report.text import shortened
from perfscope.structures import dataclass

LOGARITHMIC_FROM = 16.0  # largest over smallest size, from which both axes are logarithmic
DASHED = "7 5.5"
WIDE_RIGHT = 190.0
MOST_POWERS = 6
TICK_ROOM = 34.0
LONGEST_LABEL = 21
PHONE_GAP = 19.0  # from one label to the next: on a phone their letters are larger


@dataclass(frozen=True)
class Curve:
    """One line: a measured one has dots, any other is dashed."""

    label: str  # at its end
    role: str  # colors it
    x: Sequence[float]  # its points, at least one
    y: Sequence[float]
    # lowest and highest of repeats at each point; empty where there is one run each
    spread: Sequence[tuple[float, float]] = ()
    is_measured: bool = True  # not ideal, not extrapolated
    dashes: str = ""  # of a line that may lie on another one


def curves(
    plot: Plot,
    found: Sequence[Curve],
    *,
    sizes: Sequence[float],
    measured_until: float | None = None,
) -> Markup:
    """Lines over sizes, which are ticks of the axis.

    From `measured_until` on it is extrapolated, which a line and a word say.
    """
    drawing = _axes(plot, found, is_log=max(sizes) >= LOGARITHMIC_FROM * min(sizes))
    y = (drawing.y.low, drawing.y.high)
    shown = _powers(plot, y) if drawing.y.is_log else ticks(y, plot.y_scale, most=5)
    drawing.y_ticks(shown, has_grid=True)
    drawing.x_ticks(_size_ticks(drawing, sizes), has_grid=False)
    drawing.titles(plot.x_title, plot.y_title)
    for curve in found:
        _draw(drawing, curve)
    if measured_until is not None:
        drawing.upright(measured_until, "muted", width=1.0, dashes="1 2")
        beside = drawing.x.place(measured_until) + 6.0
        drawing.note((beside, TOP + 8.0), "extrapolated →", role="muted")
    ends = [
        (curve.y[-1], shortened(curve.label, LONGEST_LABEL), curve.role)
        for curve in found
        if curve.label
    ]
    end_labels(drawing, ends, longest=LONGEST_LABEL, gap=PHONE_GAP)
    return drawing.finished(plot.label)


def _axes(plot: Plot, found: Sequence[Curve], *, is_log: bool) -> Drawing:
    x = [value for curve in found for value in curve.x]
    y = [value for curve in found for value in curve.y]
    y += [bound for curve in found for pair in curve.spread for bound in pair]
    first, last = min(x), max(x)
    is_log = is_log and any(value > 0 for value in y)
    margins = Margins(TOP, WIDE_RIGHT, BOTTOM, LEFT)
    if is_log:
        right = last if last > first else 2 * first
        limits = (min(value for value in y if value > 0) / 1.15, max(y) * 1.15)
        return Drawing(plot.height, margins, x=(first, right), y=limits, is_log=True)
    right = last if last > first else first + 1
    return Drawing(plot.height, margins, x=(first, right), y=(0.0, max(y) * 1.08 or 1.0))


def _draw(drawing: Drawing, curve: Curve) -> None:
    dashes = curve.dashes or ("" if curve.is_measured else DASHED)
    width = 1.8 if curve.is_measured else 1.4
    drawing.line(curve.x, curve.y, curve.role, width=width, dashes=dashes)
    for x, (low, high) in zip(curve.x, curve.spread, strict=False):
        drawing.line([x, x], [low, high], curve.role, width=4.0)
    if curve.is_measured:
        for x, y in zip(curve.x, curve.y, strict=True):
            drawing.dot(x, y, curve.role, diameter=5.0)


def _size_ticks(drawing: Drawing, sizes: Sequence[float]) -> list[tuple[float, str]]:
    """A tick at each size, as far as their labels have room."""
    shown: list[float] = []
    for size in sorted(set(sizes)):
        if shown and drawing.x.place(size) - drawing.x.place(shown[-1]) < TICK_ROOM:
            continue
        shown.append(size)
    return [(size, f"{size:,.6g}") for size in shown]


def _powers(plot: Plot, limits: tuple[float, float]) -> list[tuple[float, str]]:
    """Ticks at powers of two of the unit, for a logarithmic axis."""
    factor = plot.y_scale.factor
    low, high = (limit / factor for limit in limits)
    exponents = range(int(log2(low)) - 2, int(log2(high)) + 3)
    found = [2.0**n for n in exponents if low <= 2.0**n <= high]
    shown = found[:: -(-len(found) // MOST_POWERS)] if found else []
    return [(tick * factor, plot.y_scale.tick(float(f"{tick:.3g}"))) for tick in shown]
