"""The page and the terminal of a study, whatever its kind."""

import re
from typing import Any

import pytest

from perfscope.schema.enums import Status
from perfscope.schema.history import History
from perfscope.schema.read import known
from perfscope.schema.write import as_json
from perfscope.studies.common.document import build
from perfscope.studies.findings.catalog import StudyDiagnosis, StudyFinding, diagnoses, judge_study
from tests.report.page_outline import without_own
from tests.support.study_pages import page_of, printed
from tests.support.study_runs import made_run

NO_HISTORY = known({"factor": 1.02}, History)
HOSTILE = "<script>alert(1)</script>\x1b[31m"


def document(**changes: Any) -> dict[str, Any]:
    """A study of two runs with one finding of each status that is shown."""
    runs = [made_run(f"{ranks} ranks", focus_s=2.0, work_s=[1.0] * ranks) for ranks in (1, 2)]
    finding = StudyFinding(
        Status.FAIL,
        "Something grows",
        "It grows.",
        actions=("Stop it.",),
        runs=("2 ranks",),
        id="late",
    )
    built = build(
        "history", runs, verdict=("fail", "It grows."), body=NO_HISTORY, findings=[finding]
    )
    return as_json(built) | changes


def test_the_page_is_the_same_every_time_and_loads_nothing() -> None:
    page = page_of(document())
    assert page == page_of(document())
    assert "default-src &#39;none&#39;" in page
    found = without_own(page)
    assert not re.search(r"<script|\son[a-z]+=|javascript:|https?://(?!www\.w3\.org)", found)
    assert "Something grows" in page
    assert page.count("<h1") == 1


def test_text_of_runs_is_never_markup() -> None:
    hostile = made_run(HOSTILE, focus_s=1.0, work_s=[1.0])
    shown = as_json(build("history", [hostile], verdict=("info", HOSTILE), body=NO_HISTORY))
    page = without_own(page_of(shown))
    assert "<script" not in page
    assert "\x1b" not in page
    assert "\x1b" not in printed(shown)


@pytest.mark.parametrize("part", ["runs", "findings", "how_measured", "verdict", "tool"])
def test_a_page_without_a_part_is_a_page(part: str) -> None:
    empty: Any = {} if part in {"verdict", "tool"} else []
    assert "<h1" in page_of(document(**{part: empty}))


def test_the_terminal_names_finding_action_and_verdict() -> None:
    shown = printed(document())
    for part in ("1. Problem: Something grows", "First action: Stop it.", "Verdict: It grows."):
        assert part in shown


def test_a_diagnosis_that_throws_becomes_an_error_row() -> None:
    def broken(_: object) -> StudyFinding:
        raise ValueError("no")

    [found] = judge_study("x", None, catalog=[StudyDiagnosis("b", "x", "Title", "", broken)])
    assert found.status is Status.ERROR
    assert found.row.scope == "study"


def test_diagnoses_are_of_one_kind() -> None:
    for kind in ("scaling", "sweep", "compare", "history"):
        assert {diagnosis.kind for diagnosis in diagnoses(kind)} <= {kind}
