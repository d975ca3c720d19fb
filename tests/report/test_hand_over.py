"""What a page gives away: its tables sorted and copied, its document, another theme, paper."""

import base64
import csv
import io
import json
import re
import zlib
from pathlib import Path

import pytest

from benchmarks.browser import Browser
from perfscope.report import build
from perfscope.report.build import build_html, write_report
from perfscope.report.formats import seconds
from perfscope.report.table import Column, Kind, Table
from perfscope.report.text import shortened
from perfscope.schema.read import read_known
from perfscope.schema.write import as_json, document_text
from tests.report.page_outline import HELD
from tests.report.sample_document import sample_page, two_ranks_evaluation
from tests.report.sample_hostile import HOSTILE_TEXTS
from tests.support.environments import REPOSITORY
from tests.support.study_pages import page_of

SAMPLES = sorted(REPOSITORY.glob("reports/*/analysis.json"))
STUDIES = sorted(REPOSITORY.glob("reports/studies/*/study.json"))
CAUGHT = """URL.createObjectURL = blob => { window.blob = blob; return '#'; };
  Object.defineProperty(navigator, 'clipboard', {value:
    {writeText: text => { window.copied = text; return Promise.resolve(); }}});
  window.print = () => { window.printed = document.documentElement.className; }; 0"""
SAVED = """(async () => {
  document.querySelector('[data-do=save]').click();
  while (!window.blob) await new Promise(done => setTimeout(done, 5));
  return window.blob.text();
})()"""
COLORS = "getComputedStyle(document.body).backgroundColor"
DARK = "rgb(15, 18, 23)"


@pytest.fixture
def page(window: Browser, tmp_path: Path) -> Browser:
    """The page of two ranks, whose clipboard, downloads and printer are caught."""
    write_report(read_known(two_ranks_evaluation()), tmp_path / "page.html")
    window.open(tmp_path / "page.html")
    window.run(CAUGHT)
    return window


def press(page: Browser, selector: str) -> None:
    page.run(f"document.querySelector({selector!r}).click()")


