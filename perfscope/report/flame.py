"""Flame graphs as inline SVG: a box for each function, under its caller, as wide as its time."""

from collections.abc import Sequence

from markupsafe import Markup

from perfscope.report.drawing import WIDTH
from perfscope.report.formats import percent, seconds
from perfscope.report.text import shortened
from perfscope.structures import dataclass

ROW = 19.0
LEAST_WIDTH = 1.0  # narrower boxes are not drawn
_LETTER = 6.3  # units; of the font below, a little more than the mean
_LEAST_LETTERS = 3
_BOX = Markup(
    '<g><title>{title}</title><rect class="{style}" x="{x}" y="{y}" width="{width}" '
    'height="{height}"/>{label}</g>'
)
_LABEL = Markup('<text class="f-ink" x="{x}" y="{y}" font-size="11">{text}</text>')


@dataclass(frozen=True)
class Box:
    """A function called by another."""

    parent: int  # index of its caller, -1 none; smaller than its own
    name: str  # what stands in the box
    place: str  # its file and line, "" without
    is_user: bool  # whether it is the user's own code
    seconds: float  # its time, with what it called


def flame(label: str, boxes: Sequence[Box]) -> Markup:
    """The drawing, callers above what they called; "" without any time.

    Callers come before what they called; `label` is the text alternative.
    """
    total = sum(box.seconds for box in boxes if box.parent < 0)
    if total <= 0:
        return Markup()
    left = [0.0] * len(boxes)
    taken = [0.0] * len(boxes)
    depth = [0] * len(boxes)
    roots = 0.0
    drawn: list[Markup] = []
    deepest = 0
    for place, box in enumerate(boxes):
        width = WIDTH * box.seconds / total
        if box.parent < 0:
            left[place], roots = roots, roots + width
        else:
            left[place] = left[box.parent] + taken[box.parent]
            taken[box.parent] += width
            depth[place] = depth[box.parent] + 1
        if width < LEAST_WIDTH:
            continue
        deepest = max(deepest, depth[place])
        drawn.append(_drawn(box, left[place], ROW * depth[place], width, total))
    height = ROW * (deepest + 1)
    return Markup(
        '<svg class="chart flame" role="img" aria-label="{}" viewBox="0 0 {:g} {:g}">{}</svg>'
    ).format(label, WIDTH, height, Markup().join(drawn))


def _drawn(box: Box, x: float, y: float, width: float, total: float) -> Markup:
    letters = int((width - 6) / _LETTER)
    text = Markup()
    if letters >= _LEAST_LETTERS:
        name = box.name if len(box.name) <= letters else box.name.rpartition(".")[2]
        text = _LABEL.format(x=_short(x + 4), y=_short(y + 13), text=shortened(name, letters))
    share = percent(box.seconds / total)
    lines = [box.name, box.place, f"{seconds(box.seconds)}, {share}"]
    return _BOX.format(
        title=" · ".join(shortened(line, 200) for line in lines if line),
        style="flame-user" if box.is_user else "flame-library",
        x=_short(x),
        y=_short(y),
        width=_short(width),
        height=_short(ROW - 1),
        label=text,
    )


def _short(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")
