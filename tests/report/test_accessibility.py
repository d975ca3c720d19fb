"""No page breaks a rule of axe-core, the checker of accessibility that browsers' tools use."""

import json
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path

import pytest

from benchmarks.browser import Browser
from perfscope.watch.blocks import Block
from perfscope.watch.page import write as write_live
from tests.report import sample_document
from tests.report.test_page_in_browser import OPEN_ALL
from tests.support.environments import REPOSITORY
from tests.support.requirements import missing
from tests.support.study_pages import page_of

RUN = """axe.run(document, {resultTypes: ['violations'], preload: false}).then(found =>
  JSON.stringify(found.violations.map(one => [one.id, one.nodes.slice(0, 3).map(n => n.html)])))"""
WATCHED = [
    Block("", ["trace: mpirun -n 2 python train.py", "2 ranks on 1 host, running, 3 min 12 s"]),
    Block(
        "Stalled", ["No rank has begun or finished a call, phase or step for 116 s."], is_loud=True
    ),
    Block(
        "Ranks",
        heads=("rank", "now", "for", "line", "step", "memory"),
        rows=[("0", "MPI_Allreduce #300 on MPI_COMM_WORLD", "9 s", "main (a.py:1)", "1", "9 MiB")],
    ),
]
STUDIES = ("ranks_and_threads", "sgan_from_first_to_last", "trainer_evaluates_more_often")


@pytest.fixture(scope="module")
def checker() -> str:
    """The script of axe-core."""
    found = find_spec("axe_core_python")
    if found is None or not found.submodule_search_locations:
        missing("axe-core-python")
    return Path(found.submodule_search_locations[0], "axe.min.js").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Reports of few and of many ranks and of nothing, and a study of each kind that is kept."""
    folder = tmp_path_factory.mktemp("pages")
    found = {}
    for name in ("two_ranks", "thousand_ranks", "null"):
        found[name] = folder / f"{name}.html"
        found[name].write_text(sample_document.sample_page(name), encoding="utf-8")
    for name in STUDIES:
        kept = REPOSITORY / "reports" / "studies" / name / "study.json"
        found[name] = folder / f"{name}.html"
        page = page_of(json.loads(kept.read_text(encoding="utf-8")))
        found[name].write_text(page, encoding="utf-8")
    found["watch"] = folder / "watch.html"
    write_live(WATCHED, found["watch"], source="trace", refresh_s=None)
    return found


@pytest.mark.parametrize(("width", "dark"), [(1280, False), (390, True)])
@pytest.mark.parametrize("name", ["two_ranks", "thousand_ranks", "null", *STUDIES, "watch"])
def test_no_rule_is_broken(
    window: Browser, pages: dict[str, Path], checker: str, name: str, width: int, dark: bool
) -> None:
    assert broken(window, pages[name], checker, width=width, dark=dark) == []


@pytest.mark.parametrize("width", [1280, 390])
def test_blocks_of_a_running_job_stand_below_each_other(
    window: Browser, pages: dict[str, Path], width: int
) -> None:
    window.open(pages["watch"], width=width)
    boxes = window.run(
        "[...document.querySelectorAll('section, section *')].map(one => one.closest('.scroll') && "
        "!one.matches('.scroll') ? null : one.getBoundingClientRect().toJSON())"
    )
    assert all(box["right"] <= width for box in boxes if box)
    sections = window.run(
        "[...document.querySelectorAll('section')].map(one => one.getBoundingClientRect().toJSON())"
    )
    for above, below in pairwise(sections):
        assert above["bottom"] <= below["top"]


def test_a_broken_rule_is_seen(window: Browser, pages: dict[str, Path], checker: str) -> None:
    window.open(pages["two_ranks"])
    window.run("document.body.append(document.createElement('img'))")
    window.run(checker)
    assert "image-alt" in str(told(window))


def broken(
    window: Browser, page: Path, checker: str, *, width: int, dark: bool
) -> list[tuple[str, list[str]]]:
    window.open(page, width=width, dark=dark)
    window.run(OPEN_ALL)
    window.run(checker)
    return told(window)


def told(window: Browser) -> list[tuple[str, list[str]]]:
    """The rules that are broken now, each with the elements that do."""
    answer = window.page("Runtime.evaluate", expression=RUN, awaitPromise=True, returnByValue=True)
    found: list[tuple[str, list[str]]] = json.loads(answer["result"]["value"])
    return found
