"""Files of which the same bytes are read over and over, told from files that are read once."""

from typing import Any

import pytest

from perfscope.findings.core.finding import Finding
from perfscope.trace.read_files import read_files
from tests.findings.analyzed import analyze_trace
from tests.support.trace_builder import TraceBuilder

STEPS, STEP_S, READING_S = 100, 0.1, 0.04
LOOKS = 40
FILE = "/home/me/train.py"
READING = [("main", FILE, 9), ("fetch", FILE, 5), ("sqlite3.Cursor.__next__", "<built-in>", 0)]
READERS = "/usr/lib/python3/site-packages/pandas/io/parsers/readers.py"
PARSING = [*READING[:2], ("read_csv", READERS, 873), ("builtins.hasattr", "<built-in>", 0)]
COMPUTING = [("main", FILE, 9), ("update", FILE, 7), ("numpy.multiply", "<built-in>", 0)]
HELD = 10 << 20
TABLE = {"name": "table.db", "bytes": HELD, "looks": LOOKS}


def judged(
    files: list[dict[str, Any]],
    *,
    read_bytes: int,
    written_bytes: int = 0,
    received: int = 0,
    reading: list[tuple[str, str, int]] = READING,
    told_as: str = "lost_to_files",
) -> Finding:
    """Two ranks that spend 40 ms of each step of 100 ms in a library of files, or in another."""
    builder = TraceBuilder(2, end_s=3.0 + STEP_S * STEPS)
    told = {"looks": LOOKS, "lost": 0, "ns": 1, "read_bytes": read_bytes, "files": files}
    for number in range(2):
        rank = builder.rank(number).init(1.0)
        rank.set(metadata={"read_files": {**told, "written_bytes": written_bytes}})
        for step in range(STEPS):
            begin = 1.0 + STEP_S * step
            for part in range(9):
                at = begin + 0.005 + 0.01 * part
                rank.stack(at, reading if at < begin + READING_S else COMPUTING)
            end = begin + STEP_S
            rank.op("MPI_Allreduce", end - 0.01, end, seq=step, received=received)
            rank.step(step, begin, end)
        rank.finalize(1.0 + STEP_S * STEPS)
    return analyze_trace(builder.build()).findings[told_as]


def test_a_file_that_each_step_reads_whole_is_named_with_what_finds_rows_without_that() -> None:
    found = judged([TABLE], read_bytes=STEPS * HELD)
    assert "table.db (10.0 MiB)" in found.title
    assert "fetch() (train.py:5)" in found.title
    assert "CREATE INDEX" in found.actions[0]
    assert "sqlite3.Cursor.__next__()" in found.actions[0]
    assert f"at least {STEPS} times" in found.actions[0]
    assert found.gain_s == pytest.approx(READING_S * STEPS, rel=0.05)


def test_a_file_that_is_read_a_few_times_is_to_be_kept_in_memory() -> None:
    found = judged([TABLE], read_bytes=5 * HELD)
    assert "table.db" in found.title
    assert "in memory" in found.actions[0]
    assert "INDEX" not in found.actions[0]


LIBRARY = "/usr/lib/python3.11"
ITEM = ("NpzFile.__getitem__", f"{LIBRARY}/site-packages/numpy/lib/npyio.py", 250)
STORED = [*READING[:2], ITEM, ("ZipExtFile._update_crc", f"{LIBRARY}/zipfile.py", 1000)]


def test_an_archive_that_is_read_over_and_over_is_not_said_to_be_compressed() -> None:
    found = judged([{**TABLE, "name": "table.npz"}], read_bytes=STEPS * HELD, reading=STORED)
    assert "table.npz (10.0 MiB)" in found.title
    told = f"{found.title} {found.actions[0]}"
    assert "ecompressing" not in told
    assert "decompresses it where it is compressed" in told
    assert "INDEX" not in told
    assert "mmap_mode" in told
    assert f"at least {STEPS} times" in told


