"""The page and the terminal of a sweep, with one, two, three and four variables."""

import itertools
import re
from dataclasses import replace
from html.parser import HTMLParser
from typing import Any

import pytest

from perfscope.schema.check import problems
from perfscope.schema.study import Study
from perfscope.sweep.study.model import measure
from perfscope.sweep.study.stored import Axis
from tests.report.page_outline import without_own
from tests.support.study_pages import page_of, printed
from tests.support.sweeps import (
    failed_run,
    judged,
    made_plan,
    made_sweep,
    made_sweep_run,
    one_and_two_ranks,
)

HOSTILE = "<script>alert(1)</script>\x1b[31m\u202e\"' onload=x"
THREADS = Axis("threads", "variable", ("1", "2", "4"))
RANKS = Axis("ranks", "variable", ("1", "2"))


def plain_text(page: str) -> str:
    body = re.sub(r"<style>.*?</style>", "", page, flags=re.DOTALL)
    return " ".join(re.sub(r"<[^>]+>", " ", body).split())


def attributes(page: str) -> list[str]:
    """The names of all attributes of a page."""
    names: list[str] = []

    class Reader(HTMLParser):
        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            names.extend(name for name, _ in attrs)

    Reader().feed(page)
    return names


def two_variables() -> dict[str, Any]:
    """Six cells: one best, one near it, two slower, one failed, one refused."""
    plan = made_plan([THREADS, RANKS], repeat=2, refused={("4", "2"): "8 threads on 4 CPUs"})
    speeds = {("1", "1"): 10.0, ("1", "2"): 20.0, ("2", "1"): 40.0, ("2", "2"): 39.9}
    runs = [
        made_sweep_run(plan, values, speed * (1 + 0.01 * repeat), repeat=repeat, quality=0.75)
        for values, speed in speeds.items()
        for repeat in (1, 2)
    ]
    failed = failed_run(plan, ("4", "1"), "out_of_memory", "out of memory (killed by SIGKILL)")
    return judged(measure(plan, [*runs, failed]))


def test_a_heat_map_says_in_words_what_its_colors_say() -> None:
    page = page_of(two_variables())
    cells = [
        plain_text(cell)
        for cell in re.findall(r"<td class=\"(?:heat|no-speed).*?</td>", page, re.DOTALL)
    ]
    assert len(cells) == 6
    assert sum("best" in cell for cell in cells) == 2
    assert cells[2].startswith("★ best 40.6")
    assert cells[3].startswith("≈ may be best 40.5")
    assert "accuracy 0.75" in cells[0]
    assert cells[4].startswith("✕ out of memory")
    assert cells[5].startswith("– not run 8 threads on 4 CPUs")
    shades = re.findall(r"<td class=\"heat-(\d)", page)
    assert shades == ["0", "2", "6", "6"]


def test_cells_and_rows_lead_to_the_reports_of_their_runs() -> None:
    document = two_variables()
    for place, run in enumerate(document["runs"]):
        run["report"] = f"./runs/{place}/report.html"
    page = page_of(document)
    of_first_cell = re.search(r'<td class="heat-0">.*?</td>', page, re.DOTALL)
    assert of_first_cell is not None
    assert 'href="./runs/0/report.html"' in of_first_cell[0]
    failed = re.search(r'<td class="no-speed failed">.*?</td>', page, re.DOTALL)
    assert failed is not None
    assert 'href="./runs/8/report.html"' in failed[0]
    assert all(page.count(f'href="./runs/{place}/report.html"') >= 1 for place in range(9))
    for run in document["runs"]:
        run["report"] = "javascript:alert(1)"
    assert "javascript:" not in page_of(document)


def test_the_page_is_the_same_every_time_and_loads_nothing() -> None:
    page = page_of(two_variables())
    assert page == page_of(two_variables())
    found = without_own(page)
    assert not re.search(r"<script|\son[a-z]+=|style=|javascript:|https?://(?!www\.w3\.org)", found)


