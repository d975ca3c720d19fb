"""The page as a whole: its policy, its structure, its size, and the same bytes every time."""

import base64
import copy
import hashlib
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from perfscope.report import build
from perfscope.report.build import build_html, write_report
from perfscope.report.sections import ORDER
from perfscope.schema.read import read_known
from tests.report.page_outline import Outline, without_own
from tests.report.sample_document import ALL, everything_null, sample_page, two_ranks_evaluation

SCRIPT = "".join(map(build.asset, (*build.SCRIPTS, *build.TIMELINE)))
MOST_BYTES = {"null": 150_000, "thousand_ranks": 1_500_000}


@pytest.mark.parametrize("name", ALL)
def test_policy_allows_only_the_own_style_and_script(name: str) -> None:
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', sample_page(name))
    style = re.search(r"<style>(.*?)</style>", sample_page(name), re.DOTALL)
    (script,) = re.findall(r"<script>(.*?)</script>", sample_page(name), re.DOTALL)
    assert policy is not None
    assert style is not None
    assert script == SCRIPT
    assert policy[1].replace("&#39;", "'") == (
        f"default-src 'none'; style-src {source(style[1])}; script-src {source(script)}; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )


def source(content: str) -> str:
    digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
    return f"'sha256-{digest}'"


@pytest.mark.parametrize("name", ALL)
def test_structure_is_sound(name: str) -> None:
    outline = Outline(sample_page(name))
    assert len(outline.ids) == len(set(outline.ids))
    assert set(outline.targets) <= set(outline.ids)
    assert outline.unclosed == []
    assert outline.headings[0] == 1
    assert outline.headings.count(1) == 1
    steps = zip(outline.headings, outline.headings[1:], strict=False)
    assert all(deeper - level <= 1 for level, deeper in steps)
    assert all(table["caption"] and table["scopes"] for table in outline.tables)
    assert "style" not in outline.attributes  # the policy forbids it
    assert not outline.tags & {"img", "iframe", "object", "embed", "form"}
    assert sample_page(name).count("<script") == 1


def test_sections_come_in_the_stated_order() -> None:
    found = re.findall(r'<section id="([^"]+)"', sample_page("two_ranks"))
    assert tuple(found) == ORDER


@pytest.mark.parametrize(("name", "most"), MOST_BYTES.items())
def test_page_stays_small(name: str, most: int) -> None:
    assert len(sample_page(name).encode()) <= most


def test_first_screen_says_what_matters() -> None:
    shown = sample_page("two_ranks").replace("\xa0", " ")
    overview = shown[shown.index('<section id="overview"') : shown.index('<section id="findings"')]
    for expected in (
        "Rank 0 evaluates alone in evaluate()",
        "samples/s",
        "load balance 0.819 × communication efficiency 0.957",
        "train_numpy.py:96",
        "Split evaluation across all ranks",
        "Fixing both would save about 1.53 s",
        "Mostly: the cause",
        "checks did not pass</a>",
    ):
        assert expected in overview
    # the verdict says what is first: it stands there once
    assert overview.count("Rank 0 evaluates alone") == 1
    assert overview.count("First action") == 2


def test_same_document_gives_the_same_bytes_in_every_process() -> None:
    script = (
        "from tests.report.sample_document import two_ranks_evaluation as d;"
        "from perfscope.report.build import build_html;"
        "from perfscope.schema.read import read_known;"
        "import hashlib; print(hashlib.sha256(build_html(read_known(d())).encode()).hexdigest())"
    )
    digests = {
        subprocess.run(
            [sys.executable, "-c", script],
            env=os.environ | {"PYTHONHASHSEED": seed, "PYTHONPATH": str(Path(__file__).parents[2])},
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        for seed in ("1", "2")
    }
    own = hashlib.sha256(sample_page("two_ranks").encode()).hexdigest()
    assert {digest.strip() for digest in digests} == {own}


def test_document_is_left_as_it_was() -> None:
    document = two_ranks_evaluation()
    before = copy.deepcopy(document)
    build_html(read_known(document))
    assert document == before


def test_hostile_texts_are_shown_and_never_markup() -> None:
    hostile = sample_page("hostile")
    assert "&lt;script&gt;window.pwned=1" in hostile
    assert "<script" not in without_own(hostile)
    assert "onerror=&#34;" in hostile
    assert 'onerror="' not in hostile
    assert "{{ 7 * 7 }}" in hostile
    assert not any(c in hostile for c in "\x00\x07\x1b\u202e\u2066\u200f\ud800")
    assert "\\u202e" in hostile
    assert "x" * 1001 not in hostile
    assert "user:secret@" in hostile
    assert 'href="https://user' not in hostile


def test_an_empty_document_still_makes_a_page() -> None:
    assert "There is no verdict on this run." in build_html(read_known({}))


def test_report_replaces_the_file_at_once(tmp_path: Path) -> None:
    path = tmp_path / "report with ö.html"
    path.write_text("old", encoding="utf-8")
    write_report(read_known(everything_null()), path)
    assert path.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    assert list(tmp_path.iterdir()) == [path]
