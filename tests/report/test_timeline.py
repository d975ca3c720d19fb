"""The timeline's section: its picture without a script, and what its script is given."""

import html
import json
import re
from typing import Any

import pytest

from perfscope.report.formats import Scale
from perfscope.report.timeline import Axis, Row, ticks, timeline_picture
from perfscope.report.views import Shown
from tests.report.page_outline import page_of, shown
from tests.report.sample_document import thousand_ranks, two_ranks_evaluation
from tests.report.sample_hostile import HOSTILE_TEXTS

SECONDS = Scale(1.0, "s")
ACCOUNTS = {"a": Shown("training", "Training"), "c": Shown("evaluation", "<Evaluation>")}


def given(document: dict[str, Any]) -> dict[str, Any]:
    """What the script reads: what is drawn at once, with what it looks up at the page's end."""
    page = page_of(document, "timeline").replace("\xa0", " ")
    data, later = (
        json.loads(html.unescape(re.search(pattern, page)[1]))  # type: ignore[index]
        for pattern in (
            r'data-timeline="([^"]*)"',
            r'<template id="timeline-later">([^<]*)</template>',
        )
    )
    assert page.index("<script>") < page.index('<template id="timeline-later"')
    for level, rows in zip(data["levels"][1:], later["levels"], strict=True):
        assert level["rows"] is None
        level["rows"] = rows
    if data["behind"]:
        data["behind"]["rows"] = later["behind"]
    found: dict[str, Any] = data
    return found


def picture(*rows: str, bin_s: float = 1.0, length_s: float = 8.0) -> str:
    shares = [{one: cells.count(one) / len(cells) for one in cells} for cells in rows]
    drawn = [
        Row(f"rank {n} on node", f"rank {n}", cells, shares[n]) for n, cells in enumerate(rows)
    ]
    axis = Axis(2.0, length_s, SECONDS)
    return str(timeline_picture("what", drawn, bin_s, axis, ACCOUNTS)).replace("\xa0", " ")


def edges(drawn: str, role: str) -> list[tuple[float, float]]:
    """The left and the right edge of each piece of an account."""
    paths = re.findall(rf'class="f-{role}" d="([^"]*)"', drawn)
    found = re.findall(r"M([\d.]+) [\d.]+H([\d.]+)v", "".join(paths))
    return [(float(left), float(right)) for left, right in found]


def test_equal_neighbors_are_one_piece() -> None:
    drawn = picture("aaaaccaa")
    (first, last), (middle,) = edges(drawn, "training"), edges(drawn, "evaluation")
    whole = last[1] - first[0]
    assert first[1] == middle[0]
    assert middle[1] == last[0]
    assert (first[1] - first[0]) / whole == pytest.approx(4 / 8, abs=1e-3)
    assert (middle[1] - middle[0]) / whole == pytest.approx(2 / 8, abs=1e-3)


def test_a_piece_is_told_in_words_and_not_by_color_alone() -> None:
    drawn = picture("aaaaccaa", "cccccccc")
    assert "<title>rank 0 on node: Training, about 75 % of this time</title>" in drawn
    assert "<title>rank 1 on node: &lt;Evaluation&gt;, about 100 % of this time</title>" in drawn


def test_without_a_process_nothing_is_drawn() -> None:
    assert edges(picture("........"), "training") == []
    assert len(edges(picture("a......a"), "training")) == 2


def test_the_last_bin_ends_with_the_axis() -> None:
    (whole,) = edges(picture("aaaaaaaa"), "training")
    (longer,) = edges(picture("aaa", bin_s=3.0), "training")
    assert longer == whole


@pytest.mark.parametrize(
    ("start", "length", "scale", "expected"),
    [
        (0.0, 8.0, SECONDS, ["0 s", "1 s", "2 s", "3 s", "4 s", "5 s", "6 s", "7 s", "8 s"]),
        (1.2, 26.9, SECONDS, ["5 s", "10 s", "15 s", "20 s", "25 s"]),
        (0.0, 0.003, Scale(1e-3, "ms"), ["0.0 ms", "0.5 ms", "1.0 ms", "1.5 ms", "2.0 ms"]),
        (3600.0, 1.0, SECONDS, ["3,600.0 s", "3,600.2 s", "3,600.4 s", "3,600.6 s"]),
    ],
)
def test_ticks_are_round(start: float, length: float, scale: Scale, expected: list[str]) -> None:
    found = [written.replace("\xa0", " ") for _, written in ticks(Axis(start, length, scale), 9)]
    assert found[: len(expected)] == expected


