"""A table declared once says the same on the page, in a terminal and in Markdown."""

import csv
import io
import re
from pathlib import Path

import pytest
from markupsafe import escape
from rich.console import Console

from perfscope.report.build import HERE, contexts, environment_of
from perfscope.report.csv import as_csv, tables_in, write_tables
from perfscope.report.formats import seconds, signed
from perfscope.report.labels import status_word
from perfscope.report.studies import markdown
from perfscope.report.studies.terminal import print_table
from perfscope.report.table import Column, Kind, Note, Table
from perfscope.report.views import Place
from perfscope.schema.read import read_known
from perfscope.units import MISSING
from tests.report.sample_document import ALL
from tests.report.sample_hostile import HOSTILE_TEXTS

COLUMNS = (
    Column("Name", "name", kind=Kind.CODE, longest=40),
    Column("Time", "seconds", seconds, note=Note(lambda row: row.get("range"), is_everywhere=True)),
    Column("Outcome", lambda row: status_word(row.get("status")), kind=Kind.SIGN),
    Column("Where", lambda row: Place(row.get("function", ""), "a.py:3"), kind=Kind.PLACE),
    Column("Efficiency", "efficiency", "{:.3f}".format, Kind.BAND),
)
ROW = {
    "name": "MPI_Allreduce",
    "seconds": 1.5,
    "range": "1 s to 2 s",
    "status": "warn",
    "function": "train",
    "efficiency": 0.7,
}


def table(*found: object, most: int | None = None) -> Table:
    return Table("made", "Made", COLUMNS, found, most, "operations", file="study.json")


def page(found: Table) -> str:
    template = '{% import "macros.html" as ui %}{{ ui.listing(found) }}'
    return environment_of(HERE / "templates").from_string(template).render(found=found)


def terminal(found: Table, *, width: int = 200) -> str:
    out = io.StringIO()
    print_table(found, Console(file=out, width=width))
    return out.getvalue()


def test_csv_holds_all_rows_numbers_as_they_are_and_no_formula() -> None:
    missing = {"name": "=1+1", "seconds": None, "status": "pass", "efficiency": None}
    head, first, last = csv.reader(io.StringIO(as_csv(table(ROW, missing, most=1))))
    assert head == ["Name", "Time [s]", "Outcome", "Where", "Efficiency"]
    assert first == ["MPI_Allreduce", "1.5", "Warning", "train (a.py:3)", "0.7"]
    assert last == ["'=1+1", "", "Passed", "function unknown (a.py:3)", ""]


def test_csv_has_the_unit_of_a_change() -> None:
    columns = (Column("Account", "name", kind=Kind.TEXT), Column("Change", "change_s", signed))
    found = Table("made", "Made", columns, [{"name": "Training", "change_s": -0.5}])
    head, line = csv.reader(io.StringIO(as_csv(found)))
    assert (head, line) == (["Account", "Change [s]"], ["Training", "-0.5"])


@pytest.mark.parametrize("name", sorted(ALL))
def test_every_table_of_a_page_has_a_file_of_its_own(name: str, tmp_path: Path) -> None:
    shown = contexts(read_known(ALL[name]()))
    texts = {(found.id, as_csv(found)) for found in tables_in(shown) if found}
    write_tables(shown, tmp_path / "new" / "tables")
    written = {(path.stem, path.read_text("utf-8")) for path in tmp_path.rglob("*.csv")}
    assert written == texts
    assert all(re.fullmatch(r"[\w-]+", identity) for identity, _ in texts)


def test_every_form_shows_every_cell() -> None:
    found = table(ROW)
    for shown in (page(found), terminal(found).replace("  ", " "), markdown.table(found)):
        for word in ("Name", "Allreduce", "1.50", "1 s to 2 s", "Warning", "train", "a.py:3"):
            assert word in shown.replace("\\", "").replace("\N{NO-BREAK SPACE}", " ")
        assert "0.700" in shown
    assert "worth a look" in page(found)


@pytest.mark.parametrize("row", [{}, {"seconds": None}, {"seconds": float("nan")}])
def test_a_missing_number_has_one_sign_everywhere(row: dict[str, object]) -> None:
    found = Table("t", "", COLUMNS[:2], [{"name": "a", **row}])
    assert f'<td class="n">{MISSING}</td>' in page(found)
    assert markdown.table(found).endswith(f"| a | {MISSING} |")
    assert terminal(found).split()[-1] == "-"  # the same sign as every terminal can show it


def test_a_zero_is_no_missing_number() -> None:
    assert table({**ROW, "seconds": 0}).cells[0][1].text == "0\u00a0s"


@pytest.mark.parametrize("text", HOSTILE_TEXTS)
def test_no_text_in_a_cell_or_a_head_is_markup(text: str) -> None:
    hostile = {"name": text, "range": text, "function": text}
    columns = (*COLUMNS, Column(text, "name", kind=Kind.TEXT))
    found = Table("t", text, columns, [hostile])
    shown = page(found)
    assert "<script" not in shown
    assert "<img" not in shown
    assert str(escape(text)) in shown
    assert "\x1b" not in terminal(found)
    assert len(terminal(found, width=2000).splitlines()) <= 3
    lines = markdown.table(found).splitlines()
    assert len(lines) == 3
    bars = {len(re.findall(r"(?<!\\)\|", line)) for line in lines}
    assert bars == {len(columns) + 1}


def test_rows_beyond_the_limit_are_counted() -> None:
    found = table(*[ROW] * 1500, most=20)
    assert page(found).count('<th scope="row">') == 20
    assert "1,480 more operations are in study.json" in page(found)
    assert "1,480 more operations are in study.json" in terminal(found)
    assert len(markdown.table(found).splitlines()) == 22
    assert found.first(30).most == 20
    assert found.first(3).left_out == 1497


def test_an_empty_table_is_false_and_prints_nothing() -> None:
    found = table()
    assert not found
    assert terminal(found) == ""
    assert markdown.table(found) == ""
    assert "<td" not in page(found)


def test_columns_that_do_not_fit_follow_below_behind_the_first_one() -> None:
    columns = (Column("name", 0, kind=Kind.TEXT), Column("one", 1), Column("two", 2))
    shown = terminal(Table("t", "", columns, [("a", "1" * 9, "2" * 9)]), width=20)
    assert [line.split() for line in shown.splitlines() if line.strip()] == [
        ["name", "one"],
        ["a", "1" * 9],
        ["name", "two"],
        ["a", "2" * 9],
    ]
    assert max(map(len, shown.splitlines())) <= 20


def test_a_row_that_is_too_short_has_missing_cells() -> None:
    columns = (Column("name", 0, kind=Kind.TEXT), Column("one", 1))
    assert Table("t", "", columns, [("a",)]).cells[0][1].text == MISSING


def test_what_is_not_there_is_said_in_the_words_of_its_column() -> None:
    columns = (
        Column("Line", "line", kind=Kind.TEXT),
        Column("In", "place", kind=Kind.PLACE, absent="the line itself"),
        Column("Value", "value", kind=Kind.CODE, absent="not set"),
    )
    found = Table("t", "", columns, [{"line": "a.py:3"}])
    for shown in (page(found), terminal(found), markdown.table(found)):
        assert "the line itself" in shown
        assert "not set" in shown
    assert "<code>" not in page(found)
