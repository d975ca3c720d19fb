"""The page, the terminal and the Markdown of a comparison, from its document alone."""

import re
from typing import Any

import pytest

from perfscope.report.studies.markdown import escaped
from perfscope.schema.write import as_json
from perfscope.studies.common import document
from perfscope.studies.compare import labels as compare_words
from perfscope.studies.compare.compare import FACTOR, body
from perfscope.studies.compare.sides import Side, make_side
from tests.report.page_outline import without_own
from tests.report.sample_hostile import HOSTILE_TEXTS
from tests.support.study_pages import markdown_of, page_of, printed
from tests.support.study_runs import made_run

GAIN = {
    "id": "slow_input",
    "status": "fail",
    "title": "Input is slow",
    "gain_s": 1.9,
    "gain_interval_s": [1.7, 2.1],
    "gain_basis": "replay",
}
SPREAD = (1.0, 1.004, 0.996, 1.002, 0.999)


def side(label: str, seconds: float, *, findings: list[Any], spread: tuple[float, ...]) -> Side:
    runs = [
        made_run(
            f"{label}-{n}",
            focus_s=seconds * factor,
            work_s=[0.8 * seconds * factor, 0.6 * seconds * factor],
            step_s=seconds * factor / 100,
            steps=100,
            findings=findings,
        )
        for n, factor in enumerate(spread)
    ]
    return make_side(label, runs)


def made(
    labels: tuple[str, ...] = ("before", "after"), *, spread: tuple[float, ...] = SPREAD
) -> dict[str, Any]:
    sides = [
        side(label, 10.0 - 2 * n, findings=[GAIN] if n == 0 else [], spread=spread)
        for n, label in enumerate(labels)
    ]
    found = body(sides, measure=None, factor=FACTOR)
    runs = [run for one in sides for run in one.all_runs]
    made = document.build(
        "compare",
        runs,
        verdict=compare_words.verdict(found),
        body=found,
        how_measured=compare_words.how_measured(found),
    )
    return as_json(made)


@pytest.mark.parametrize("shown", [page_of, markdown_of, printed], ids=["page", "md", "tty"])
def test_answer_waterfall_efficiency_and_promise_are_shown(shown: Any) -> None:
    text = shown(made()).replace("\xa0", " ").replace("\\", "")
    for part in (
        "after is faster than before",
        "-20.0 %",  # of the focus of analysis
        "-18.2 %",  # of the wall time, a second longer
        "Input is slow",
        "Predicted saving 1.90 s",
        "2.00 s",
        "-5.0 %",
    ):
        assert part in text, part


def test_a_single_pair_says_that_it_cannot_tell() -> None:
    found = made(spread=(1.0,))
    for text in (page_of(found), markdown_of(found), printed(found)):
        assert "cannot tell" in text or "cannot be told" in text


def test_three_sides_give_three_columns_and_two_falls() -> None:
    page = page_of(made(("first", "second", "third")))
    assert "Change, second" in page
    assert page.count('<details class="numbers"') == 2
    assert "third is faster than first" in page


@pytest.mark.parametrize("hostile", HOSTILE_TEXTS)
def test_labels_are_never_markup(hostile: str) -> None:
    found = made((hostile, f"other {hostile}"))
    found["compare"]["differences"] = [
        {"kind": "variable", "name": hostile, "values": [hostile, None], "varies_within": True}
    ]
    found["compare"]["finding_changes"][0]["title"] = hostile
    page = without_own(page_of(found))
    assert not re.search(r"<script|<img|<svg onload|<style>\*|=.javascript:", page)
    assert "\x1b" not in page + printed(found) + markdown_of(found)


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("a|b", r"a\|b"),
        ("<img src=x>", r"\<img src=x\>"),
        ("[x](http://e.invalid)", "\\[x\\](http:\u200b//e.invalid)"),
        ("@everyone `x`\n# y", r"\@everyone \`x\` \# y"),
        ("&amp;", r"\&amp;"),
    ],
)
def test_markdown_of_a_trace_is_text(text: str, written: str) -> None:
    assert escaped(text) == written


@pytest.mark.parametrize(
    "part", ["sides", "comparisons", "measures", "efficiencies", "waterfall", "differences", "unit"]
)
def test_a_missing_part_breaks_nothing(part: str) -> None:
    found = made()
    del found["compare"][part]
    assert "<h1" in page_of(found)
    assert markdown_of(found)
    assert "Verdict" in printed(found)
