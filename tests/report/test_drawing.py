"""Data over two axes as SVG: places, ticks, thinning, and what is said where numbers are odd."""

import re
import xml.etree.ElementTree as ET

import numpy as np
import pytest

from perfscope.report.drawing import WIDTH, Axis, Drawing, Margins, spread, ticks
from perfscope.report.formats import PLAIN, Scale

NO_MARGINS = Margins(0.0, 0.0, 0.0, 0.0)


def drawing(*, is_log: bool = False) -> Drawing:
    low = 1.0 if is_log else 0.0
    return Drawing(100.0, NO_MARGINS, x=(low, 1024.0), y=(low, 1024.0), is_log=is_log)


def points(svg: str) -> list[tuple[float, float]]:
    """All points of all paths."""
    pairs = re.findall(r"[ML](-?[\d.]+) (-?[\d.]+)", svg)
    return [(float(x), float(y)) for x, y in pairs]


def test_values_stand_in_proportion_and_upwards() -> None:
    drawn = drawing()
    drawn.line([0.0, 512.0, 1024.0], [0.0, 1024.0, 512.0], "ink")
    assert points(drawn.finished("l")) == [(0.0, 100.0), (WIDTH / 2, 0.0), (WIDTH, 50.0)]


def test_a_logarithmic_axis_gives_each_factor_the_same_room() -> None:
    drawn = drawing(is_log=True)
    drawn.line([1.0, 32.0, 1024.0], [1.0, 32.0, 1024.0], "ink")
    assert points(drawn.finished("l")) == [(0.0, 100.0), (WIDTH / 2, 50.0), (WIDTH, 0.0)]


def test_a_logarithmic_axis_has_no_place_for_zero() -> None:
    drawn = drawing(is_log=True)
    drawn.line([1.0, 2.0, 1024.0], [1.0, 0.0, 1024.0], "ink")
    assert points(drawn.finished("l")) == [(0.0, 100.0), (WIDTH, 0.0)]


def test_an_axis_without_length_keeps_its_values_at_its_start() -> None:
    assert Axis(3.0, 3.0, 10.0, 20.0).place(3.0) == 10.0
    assert Axis(-1.7e308, 1.7e308, 10.0, 20.0).place(1.7e308) == 20.0  # no sum overflows


def test_what_is_not_a_number_interrupts_a_line() -> None:
    drawn = drawing()
    drawn.line([0.0, 1.0, 2.0, 3.0], [0.0, float("nan"), 0.0, 0.0], "ink")
    assert re.findall(r"[ML]", drawn.finished("l").partition('d="')[2]) == ["M", "M", "L"]


def test_many_points_are_thinned_and_their_peaks_kept() -> None:
    drawn, x = drawing(), np.linspace(0.0, 1024.0, 200_000)
    y = np.full(len(x), 512.0)
    y[123_456], y[150_000] = 1024.0, 0.0
    drawn.line(x, y, "ink")
    svg = drawn.finished("l")
    heights = [height for _, height in points(svg)]
    assert (min(heights), max(heights)) == (0.0, 100.0)
    assert len(svg) < 40_000


def test_an_area_runs_there_above_and_back_below() -> None:
    drawn = drawing()
    drawn.area([0.0, 1024.0], [0.0, 512.0], [512.0, 1024.0], "band")
    assert points(drawn.finished("l")) == [(0, 50), (WIDTH, 0), (WIDTH, 50), (0, 100)]


def test_a_box_has_no_negative_size() -> None:
    drawn = drawing()
    drawn.box((1024.0, 512.0), (0.0, 1024.0), "training")
    (box,) = ET.fromstring(drawn.finished("l")).iter("rect")
    assert [box.get(key) for key in ("x", "y", "width", "height")] == ["460", "0", "460", "100"]


@pytest.mark.parametrize(
    ("limits", "most", "expected"),
    [
        ((0.0, 7.0), 7, ["0", "1", "2", "3", "4", "5", "6", "7"]),
        ((0.0, 8.0), 7, ["0", "2", "4", "6", "8"]),
        ((0.3, 1.0), 5, ["0.4", "0.6", "0.8", "1"]),
        ((-1.0, 1.0), 4, ["-1", "-0.5", "0", "0.5", "1"]),
        ((1e9, 1e9 + 3e6), 3, ["1,000,000,000", "1,001,000,000", "1,002,000,000", "1,003,000,000"]),
        ((2.0, 2.0), 5, []),
        ((0.0, float("inf")), 5, []),
    ],
)
def test_ticks_are_round(limits: tuple[float, float], most: int, expected: list[str]) -> None:
    assert [text for _, text in ticks(limits, PLAIN, most=most)] == expected


def test_ticks_of_a_unit_stand_at_the_data_s_values() -> None:
    found = ticks((0.0, 0.004), Scale(1e-3, "ms"), most=4)
    assert [text.replace("\xa0", " ") for _, text in found] == [
        "0 ms",
        "1 ms",
        "2 ms",
        "3 ms",
        "4 ms",
    ]
    assert [value for value, _ in found] == pytest.approx([0.0, 0.001, 0.002, 0.003, 0.004])


@pytest.mark.parametrize(
    ("places", "expected"),
    [
        ([], []),
        ([0.0, 50.0], [0.0, 50.0]),
        ([50.0, 50.0], [45.0, 55.0]),
        ([99.0, 100.0], [90.0, 100.0]),
    ],
)
def test_labels_that_overlap_stand_around_where_they_were(
    places: list[float], expected: list[float]
) -> None:
    assert spread(places, 10.0, 100.0) == pytest.approx(expected, abs=0.6)


def test_texts_are_escaped_and_colors_are_classes() -> None:
    drawn = drawing()
    drawn.note((1.0, 2.0), '<b>&"')
    drawn.titles("<i>", "<u>")
    svg = drawn.finished('"<script>')
    assert not re.search(r"<[biu]>|<script|style=|#[0-9a-f]{6}| id=", svg)
    assert ET.fromstring(svg).get("aria-label") == '"<script>'
