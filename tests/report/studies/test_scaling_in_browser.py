"""A scaling study's page as a browser shows it."""

from pathlib import Path

import pytest

from benchmarks.browser import Browser
from tests.report.studies.test_scaling_page import document
from tests.report.test_page_in_browser import LOW_CONTRAST, OPEN_ALL, WIDE_ELEMENTS
from tests.support.environments import REPOSITORY
from tests.support.study_pages import page_of

SCROLLED = """[...document.querySelectorAll(".scroll")]
  .filter(box => box.scrollWidth > box.clientWidth + 1)
  .map(box => (box.querySelector("table") || box).id)"""


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of a series with findings."""
    path = tmp_path_factory.mktemp("study") / "study.html"
    path.write_text(page_of(document()), encoding="utf-8")
    return path


def test_asks_for_nothing_but_itself_and_reports_no_error(window: Browser, page: Path) -> None:
    window.open(page)
    asked = [event["request"]["url"] for event in window.seen("Network.requestWillBeSent")]
    assert [url for url in asked if not url.startswith("data:")] == [page.as_uri()]
    for kind in ("Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded"):
        assert window.seen(kind) == []


@pytest.mark.parametrize("width", [360, 390, 1280])
def test_never_scrolls_sideways(window: Browser, page: Path, width: int) -> None:
    window.open(page, width=width)
    window.run(OPEN_ALL)
    assert window.run(WIDE_ELEMENTS) == []
    assert window.run("document.documentElement.scrollWidth <= innerWidth") is True


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_every_text_has_enough_contrast(window: Browser, page: Path, dark: bool) -> None:
    window.open(page, dark=dark)
    window.run(OPEN_ALL)
    found = window.run(LOW_CONTRAST)
    assert found["failures"] == []
    assert found["seen"] > 150


def test_no_table_of_a_kept_study_has_to_be_scrolled_on_a_desktop(window: Browser) -> None:
    for kept in sorted(REPOSITORY.glob("reports/studies/*/study.html")):
        window.open(kept, width=1280)
        window.run(OPEN_ALL)
        assert window.run(SCROLLED) == [], kept.parent.name