def test_shows_accounts_that_are_used_and_no_others() -> None:
    found = shown(two_ranks_evaluation(), "timeline")
    legend = found[found.index('class="legend"') : found.index("timeline-picture")]
    assert "Evaluation" in legend
    assert "Checkpoint" not in legend
    assert "the rank's process was not running" in found


def test_a_look_stands_in_the_legend_once() -> None:
    document = two_ranks_evaluation()
    seen = {*"".join(document["timeline"]["levels"][0]["rows"])}
    accounts = [one for one in document["timeline"]["accounts"] if one["letter"] in seen]
    for account, label in zip(accounts, ("Training", "Computation"), strict=False):
        account |= {"cause": "cpu_wait", "label": f"{label}: waiting for a CPU"}
    found = shown(document, "timeline")
    assert "Training, computation: waiting for a CPU" in found
    legend = found[found.index('class="legend"') : found.index("timeline-picture")]
    assert legend.count("f-lost-cpu_wait") == 1


def test_causes_without_a_color_are_counted() -> None:
    document = two_ranks_evaluation()
    assert "of their own here" not in shown(document, "timeline")
    document["timeline"]["causes_left_out"] = 4
    assert "4 more causes of lost time have no colors" in shown(document, "timeline")


def test_what_is_drawn_in_shares_is_the_pages_data() -> None:
    data = given(two_ranks_evaluation())
    assert data["is_stacked"] is True
    assert sorted(data["stacked"]) == list(range(len(data["accounts"])))


def test_many_ranks_are_said_to_be_a_choice() -> None:
    assert "64 of 1,000 ranks are shown" in shown(thousand_ranks(), "timeline")
    assert "ranks are shown" not in shown(two_ranks_evaluation(), "timeline")


def test_the_script_gets_every_level_whole() -> None:
    document = two_ranks_evaluation()
    data = given(document)
    assert [level["rows"] for level in data["levels"]] == [
        level["rows"] for level in document["timeline"]["levels"]
    ]
    assert [row["name"] for row in data["rows"]] == ["rank 0 on node01", "rank 1 on node01"]


@pytest.mark.parametrize(
    "row",
    ["a" * 255, "a" * 257, "a" * 255 + "z", "a" * 255 + "<", ""],
    ids=["short", "long", "unknown letter", "markup", "empty"],
)
def test_a_level_with_a_broken_row_is_left_out(row: str) -> None:
    document = two_ranks_evaluation()
    document["timeline"]["levels"][0]["rows"][1] = row
    assert len(given(document)["levels"]) == 2


@pytest.mark.parametrize("letter", ["", ".", "é", "😀", "ab", "<"])
def test_what_is_no_letter_names_no_account(letter: str) -> None:
    document = two_ranks_evaluation()
    document["timeline"]["accounts"][1]["letter"] = letter
    assert [account["letter"] for account in given(document)["accounts"]] == list("acdefghijklmn")


def test_without_any_level_there_is_a_reason() -> None:
    document = two_ranks_evaluation()
    document["timeline"]["levels"] = []
    assert "Not measured:" in shown(document, "timeline")
    document["timeline"] |= {"reason": "the trace is empty"}
    assert "the trace is empty" in shown(document, "timeline")


@pytest.mark.parametrize("text", HOSTILE_TEXTS)
def test_hostile_hosts_and_labels_are_text(text: str) -> None:
    document = two_ranks_evaluation()
    document["timeline"]["rows"][0]["host"] = text
    document["timeline"]["accounts"][0]["label"] = text
    found = shown(document, "timeline")
    data = given(document)
    assert not re.search(r"<(script|img|style|svg onload)", found)
    assert len(data["rows"][0]["name"]) < 1100
    assert len(data["rows"][0]["label"]) < 30
