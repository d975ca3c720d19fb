"""Flame graphs on the page: what stands in them, and that nothing of a trace gets out of them."""

import re
import xml.etree.ElementTree as ET

import pytest

from perfscope.report.drawing import WIDTH
from perfscope.report.flame import Box, flame
from tests.report.page_outline import shown
from tests.report.sample_document import four_ranks_healthy, hostile
from tests.report.sample_hostile import HOSTILE_TEXTS


def rectangles(svg: str) -> list[tuple[str, float, float, float]]:
    """Title, x, y and width of each box."""
    found = []
    for group in ET.fromstring(svg).findall("g"):
        title, box = group.find("title"), group.find("rect")
        assert title is not None
        assert box is not None
        x, y, width = (float(box.get(name, "nan")) for name in ("x", "y", "width"))
        found.append((title.text or "", x, y, width))
    return found


def test_boxes_are_as_wide_as_their_time_and_stand_under_their_callers() -> None:
    boxes = [
        Box(-1, "main", "a.py:1", True, 8.0),
        Box(0, "left", "a.py:2", True, 2.0),
        Box(0, "right", "a.py:3", True, 4.0),
        Box(2, "deep", "b.py:4", False, 4.0),
        Box(-1, "thread", "", False, 2.0),
    ]
    found = rectangles(flame("graph", boxes))
    assert [round(width / WIDTH, 3) for *_, width in found] == [0.8, 0.2, 0.4, 0.4, 0.2]
    assert [round(x / WIDTH, 3) for _, x, _, _ in found] == [0.0, 0.0, 0.2, 0.2, 0.8]
    rows = [y for _, _, y, _ in found]
    assert rows == [0.0, rows[1], rows[1], 2 * rows[1], 0.0]
    assert found[3][0].startswith("deep · b.py:4 · 4.00")
    assert "40.0" in found[3][0]


def test_a_hair_is_not_drawn_and_nothing_is_no_drawing() -> None:
    boxes = [Box(-1, "main", "", True, 1000.0), Box(0, "hair", "", True, 0.5)]
    assert len(rectangles(flame("graph", boxes))) == 1
    assert not flame("graph", [Box(-1, "main", "", True, 0.0)])
    assert not flame("graph", [])


@pytest.mark.parametrize("text", HOSTILE_TEXTS)
def test_hostile_names_stay_texts(text: str) -> None:
    text = text.replace("\x00", "").replace("\x07", "").replace("\x1b", "").replace("\ud800", "")
    boxes = [Box(-1, text, text, True, 1.0)]
    svg = flame(text, boxes)
    root = ET.fromstring(svg)
    assert {element.tag for element in root.iter()} <= {"svg", "g", "title", "rect", "text"}
    assert root.get("aria-label") == " ".join(text.split()) or root.get("aria-label") == text


def test_the_section_has_a_graph_a_phase_and_a_rank_and_the_same_as_a_table() -> None:
    found = shown(four_ranks_healthy(), "stacks")
    assert "Training spends most in backward: 8.8 %" in found
    assert found.count('<svg class="chart flame"') == 1 + 4
    assert "Flame graph of Training, rank 3" in found
    assert "80.0 % of the phase" in found
    assert "3 functions with less than 0.5 %" in found
    assert "Not whole for rank 0:" in found
    summaries = re.findall(r"<summary>(.*?)</summary>", found)
    assert summaries[-4:] == ["Rank 0", "Rank 1", "Rank 2", "Rank 3"]
    assert 'id="flame-top-1"' in found


def test_nothing_in_the_section_is_markup_of_the_trace() -> None:
    found = shown(hostile(), "stacks")
    assert "<script" not in found
    assert "onload=window" not in re.sub(r"&lt;.*?&gt;", "", found)
    assert "<svg onload" not in found


def test_lines_that_keep_memory_stand_under_memory() -> None:
    found = shown(four_ranks_healthy(), "memory")
    assert "remember" in found
    assert "examples/train.py:77" in found
    assert "25.0 MiB" in found
    assert "Recorded by" in found
