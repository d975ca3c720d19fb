"""The page, the terminal and the badge of a history."""

import re
import xml.etree.ElementTree as ET
from typing import Any

import pytest

from perfscope.report.studies.section import to_report
from perfscope.schema.check import problems
from perfscope.schema.history import Unread
from perfscope.schema.study import Study
from perfscope.schema.write import as_json
from perfscope.studies.common import document
from perfscope.studies.history.history import body, groups
from perfscope.studies.history.labels import how_measured, verdict
from tests.report.page_outline import without_own
from tests.report.sample_hostile import HOSTILE_TEXTS
from tests.studies.history.test_history import series
from tests.support.study_pages import badge_of, page_of, printed
from tests.support.study_runs import history_row


def made(*, change_at: int | None = 16) -> dict[str, Any]:
    runs = series(change_at=change_at)
    found = body(groups(runs), runs, unreadable=[Unread("x", "it is damaged")])
    rows = [
        history_row(run, start_unix_s=0.0, day="2027-01-01", report=f"./{run.label}/report.html")
        for run in runs
    ]
    made = document.build(
        "history", rows, verdict=verdict(found), body=found, how_measured=how_measured(found)
    )
    return as_json(made)


def test_the_page_shows_trend_change_index_and_what_was_not_read() -> None:
    assert list(problems(made(), Study)) == []
    page = page_of(made()).replace("\xa0", " ")
    assert page == page_of(made()).replace("\xa0", " ")
    assert "-10.0 %" in page
    assert f"{16:040x}"[:10] in page
    assert '<a href="./run-3/report.html">' in page
    assert page.index("run-23") < page.index("run-22")
    assert "it is damaged" in page
    assert "No change of level" in page_of(made(change_at=None))


def test_the_terminal_shows_the_last_change() -> None:
    shown = printed(made()).replace("\xa0", " ")
    assert "-10.0 % since 0000000000" in shown
    assert "Not read: x" in shown


@pytest.mark.parametrize("hostile", HOSTILE_TEXTS)
def test_commits_branches_and_names_are_never_markup(hostile: str) -> None:
    found = made()
    found["history"]["groups"][0]["label"] = hostile
    found["history"]["groups"][0]["points"][16] |= {"label": hostile, "day": hostile}
    found["history"]["badge"] = {"label": hostile, "text": hostile, "status": hostile}
    found["history"]["unreadable"] = [{"path": hostile, "reason": hostile}]
    found["runs"][0] |= {
        "label": hostile,
        "report": hostile,
        "commit": {"id": hostile, "branch": hostile},
    }
    page = without_own(page_of(found))
    assert not re.search(r"<script|<img|<svg onload|<style>\*|=.javascript:", page)
    assert "\x1b" not in page
    image = ET.fromstring(badge_of(found).encode("utf-8", "strict"))
    assert {element.tag.rpartition("}")[2] for element in image.iter()} <= {
        "svg", "title", "rect", "g", "text",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("link", "kept"),
    [
        ("./a/report.html", True),
        ("../b/report.html", True),
        ("javascript:alert(1)", False),
        ("./javascript:alert(1)", False),
        ("//e.invalid/x", False),
        ("https://e.invalid", False),
    ],
)
def test_only_files_beside_the_page_are_linked(link: str, kept: bool) -> None:
    run = history_row(series()[0], start_unix_s=0.0, day="2027-01-01", report=link)
    assert to_report(run).link == (link if kept else "")


@pytest.mark.parametrize(("factor", "sign"), [(16, "▼"), (None, "")])
def test_the_badge_says_level_and_change(factor: int | None, sign: str) -> None:
    text = badge_of(made(change_at=factor))
    assert "throughput" in text
    assert sign in text
    assert "http" not in text.replace("http://www.w3.org/2000/svg", "")


@pytest.mark.parametrize("part", ["groups", "left_out", "unreadable", "badge"])
def test_a_missing_part_breaks_nothing(part: str) -> None:
    found = made()
    del found["history"][part]
    assert "<h1" in page_of(found)
    assert "<svg" in badge_of(found)