@pytest.mark.parametrize("count", [0, 1, 2, 3, 4])
def test_every_number_of_variables_has_a_page(count: int) -> None:
    axes = [Axis(f"v{n}", "variable", ("1", "2")) for n in range(count)]
    points = list(itertools.product(*(axis.values for axis in axes)))
    document = judged(
        made_sweep(axes, {values: [10.0 + n, 10.5 + n] for n, values in enumerate(points)})
    )
    page = page_of(document)
    assert page.count('class="heat"') == {2: 1, 3: 2}.get(count, 0)
    assert ('id="speed-chart-title"' in page) == (count == 1)
    listed = page[page.index('<table id="configurations-table"') :]
    assert listed[: listed.index("</table>")].count('<th scope="row"') == len(points)
    shown = printed(document, 80)
    assert "fastest first" in shown
    assert max(map(len, shown.splitlines())) <= 80


@pytest.mark.parametrize("count", [1, 2, 3])
def test_hostile_names_and_values_are_text(count: int) -> None:
    axes = [Axis(HOSTILE + str(n), "variable", (HOSTILE, "{{ 7 * 7 }}", "")) for n in range(count)]
    points = list(itertools.product(*(axis.values for axis in axes)))
    plan = made_plan(axes)
    runs = [made_sweep_run(plan, values, 10.0 + n) for n, values in enumerate(points[1:])]
    document = judged(measure(plan, [*runs, failed_run(plan, points[0], HOSTILE, HOSTILE)]))
    page = without_own(page_of(document))
    assert "<script" not in page
    assert not [name for name in attributes(page) if name.startswith("on")]
    assert "\x1b" not in page + printed(document, 80)
    assert "\u202e" not in page + printed(document, 80)
    assert "49" not in re.findall(r"\{\{.{1,20}", plain_text(page))


def test_nothing_measured_is_said() -> None:
    for runs in ([], [failed_run(made_plan([THREADS]), ("1",), "killed", "killed by SIGSEGV")]):
        document = judged(measure(made_plan([THREADS]), runs))
        page = page_of(document)
        assert "fewer than two were measured" in page
        assert "Verdict" in printed(document, 80)


def test_where_none_is_the_best_page_and_terminal_say_why() -> None:
    plan = replace(made_plan([RANKS]), recording=("--stop-after", "9"))
    document = judged(measure(plan, one_and_two_ranks(plan)))
    page = plain_text(page_of(document))
    assert "No configuration is named the best: runs of different numbers of ranks" in page
    assert "because none is named the best" in page
    for word in ("★", "≈", "Larger is better", "fastest first"):
        assert word not in page
    shown = " ".join(printed(document, 80).split())
    assert "largest first" in shown
    assert "none is named the best" in shown
    assert " *" not in shown


def test_the_document_is_as_declared() -> None:
    assert list(problems(two_variables(), Study)) == []


def test_parts_that_are_missing_are_shown_as_missing() -> None:
    document = two_variables()
    for row in document["sweep"]["configurations"]:
        row |= {"factors": None, "speed_interval": None, "quality": None}
        del row["environment"]
    for part in ("why", "noise", "fabric", "objective"):
        del document["sweep"][part]
    assert "Same conditions?" in page_of(document)
    document["sweep"] = {}
    assert "Speed" in page_of(document)


def test_the_terminal_fits_and_marks_the_best() -> None:
    shown = printed(two_variables(), 80)
    assert "threads=2, ranks=1 *" in shown
    assert "threads=2, ranks=2 ~" in shown
    assert "threads=4, ranks=1: failed, out of memory" in shown
    assert "threads=4, ranks=2: not run, 8 threads on 4 CPUs" in shown


def test_text_of_another_type_is_no_traceback() -> None:
    plan = replace(made_plan([THREADS]), command=("a" * 5000,))
    document = judged(measure(plan, [made_sweep_run(plan, ("1",), 1e300)]))
    assert "study.json" in page_of(document)
