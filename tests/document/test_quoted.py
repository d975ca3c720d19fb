"""The source of the line that a finding names, and how often samples saw it."""

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from perfscope.document.quoted import seen, source_line
from perfscope.findings.core.finding import Finding
from perfscope.findings.facts.facts import Facts
from perfscope.schema.enums import Status
from perfscope.schema.findings import Seen
from perfscope.trace.model import Format, Frame, Trace
from tests.findings.analyzed import analyze_trace
from tests.support.trace_builder import TraceBuilder

SOURCE = """
class Loader:
    def read(self, place):
        values = [
            self.parse(row)   for row in place
        ]
        return open("x", headers={"Authorization": "Bearer abcdef0123456789abcdef"})


TOTAL = sum(range(9))
"""
STARTED_S = 2_000_000_000


def found_at(path: Path, function: str, line: int) -> Finding:
    where = (Frame(function, str(path), line),)
    return Finding(Status.FAIL, "It is slow", "", ranks=(1,), where=where)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    place = tmp_path / "loader.py"
    place.write_text(SOURCE, encoding="utf-8")
    os.utime(place, (STARTED_S - 60, STARTED_S - 60))
    return place


def trace(**changes: Any) -> Trace:
    made = TraceBuilder(2, end_s=2.0).build()
    return replace(
        made, **{"origin_unix_ns": STARTED_S * 10**9, "format": Format.PERFSCOPE, **changes}
    )


@pytest.mark.parametrize(
    ("function", "line", "told"),
    [
        ("Loader.read", 5, "self.parse(row) for row in place"),
        ("Loader.read.<locals>.<listcomp>", 5, "self.parse(row) for row in place"),
        ("read", 4, "values = ["),
        ("<module>", 10, "TOTAL = sum(range(9))"),
        ("Loader.write", 5, ""),
        ("Loader.read", 10, ""),
        ("<module>", 99, ""),
        ("<module>", 0, ""),
    ],
)
def test_a_line_is_quoted_where_its_function_is(
    path: Path, function: str, line: int, told: str
) -> None:
    assert source_line(found_at(path, function, line), trace()) == told


def test_no_secret_is_quoted(path: Path) -> None:
    quoted = source_line(found_at(path, "Loader.read", 7), trace())
    assert quoted.startswith("return open(")
    assert "abcdef" not in quoted


def test_a_file_that_is_younger_than_the_run_is_not_what_ran(path: Path) -> None:
    assert source_line(found_at(path, "read", 4), trace())
    os.utime(path, (STARTED_S + 1, STARTED_S + 1))
    assert source_line(found_at(path, "read", 4), trace()) == ""


def test_only_sources_of_own_recordings_are_read(path: Path) -> None:
    there = found_at(path, "read", 4)
    assert source_line(there, trace(format=Format.OTF2)) == ""
    assert source_line(replace(there, where=()), trace()) == ""
    for other in (path.with_name("gone.py"), Path("loader.py"), path.with_suffix(".txt")):
        assert source_line(found_at(other, "read", 4), trace()) == ""
    for content in (b"def read(", b"\xff\xfe", b"x = 1\x00"):
        path.write_bytes(content)
        os.utime(path, (STARTED_S - 60, STARTED_S - 60))
        assert source_line(found_at(path, "<module>", 1), trace()) == ""


def test_samples_in_the_line_are_counted_on_the_ranks_of_the_finding() -> None:
    builder = TraceBuilder(2, end_s=4.0)
    for number in range(2):
        rank = builder.rank(number).init(1.0).finalize(3.0)
        for sample in range(10):
            line = 20 if sample < 3 + number else 21
            rank.stack(1.1 + 0.1 * sample, (("main", "/home/me/train.py", line),))
    found = analyze_trace(builder.build())
    run = Facts(found.results, found.replay)
    there = found_at(Path("/home/me/train.py"), "main", 20)
    assert seen(run, there) == Seen(4, 10)
    assert seen(run, replace(there, ranks=(0, 1))) == Seen(7, 20)
    assert seen(run, found_at(Path("/home/me/train.py"), "main", 7)) is None
    assert seen(run, replace(there, where=())) is None