def held(page: str) -> str:
    found = HELD.search(page)
    assert found is not None
    return zlib.decompress(base64.b64decode(found[1])).decode("utf-8")


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: str(path.parent.name))
def test_a_page_holds_its_document_to_the_letter(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert held(build_html(read_known(json.loads(text)))) == text


@pytest.mark.parametrize("path", STUDIES, ids=lambda path: str(path.parent.name))
def test_a_study_does_so_too(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert held(page_of(json.loads(text))) == text


def test_the_button_saves_what_the_page_holds(page: Browser) -> None:
    answer = page.page("Runtime.evaluate", expression=SAVED, awaitPromise=True, returnByValue=True)
    wanted = document_text(as_json(read_known(two_ranks_evaluation())))
    assert answer["result"]["value"] == wanted


def test_a_large_document_stays_out_of_the_page() -> None:
    found = sample_page("thousand_ranks")
    assert HELD.search(found) is None
    assert "analysis.json included" not in found
    assert "Save analysis.json" not in found


@pytest.mark.parametrize("is_dark", [False, True], ids=["light", "dark"])
def test_the_other_theme_is_one_press_away_and_back(
    page: Browser, tmp_path: Path, *, is_dark: bool
) -> None:
    page.open(tmp_path / "page.html", dark=is_dark)
    seen = [page.run(COLORS)]
    for _ in range(2):
        press(page, "[data-do=theme]")
        seen.append(page.run(COLORS))
    assert [color == DARK for color in seen] == [is_dark, not is_dark, is_dark]


def test_paper_stays_white_in_the_dark_theme(page: Browser) -> None:
    press(page, "[data-do=theme]")
    page.page("Emulation.setEmulatedMedia", media="print")
    try:
        assert page.run("getComputedStyle(document.querySelector('h1')).color") == "rgb(23, 26, 33)"
    finally:
        page.page("Emulation.setEmulatedMedia", media="")


def test_a_summary_is_two_sheets_and_everything_is_more(page: Browser, tmp_path: Path) -> None:
    press(page, "[data-do=print-summary]")
    assert page.run("window.printed") == "summary-only"
    page.pdf(tmp_path / "summary.pdf")
    page.run("dispatchEvent(new Event('afterprint'))")
    press(page, "[data-do=print]")
    assert page.run("window.printed") == ""
    page.pdf(tmp_path / "all.pdf")
    assert sheets(tmp_path / "summary.pdf") <= 2 < sheets(tmp_path / "all.pdf")


def sheets(path: Path) -> int:
    return len(re.findall(rb"/Type\s*/Page\b", path.read_bytes()))


def shown_rows(page: Browser, table: str, column: int) -> list[str]:
    found: list[str] = page.run(
        f"[...document.querySelectorAll('#{table} tbody tr')]"
        f".map(row => row.cells[{column}].textContent.trim())"
    )
    return found


def made(path: Path, *rows: tuple[object, ...]) -> Path:
    """A page with one table: a name, and a time that is written in whatever unit is nice."""
    columns = (Column("Name", 0, kind=Kind.TEXT), Column("Time | taken", 1, seconds))
    table = Table("made", "Made", columns, rows)
    template = '{% import "macros.html" as ui %}<div>{{ ui.listing(found) }}</div>'
    body = build.environment_of(build.HERE / "templates").from_string(template).render(found=table)
    whole = build_html(read_known(two_ranks_evaluation()))
    page = re.sub(r"(?s)<main.*</main>", lambda _: body, whole)
    path.write_text(page, encoding="utf-8", errors="replace")
    return path


def test_a_table_is_sorted_by_numbers_not_by_how_they_are_written(
    window: Browser, tmp_path: Path
) -> None:
    rows = (("b", 2.0), ("a", 0.5), ("d", None), ("c", 90.0))
    window.open(made(tmp_path / "table.html", *rows))
    orders = []
    for _ in range(3):
        press(window, "#made th:nth-child(2) .sort")
        orders.append("".join(shown_rows(window, "made", 0)))
    assert orders == ["cbad", "abcd", "badc"]
    press(window, "#made th:nth-child(1) .sort")
    assert "".join(shown_rows(window, "made", 0)) == "abcd"
    assert window.run("document.querySelector('#made th').getAttribute('aria-sort')") == "ascending"


@pytest.mark.parametrize("name", [*HOSTILE_TEXTS, "=1+1", "+cmd|'/C'!A0", 'say "hi", she said'])
def test_a_copied_table_is_data_for_whoever_gets_it(
    window: Browser, tmp_path: Path, name: str
) -> None:
    window.open(made(tmp_path / "table.html", (shortened(name, 60), 0.0125)))
    window.run(CAUGHT)
    press(window, ".table-tools button:nth-child(1)")
    copied = window.run("window.copied")
    head, row = csv.reader(io.StringIO(copied))
    assert head == ["Name", "Time | taken [s]"]
    assert row[1] == "0.0125"
    assert not re.match(r"'*[\s\0]*[=+\-@]", row[0]) or row[0].startswith("'")
    press(window, ".table-tools button:nth-child(2)")
    lines = window.run("window.copied").splitlines()
    assert lines[0] == r"| Name | Time \| taken |"
    assert lines[1] == "| --- | ---: |"
    assert len(lines) == 3
    assert len(re.findall(r"(?<!\\)\|", lines[2])) == 3
    assert not re.search(r"(?<!\\)[<`\[]", lines[2])


def test_words_that_the_page_defines_are_explained_where_they_stand(page: Browser) -> None:
    terms = page.run(
        "[...document.querySelectorAll('.terms > div')]"
        ".map(pair => pair.querySelector('dd').textContent.trim())"
    )
    hints = page.run(
        "[...document.querySelectorAll('main dfn[title]')].filter("
        "word => !word.closest('.tiles')).map(word => word.title)"
    )
    assert hints
    assert set(hints) <= set(terms)


def test_what_is_to_be_typed_is_copied_as_it_stands(window: Browser, tmp_path: Path) -> None:
    document = two_ranks_evaluation()
    first = document["verdict"]["top"][0]
    row = next(one for one in document["findings"] if one["id"] == first)
    row["actions"] = [
        "Where `self.pools` grows, `export OMP_NUM_THREADS=1 MKL_NUM_THREADS=1` for 2 <ranks>."
    ]
    write_report(read_known(document), tmp_path / "page.html")
    window.open(tmp_path / "page.html")
    window.run(CAUGHT)
    press(window, ".first .copy-code")
    assert window.run("window.copied") == "export OMP_NUM_THREADS=1 MKL_NUM_THREADS=1"
    assert "for 2 <ranks>." in window.run("document.querySelector('.first').innerText")
