"""A study says the same on its page, in the terminal, in Markdown and in study.json."""

import html
import json
import re
from collections.abc import Callable
from functools import cache
from typing import Any

import pytest

from perfscope.report.studies.recommended import recommended
from perfscope.report.terminal import PLAIN
from perfscope.schema.read import known
from perfscope.schema.study import Study
from perfscope.schema.write import as_json
from perfscope.studies.common.document import build
from perfscope.studies.history.labels import how_measured, verdict
from perfscope.units import format_change, format_ratio
from tests.report.page_numbers import numbers, said, unknown
from tests.report.studies import test_compare_page, test_scaling_page, test_sweep_page
from tests.report.test_consistency import BRITISH, DUST, NO_FACTS, ONE_OF_MANY, texts_of
from tests.studies.history import test_history
from tests.support.environments import REPOSITORY
from tests.support.study_pages import badge_of, markdown_of, page_of, printed
from tests.support.study_runs import history_row

Json = dict[str, Any]
KEPT = {path.parent.name: path for path in sorted(REPOSITORY.glob("reports/studies/*/study.json"))}


def history() -> Json:
    runs = test_history.series()
    found = test_history.made(runs)
    rows = [history_row(run, start_unix_s=1.8e9, day="2027-01-15", report=None) for run in runs]
    measured = how_measured(found)
    made = build("history", rows, verdict=verdict(found), body=found, how_measured=measured)
    return as_json(made)


STUDIES: dict[str, Callable[[], Json]] = {
    "scaling": test_scaling_page.document,
    "compare": test_compare_page.made,
    "history": history,
    "sweep": test_sweep_page.two_variables,
}
NAMES = [*STUDIES, *KEPT]


@cache
def study(name: str) -> Json:
    """One that was made here, or a real one that is kept in the repository."""
    found: Json = STUDIES[name]() if name in STUDIES else json.loads(KEPT[name].read_text())
    return found


def words(text: str) -> str:
    return re.sub(r"\s+", " ", text)


@cache
def page(name: str) -> str:
    document = study(name)
    body = re.sub(r"<(script|style)\b.*?</\1>", " ", page_of(document), flags=re.DOTALL)
    return words(html.unescape(re.sub(r"<[^>]*>", "", body)))


@cache
def terminal(name: str) -> str:
    return words(printed(study(name), 2000))


@pytest.mark.parametrize("name", NAMES)
def test_the_verdict_is_told_in_the_same_words(name: str) -> None:
    document = study(name)
    sentence = words(document["verdict"]["sentence"])
    assert sentence in page(name)
    assert sentence.translate(PLAIN) in terminal(name)
    if document["kind"] == "compare":
        plain = markdown_of(document).replace("\\", "")
        assert sentence in words(html.unescape(plain))


@pytest.mark.parametrize("name", NAMES)
def test_what_is_recommended_is_told_on_page_and_terminal_alike(name: str) -> None:
    for sentence in recommended(known(study(name), Study)):
        assert words(sentence) in page(name)
        assert words(sentence).translate(PLAIN) in terminal(name)


@pytest.mark.parametrize("name", NAMES)
def test_every_number_of_page_and_terminal_is_one_of_the_document(name: str) -> None:
    """What is recommended is worked out in one place, which the test above holds to both."""
    document = study(name)
    shown = printed(document, 400).replace(" us", " µs").replace("..", " to ")
    texts = [*said(page_of(document)), *shown.splitlines()]
    worked_out = recommended(known(document, Study))
    assert unknown(texts, document, *NO_FACTS, "0.0001", *worked_out) == []


@pytest.mark.parametrize("name", NAMES)
def test_a_narrow_terminal_says_every_number(name: str) -> None:
    narrow = printed(study(name), 40)
    assert max(map(len, narrow.splitlines())) <= 40
    assert {*numbers(words(printed(study(name), 2000)))} <= {*numbers(words(narrow))}


@pytest.mark.parametrize("name", NAMES)
def test_no_dust_no_plural_of_one_and_one_spelling(name: str) -> None:
    texts = (*texts_of(page_of(study(name))), *printed(study(name), 2000).splitlines())
    for wrong in (DUST, ONE_OF_MANY, BRITISH, re.compile(r"\d%")):
        assert [text for text in texts if wrong.search(text)] == []


@pytest.mark.parametrize("name", NAMES)
def test_findings_have_one_title_everywhere(name: str) -> None:
    document = study(name)
    for finding in document["findings"]:
        if finding["status"] in {"fail", "warn"}:
            assert words(finding["title"]) in page(name)
            assert words(finding["title"]).translate(PLAIN) in terminal(name)


def figures(document: Json) -> list[str]:
    """What a study found, as people read it."""
    kind = document["kind"]
    if kind == "scaling":
        table = {row["id"]: row["values"] for row in document["scaling"]["pop"]["rows"]}
        told = [value["value"] for value in table["parallel_efficiency"]]
        told += [point["efficiency"] for point in document["scaling"]["points"]]
        return [format_ratio(value) for value in told if value is not None]
    if kind == "compare":
        rows = document["compare"]["comparisons"]
        return [format_change(row["ratio"]) for row in rows if row["ratio"] is not None]
    return []


@pytest.mark.parametrize("name", NAMES)
def test_figures_are_the_same_everywhere(name: str) -> None:
    document = study(name)
    for figure in figures(document):
        assert figure in page(name)
        assert figure in terminal(name)
        assert document["kind"] != "compare" or figure in markdown_of(document)


def test_the_badge_tells_the_change_of_the_verdict() -> None:
    name, document = "history", study("history")
    level, _, change = document["history"]["badge"]["text"].partition(" (")
    for text in (document["verdict"]["sentence"], page(name), terminal(name)):
        assert level in text
        assert change.rstrip(")") in text
    assert level in badge_of(document)
