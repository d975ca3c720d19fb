"""The page and the terminal of a scaling study."""

import copy
import html
import re
from typing import Any

import pytest

from perfscope.schema.write import as_json
from perfscope.studies.common.document import build
from perfscope.studies.common.external import External
from perfscope.studies.findings.catalog import judge_study
from perfscope.studies.scaling import document as scaling_document
from perfscope.studies.scaling.scaling import scaling
from tests.report.page_outline import Outline
from tests.support.scaling_series import trained
from tests.support.study_pages import page_of, printed

HOSTILE = "<img src=x onerror=alert(1)>\x1b[2J"


def document(sizes: tuple[int, ...] = (1, 2, 4, 8, 16, 32), label: str = "paper") -> dict[str, Any]:
    study = scaling(trained(sizes, evaluation=lambda p: 1.0 * p, evaluations=lambda p: 5 * p))
    findings = judge_study("scaling", study)
    external = External(label, "paper.csv", (1.0, 8.0), time_s=(50.0, 9.0))
    made = build(
        "scaling",
        study.runs,
        verdict=scaling_document.verdict(study, findings),
        body=scaling_document.body(study, [external]),
        findings=findings,
        how_measured=scaling_document.HOW,
    )
    return as_json(made)


def test_the_page_holds_every_section_in_order() -> None:
    page = page_of(document())
    sections = re.findall(r'<section id="([a-z]+)"', page)
    assert sections == [
        "overview", "speedup", "pop", "phases", "composition", "laws", "findings", "runs", "method",
    ]  # fmt: skip
    assert page.count('<svg class="chart"') == 4
    assert "extrapolated" in page
    assert "paper.csv" in page


def test_a_phase_that_is_short_at_first_may_scale_worst() -> None:
    """2 s of 100 s that stay as long are 2 s of 8.1 s on 16 ranks."""
    study = scaling(trained((1, 2, 4, 8, 16), evaluation=lambda _: 2.0))
    part = next(one for one in study.phases if one.id != "communication" and "valuat" in one.label)
    assert part.values[-1].efficiency == pytest.approx(1 / 16)
    made = build(
        "scaling",
        study.runs,
        verdict=scaling_document.verdict(study, []),
        body=scaling_document.body(study, []),
        findings=[],
        how_measured=scaling_document.HOW,
    )
    assert f"{part.label} scales worst: efficiency 0.062 with 16 ranks" in page_of(as_json(made))


def test_bands_are_told_by_a_sign_and_a_word_besides_color() -> None:
    page = page_of(document())
    cells = re.findall(r'<td class="n band (\w+)"[^>]*>(.*?)</td>', page)
    assert {style for style, _ in cells} == {"pass", "warn", "fail"}
    for style, inner in cells:
        sign, word = {"pass": ("✓", "good"), "warn": ("!", "worth"), "fail": ("✕", "poor")}[style]
        assert sign in inner
        assert word in inner


def test_the_page_is_well_formed_and_ids_are_unique() -> None:
    page = page_of(document())
    outline = Outline(page)
    assert outline.unclosed == []
    assert len(outline.ids) == len(set(outline.ids))
    assert set(outline.targets) <= set(outline.ids)
    assert all(table["caption"] and table["scopes"] for table in outline.tables)


@pytest.mark.parametrize(
    ("commands", "told"),
    [
        (
            [("mpirun", "-n", "1", "a b.py"), ("mpirun", "-n", "4", "a b.py")],
            "mpirun -n … 'a b.py'",
        ),
        ([("python", "a.py"), ("python", "a.py")], "python a.py"),
        ([("python", "a.py"), ("python", "a.py", "--fast")], ""),
        ([("a",), ("b",)], ""),
        ([(), ("b",)], ""),
        ([(), ()], ""),
    ],
)
def test_the_command_stands_first_as_far_as_the_runs_have_it_in_common(
    commands: list[tuple[str, ...]], told: str
) -> None:
    made = document((1, 4))
    for run, words in zip(made["runs"], commands, strict=True):
        run["command"] = list(words)
    shown = re.search(r'<p class="command">.*?<code>(.*?) ?</code>', page_of(made))
    plain = re.sub(r"<[^>]*>", "", shown.group(1)) if shown else ""
    assert html.unescape(plain) == told


@pytest.mark.parametrize("sizes", [(4,), (1, 2), (1, 2, 4)])
def test_few_sizes_give_a_page_with_reasons(sizes: tuple[int, ...]) -> None:
    page = page_of(document(sizes))
    assert "needs runs of" in page
    assert "needs runs of" in printed(document(sizes)) or len(sizes) > 2


def test_text_of_others_is_never_markup() -> None:
    shown = document(label=HOSTILE)
    shown["runs"][0]["label"] = HOSTILE
    shown["scaling"]["parts"][1]["label"] = HOSTILE
    shown["scaling"]["notes"] = [HOSTILE]
    assert "<img" not in page_of(shown)
    assert "\x1b" not in page_of(shown)
    assert "\x1b" not in printed(shown)


@pytest.mark.parametrize(
    "part", ["points", "parts", "pop", "composition", "superlinear", "external"]
)
def test_a_document_without_a_part_is_a_page(part: str) -> None:
    shown = copy.deepcopy(document())
    del shown["scaling"][part]
    assert "<h1" in page_of(shown)


def test_the_terminal_shows_time_throughput_factors_and_findings() -> None:
    shown = printed(document())
    for text in (
        "Strong scaling",
        "Axis: ranks",
        "samples/s",
        "Global efficiency",
        "Load balance",
        "Amdahl's law: serial share",
        "extrapolated to 64 ranks",
        "Rank 0 evaluates 32 times as often",
    ):
        assert text in shown, text
    assert all(len(line) <= 100 for line in shown.splitlines())
    assert all(len(line) <= 60 for line in printed(document(), 60).splitlines())