def test_an_archive_of_which_nothing_else_is_known_is_read_and_not_written() -> None:
    found = judged([], read_bytes=0, reading=STORED)
    assert found.title.startswith("Reading an archive (zip) takes 4.00 s per rank")
    assert "mmap_mode" in found.actions[0]
    assert "write" not in found.actions[0]


@pytest.mark.parametrize(
    ("call", "told", "untold"),
    [("io.BufferedReader.read", "read", "write"), ("io.BufferedWriter.write", "write", "read")],
)
def test_of_files_that_are_only_read_or_written_nothing_else_is_said(
    call: str, told: str, untold: str
) -> None:
    action = (
        judged([], read_bytes=0, reading=[*READING[:2], (call, "<built-in>", 0)])
        .actions[0]
        .partition(": ")[2]
    )
    assert told in action
    assert untold not in action


@pytest.mark.parametrize(
    ("files", "times", "told"),
    [
        ([{"looks": 5}], 1.0, "reads all of it once in each step"),
        ([{"looks": 5}, {"looks": LOOKS}], 2.003, "reads all of it 2 times in each step"),
        ([{"looks": 5}], 1.5, ""),
        ([{"looks": 5}, {"looks": 5}], 1.0, ""),
        ([{"looks": LOOKS}], 1.0, ""),
        ([{"looks": 2}], 1.0, ""),
    ],
    ids=["once", "twice", "not whole", "several", "always open", "hardly seen"],
)
def test_what_a_library_makes_of_a_file_that_each_step_reads_anew(
    files: list[dict[str, int]], times: float, told: str
) -> None:
    """A table is made of it again and again: that takes the time, and not to read it."""
    met = [{"name": f"table-{n}.csv", "bytes": HELD, **one} for n, one in enumerate(files)]
    amount = round(times * STEPS * HELD)
    found = judged(met, read_bytes=amount, reading=PARSING, told_as="lost_to_interpreter")
    assert ("table-0.csv (10.0 MiB)" in found.actions[0]) is bool(told)
    assert told in found.actions[0]


def test_several_files_are_told_by_what_they_hold_together() -> None:
    parts = [{**TABLE, "name": f"part-{number}"} for number in range(4)]
    assert "the same 40.0 MiB" in judged(parts, read_bytes=STEPS * 40 << 20).title


@pytest.mark.parametrize("bytes_read", [HELD, 2 * HELD])
def test_what_is_read_once_or_twice_is_not_told(bytes_read: int) -> None:
    assert "table.db" not in judged([TABLE], read_bytes=bytes_read).title


def test_files_that_come_and_go_are_what_is_read_and_not_the_one_that_stays_open() -> None:
    """Each look that comes into reading meets another file."""
    met = [{**TABLE, "name": f"sample-{n}", "looks": 1} for n in range(int(0.4 * LOOKS))]
    found = judged([{**TABLE, "bytes": 100}, *met], read_bytes=STEPS * HELD)
    assert "File I/O" in found.title


def test_where_looks_are_too_few_to_have_met_other_files_nothing_is_told_of_those_met() -> None:
    told = judged([TABLE], read_bytes=STEPS * HELD).title
    assert "table.db" in told
    few = [{**TABLE, "looks": 1}, {**TABLE, "looks": 1}]
    assert "over and over" not in judged([TABLE, *few * 3], read_bytes=STEPS * 70 << 20).title


def test_what_is_mostly_written_or_came_as_messages_is_not_read_again() -> None:
    amount = STEPS * HELD
    written = judged([TABLE], read_bytes=amount, written_bytes=amount)
    assert "table.db" not in written.title
    messages = judged([TABLE], read_bytes=amount, received=amount // STEPS)
    assert "table.db" not in messages.title


@pytest.mark.parametrize(
    "odd", [None, [], {"files": None}, {"files": [7, {"bytes": -3, "looks": True, "name": 4}]}]
)
def test_odd_metadata_hold_no_files(odd: object) -> None:
    found = read_files({"read_files": odd})
    assert found is None or found.size_bytes == 0
