"""The source of the line that a finding names, and how often samples saw it."""

import os
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from perfscope.attribution.stack_rules import BUILT_IN
from perfscope.document.losses import losses
from perfscope.document.quoted import LONGEST_FILE, LONGEST_LINE, only_waits, seen, source_line
from perfscope.findings.core.finding import Finding
from perfscope.findings.facts.facts import Facts
from perfscope.schema.enums import LossKind, Status
from perfscope.schema.findings import Seen
from perfscope.trace.model import Format, Frame, RowFlag, Trace
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
STARTED_S = 1_600_000_000


def found_at(path: Path, function: str, line: int) -> Finding:
    where = (Frame(function, str(path), line),)
    return Finding(Status.FAIL, "It is slow", "", ranks=(1,), where=where)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    place = tmp_path / "loader.py"
    place.write_text(SOURCE, encoding="utf-8")
    os.utime(place, (STARTED_S - 60, STARTED_S - 60))
    return place


@pytest.fixture
def trace(tmp_path: Path) -> Callable[..., Trace]:
    return partial(trace_of, tmp_path)


def written(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    os.utime(path, (STARTED_S - 60, STARTED_S - 60))


def trace_of(directory: Path, **changes: Any) -> Trace:
    builder = TraceBuilder(2, end_s=2.0)
    builder.rank(1).set(metadata={"cwd": str(directory)})
    made = builder.build()
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
    path: Path, trace: Callable[..., Trace], function: str, line: int, told: str
) -> None:
    assert source_line(found_at(path, function, line), trace()) == told


def test_no_secret_is_quoted(path: Path, trace: Callable[..., Trace]) -> None:
    assert source_line(found_at(path, "Loader.read", 7), trace()) == (
        'return open("…", headers={"…": "…"})'
    )
    written(path, b"login(token=abcdef0123456789abcdef, user=me)")
    assert source_line(found_at(path, "<module>", 1), trace()) == (
        "login(token=[redacted], user=me)"
    )


def test_a_long_line_is_cut(path: Path, trace: Callable[..., Trace]) -> None:
    written(path, b"x = " + b"y + " * LONGEST_LINE + b"z")
    quoted = source_line(found_at(path, "<module>", 1), trace())
    assert len(quoted) == LONGEST_LINE
    assert quoted.endswith("…")


def test_a_byte_order_mark_is_no_part_of_the_source(
    path: Path, trace: Callable[..., Trace]
) -> None:
    written(path, b"\xef\xbb\xbfx = 1\n")
    assert source_line(found_at(path, "<module>", 1), trace()) == "x = 1"


def test_a_file_that_is_younger_than_the_run_is_not_what_ran(
    path: Path, trace: Callable[..., Trace]
) -> None:
    assert source_line(found_at(path, "read", 4), trace())
    os.utime(path, (STARTED_S + 1, STARTED_S + 1))
    assert source_line(found_at(path, "read", 4), trace()) == ""


def test_a_run_that_is_still_to_come_has_read_nothing(
    path: Path, trace: Callable[..., Trace]
) -> None:
    hour_ns = 3600 * 10**9
    there = found_at(path, "read", 4)
    assert source_line(there, trace(origin_unix_ns=time.time_ns() - hour_ns))
    assert source_line(there, trace(origin_unix_ns=time.time_ns() + hour_ns)) == ""


