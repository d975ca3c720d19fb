"""The timeline of the ranks as inline SVG: what a page without scripts and a printer show."""

import math
from collections.abc import Mapping, Sequence
from itertools import groupby

from markupsafe import Markup

from perfscope.report.drawing import WIDTH
from perfscope.report.formats import NBSP, Scale, whole_percent
from perfscope.report.text import shortened
from perfscope.report.views import Shown
from perfscope.structures import dataclass

ROW = 24.0
HIGH_ROW = 44.0  # of a row that shows shares
MOST_HEIGHT = 416.0  # of all rows
LABEL_ROOM = 13.0
LONGEST_LABEL = 22
MOST_TICKS = 9
_LETTER = 6.6  # units; of a label, a little more than the mean
_RIGHT, _TOP, _AXIS = 30.0, 4.0, 26.0
_TEXT = Markup('<text class="f-ink" x="{x}" y="{y}" font-size="{size}"{anchor}>{text}</text>')
_TICK = Markup('<path class="s-grid" d="M{x} {top}V{bottom}"/>')
_PART = Markup('<g><title>{title}</title><path class="f-{role}" d="{path}"/></g>')


@dataclass(frozen=True)
class Row:
    """One rank: its name, the label before its bar, and a letter for each bin.

    `shares` are those of each letter, from the finest bins that are known: those drawn here hold
    other accounts, too, besides the one that has most of them.
    """

    name: str
    label: str
    cells: str
    shares: Mapping[str, float]
    columns: Sequence[Mapping[str, float]] = ()  # shares in equal parts of the time


@dataclass(frozen=True)
class Axis:
    """The seconds at the left end, the length of the time shown, and the unit of its ticks."""

    start_s: float
    length_s: float
    scale: Scale


def timeline_picture(
    label: str, rows: Sequence[Row], bin_s: float, axis: Axis, accounts: dict[str, Shown]
) -> Markup:
    """The drawing: a bar for each row, equal neighboring bins as one piece.

    The last bin may end behind the axis; letters without an account are not drawn. `label` is the
    text alternative.
    """
    is_stacked = any(row.columns for row in rows)
    pitch = min(HIGH_ROW if is_stacked else ROW, MOST_HEIGHT / max(len(rows), 1))
    every = math.ceil(LABEL_ROOM / pitch)
    letters = min(max((len(row.label) for row in rows), default=0), LONGEST_LABEL)
    left = 14.0 + _LETTER * letters
    width = WIDTH - left - _RIGHT
    bottom = _TOP + pitch * len(rows)
    per_bin = width * bin_s / axis.length_s
    drawn = []
    for value, written in ticks(axis, MOST_TICKS):
        x = left + (value - axis.start_s) / axis.length_s * width
        drawn.append(_TICK.format(x=_short(x), top=_short(_TOP), bottom=_short(bottom + 4)))
        anchor = Markup(' text-anchor="middle"')
        drawn.append(_TEXT.format(x=_short(x), y=bottom + 20, size=12, anchor=anchor, text=written))
    for place, row in enumerate(rows):
        y = _TOP + pitch * place
        if place % every == 0:
            drawn.append(
                _TEXT.format(
                    x=0,
                    y=_short(y + pitch / 2 + 4),
                    size=12 if pitch >= ROW else 11,
                    anchor="",
                    text=shortened(row.label, LONGEST_LABEL),
                )
            )
        box = (left, y + pitch * 0.1, per_bin, pitch * 0.8)
        if row.columns:
            drawn += _stacked_parts(row, (left, y + pitch * 0.1, width, pitch * 0.8), accounts)
        else:
            drawn += _row_parts(row, box, left + width, accounts)
    return Markup(
        '<svg class="chart" role="img" aria-label="{}" viewBox="0 0 {:g} {:g}">{}</svg>'
    ).format(label, WIDTH, bottom + _AXIS, Markup().join(drawn))


def ticks(axis: Axis, most: int) -> list[tuple[float, str]]:
    """Round moments in seconds, at most so many, each with its text."""
    low = axis.start_s / axis.scale.factor
    length = axis.length_s / axis.scale.factor
    step = 10.0 ** math.floor(math.log10(length / most))
    step *= next(factor for factor in (1, 2, 5, 10, 20) if length / (step * factor) <= most - 1)
    first = math.ceil(low / step - 1e-9)
    count = math.floor((low + length) / step + 1e-9) - first + 1
    values = [(first + place) * step for place in range(count)]
    digits = max(0, -math.floor(math.log10(step) + 1e-9))
    unit = axis.scale.unit
    return [(value * axis.scale.factor, f"{value:,.{digits}f}{NBSP}{unit}") for value in values]


def _row_parts(
    row: Row, box: tuple[float, float, float, float], right: float, accounts: dict[str, Shown]
) -> list[Markup]:
    """The pieces of one row, those of an account together, with the account's name and time."""
    left, top, per_bin, height = box
    pieces: dict[str, list[tuple[float, float]]] = {}
    place = 0
    for letter, run in groupby(row.cells):
        length = sum(1 for _ in run)
        if letter in accounts:
            ends = (left + place * per_bin, min(left + (place + length) * per_bin, right))
            pieces.setdefault(letter, []).append(ends)
        place += length
    return [
        _PART.format(
            title=_told(row, letter, accounts),
            role=accounts[letter].role,
            path="".join(
                f"M{_short(a)} {_short(top)}H{_short(b)}v{_short(height)}H{_short(a)}z"
                for a, b in ends
            ),
        )
        for letter, ends in pieces.items()
    ]


def _stacked_parts(
    row: Row, box: tuple[float, float, float, float], accounts: dict[str, Shown]
) -> list[Markup]:
    """The pieces of one row, in each column as high as their shares, from the bottom up."""
    left, top, width, height = box
    wide = width / len(row.columns)
    pieces: dict[str, list[str]] = {letter: [] for letter in accounts}
    for place, shares in enumerate(row.columns):
        y = top + height
        for letter in stacked(accounts):
            if high := height * shares.get(letter, 0.0):
                y -= high
                x = left + place * wide
                pieces[letter].append(
                    f"M{_short(x)} {_short(y)}h{wide:.2f}v{high:.2f}h-{wide:.2f}z"
                )
    return [
        _PART.format(
            title=_told(row, letter, accounts), role=accounts[letter].role, path="".join(paths)
        )
        for letter, paths in pieces.items()
        if paths
    ]


def stacked(accounts: Mapping[str, Shown]) -> list[str]:
    """The letters from the bottom up: work, communication, and losses on top."""

    def place(letter: str) -> int:
        role = accounts[letter].role
        return 2 if role.startswith("lost") else int(role.startswith("communication"))

    return sorted(accounts, key=place)


def _told(row: Row, letter: str, accounts: Mapping[str, Shown]) -> str:
    share = whole_percent(row.shares.get(letter, 0.0))
    return f"{row.name}: {accounts[letter].label}, about {share} of this time"


def _short(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")
