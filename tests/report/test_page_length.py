"""How long a page is: an answer and a line for all that stands behind it, each one click away."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from benchmarks.browser import Browser
from perfscope.report.build import write_report
from perfscope.report.studies.build import write_page
from perfscope.schema.read import known, read_known
from perfscope.schema.study import Study
from tests.report.sample_document import (
    sample_page,
    thousand_ranks,
    two_ranks_evaluation,
    with_ranks,
)
from tests.report.test_hand_over import sheets
from tests.support.environments import REPOSITORY

MOST_TALLER = 416  # pixels: all rows of a timeline
MOST_SCREENS, MOST_WORDS, SCREEN, MOST_SHEETS = 6.0, 1200, 800, 2
WORDS = "document.body.innerText.split(/\\s+/).length"
HEIGHT = "document.documentElement.scrollHeight"
SHUT = """[...document.querySelectorAll('#findings article, main > section > details')]
  .filter(e => e.matches('[open]') || e.querySelector(':scope > details[open]')).length"""
OPENED = """(address => {{
  location.hash = address;
  return document.querySelector(address).checkVisibility();
}})('{0}')"""
TOGGLED = "new Promise(done => setTimeout(() => requestAnimationFrame(done), 50))"
SCROLLABLE = """[...document.querySelectorAll('.scroll')]
  .filter(e => e.scrollWidth > e.clientWidth).length"""
LINKS = (
    "[...document.querySelectorAll('nav a, .first a, .card a')].map(a => a.getAttribute('href'))"
)


def kept(path: Path) -> Callable[[], dict[str, Any]]:
    """What reads a kept document of a run or a study."""
    return lambda: json.loads(path.read_text(encoding="utf-8"))


def of_ranks(ranks: int) -> Callable[[], dict[str, Any]]:
    return lambda: with_ranks(two_ranks_evaluation(), ranks, hosts=2)


DOCUMENTS = {path.parent.name: kept(path) for path in REPOSITORY.glob("reports/**/*.json")} | {
    "two_ranks": two_ranks_evaluation,
    **{f"{ranks}_ranks": of_ranks(ranks) for ranks in (16, 64)},
    "thousand_ranks": thousand_ranks,
}


@pytest.mark.parametrize("name", sorted(DOCUMENTS))
def test_a_page_is_short_and_all_its_evidence_folded(
    window: Browser, name: str, tmp_path: Path
) -> None:
    page, document = tmp_path / f"{name}.html", DOCUMENTS[name]()
    if "run" in document:
        write_report(read_known(document), page)
    else:
        write_page(known(document, Study), page)
    window.open(page, height=SCREEN)
    assert window.run(WORDS) <= MOST_WORDS
    assert window.run(HEIGHT) <= MOST_SCREENS * SCREEN
    assert window.run(SHUT) == 0
    window.run("document.documentElement.classList.add('summary-only')")
    window.pdf(tmp_path / "summary.pdf")
    assert sheets(tmp_path / "summary.pdf") <= MOST_SHEETS


def test_a_link_unfolds_what_it_points_at(window: Browser, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    write_report(read_known(two_ranks_evaluation()), page)
    window.open(page)
    links = window.run(LINKS)
    assert {"#finding-rank_zero_evaluation", "#quality-evidence", "#memory-evidence"} <= set(links)
    assert all(window.run(OPENED.format(link)) for link in set(links))


def test_many_ranks_are_no_longer_than_two(window: Browser, tmp_path: Path) -> None:
    heights = []
    for name in ("two_ranks", "thousand_ranks"):
        (tmp_path / "page.html").write_text(sample_page(name), encoding="utf-8")
        window.open(tmp_path / "page.html", height=SCREEN)
        heights.append(window.run("document.querySelector('#timeline').scrollHeight"))
    assert heights[1] <= heights[0] + MOST_TALLER


def test_a_box_takes_a_tab_stop_only_to_be_scrolled(window: Browser, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    write_report(read_known(two_ranks_evaluation()), page)
    window.open(page, width=400)
    window.run("document.querySelectorAll('details').forEach(d => { d.open = true; })")
    window.page("Runtime.evaluate", expression=TOGGLED, awaitPromise=True)
    stops = window.run("[...document.querySelectorAll('.scroll[tabindex]')].length")
    assert 0 < stops == window.run(SCROLLABLE)


def test_a_finding_is_shown_on_the_timeline(window: Browser, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    document = two_ranks_evaluation()
    start = document["timeline"]["start_s"]
    document["findings"][0]["window_s"] = [start + 10.0, start + 12.0]
    write_report(read_known(document), page)
    window.open(page)
    window.run("document.querySelector('[data-window]').click()")
    window.page("Runtime.evaluate", expression=TOGGLED, awaitPromise=True)
    shown = window.run("document.querySelector('#timeline-window').textContent")
    low, high = (float(found) for found in re.findall(r"([\d.]+)\s(?=s\b)", shown)[:2])
    assert (low, high) == pytest.approx((start + 9.9, start + 12.1), abs=0.05)