def test_only_sources_of_own_recordings_are_read(path: Path, trace: Callable[..., Trace]) -> None:
    there = found_at(path, "read", 4)
    assert source_line(there, trace(format=Format.OTF2)) == ""
    assert source_line(replace(there, where=()), trace()) == ""
    for other in (path.with_name("gone.py"), Path("loader.py"), path.with_suffix(".txt")):
        assert source_line(found_at(other, "read", 4), trace()) == ""
    for content in (b"def read(", b"\xff\xfe", b"x = 1\x00", b"x = 1\n" * (LONGEST_FILE // 6 + 1)):
        written(path, content)
        assert source_line(found_at(path, "<module>", 1), trace()) == ""


def test_only_sources_below_the_directory_of_the_run_are_read(
    path: Path, trace: Callable[..., Trace]
) -> None:
    there = found_at(path, "read", 4)
    assert source_line(replace(there, ranks=()), trace())
    assert source_line(replace(there, ranks=(0,)), trace()) == ""
    for directory in (path.parent / "other", path, "", ".", None, 7, [str(path.parent)]):
        made = trace()
        for rank in made.ranks:
            rank.metadata = {"cwd": str(directory) if isinstance(directory, Path) else directory}
        assert source_line(there, made) == ""


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


NORM = "/site-packages/numpy/linalg/_linalg.py"


@pytest.mark.parametrize(("times", "told"), [(6, ("numpy.svd", 6)), (5, (None, 0))])
def test_the_function_of_a_library_that_most_samples_of_the_line_are_in(
    times: int, told: tuple[str | None, int]
) -> None:
    """Of the public ones the innermost; not its C code, whose name fewer people know."""
    builder = TraceBuilder(2, end_s=4.0)
    line = ("main", "/home/me/train.py", 20)
    inner = (("norm", NORM, 9), ("_multi_svd_norm", NORM, 7), ("svd", NORM, 5), ("?", BUILT_IN, 0))
    for number in range(2):
        rank = builder.rank(number).init(1.0).finalize(3.0)
        for sample in range(10):
            rank.stack(1.1 + 0.1 * sample, (line, *inner) if sample < times else (line,))
    found = analyze_trace(builder.build())
    there = found_at(Path(line[1]), "main", line[2])
    assert seen(Facts(found.results, found.replay), there) == Seen(10, 10, *told)


def test_a_line_that_calls_functions_of_the_program_spends_its_time_there() -> None:
    builder = TraceBuilder(1, end_s=4.0)
    line, own = ("main", "/home/me/train.py", 20), ("converged", "/home/me/train.py", 7)
    rank = builder.rank(0).init(1.0).finalize(3.0)
    for sample in range(10):
        rank.stack(1.1 + 0.1 * sample, (line, own, ("svd", NORM, 5)))
    found = analyze_trace(builder.build())
    run, there = Facts(found.results, found.replay), Path(line[1])
    at = replace(found_at(there, "main", 20), ranks=(0,))
    assert seen(run, at) == Seen(10, 10)
    at = replace(found_at(there, "converged", 7), ranks=(0,))
    assert seen(run, at) == Seen(10, 10, "numpy.svd", 10)


SOLVE = ("solve", "/job/solve.py", 3)
REDUCE = ("reduce", "/job/solve.py", 9)


@pytest.mark.parametrize(
    ("handed", "kind", "is_told"),
    [
        (60, LossKind.TRANSFER, True),
        (0, LossKind.TRANSFER, False),
        (60, LossKind.OTHER_WORK, False),
    ],
)
def test_a_line_that_waits_for_who_makes_the_calls_is_none_to_open(
    handed: int, kind: LossKind, *, is_told: bool
) -> None:
    builder = TraceBuilder(2, end_s=10.0)
    for number in (0, 1):
        rank = builder.rank(number).init(0.5).finalize(9.5)
        for call in range(80):
            flags = RowFlag.HANDED if call < handed else RowFlag.NONE
            rank.op("MPI_Allreduce", 1.0 + call / 10, 1.05 + call / 10, flags=flags)
            rank.stack(1.02 + call / 10, (SOLVE if call < 60 else REDUCE,))
    found = analyze_trace(builder.build())
    run = Facts(found.results, found.replay)
    lost = losses(run, [])
    finding = replace(found_at(Path(SOLVE[1]), "solve", 3), id="mine", ranks=(0, 1))
    mine = replace(lost.entries[0], kind=kind, findings=("mine",))
    account = replace(lost, entries=(mine,))
    assert only_waits(run, finding, account) is is_told
    assert not only_waits(run, replace(finding, id="other"), account)
    # the other line makes its calls by itself, though most calls of the run are handed over
    itself = replace(finding, where=(Frame("reduce", SOLVE[1], 9),))
    assert not only_waits(run, itself, account)
