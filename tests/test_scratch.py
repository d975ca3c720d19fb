"""Tables for which the memory does not suffice move into files, and nothing else changes."""

import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.engine.recording_trace import write_recording
from tests.support.requirements import missing

MOVED = """
import resource, sys
import numpy as np
from perfscope.engine import engine

MB = 1 << 20
assert engine.use_files(sys.argv[1], 0, 24 * MB)
"""

ANALYZED = """
import sys
from perfscope import scratch
from perfscope.cli.main import main
from perfscope.engine import engine

scratch.memory_left_bytes = lambda: int(sys.argv[1])
code = main(["analyze", *sys.argv[2:]])
print(engine.files_used()[0])
sys.exit(code)
"""

NO_FILES = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))  # noqa: E731


def run(code: str, *words: object, **options: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", code, *map(str, words)]
    return subprocess.run(  # type: ignore[call-overload, no-any-return]
        command, capture_output=True, text=True, check=False, timeout=100, **options
    )


def succeeds(code: str, *words: object) -> None:
    done = run(code, *words)
    assert done.returncode == 0, done.stderr


def test_tables_that_moved_hold_what_they_held(tmp_path: Path) -> None:
    code = """
tables = [np.full(MB, number) for number in range(9)]
assert engine.files_used()[0] >= 6 * 8 * MB
for number, table in enumerate(tables):
    assert np.all(table == number)
    table += 1
tables[0].resize(2 * MB, refcheck=False)
assert np.all(tables[0][:MB] == 1) and not np.any(tables[0][MB:])
assert all(np.all(table == number + 1) for number, table in enumerate(tables[1:], 1))
del tables, table
held = engine.files_used()[0]
for _ in range(50):
    np.ones(MB) + np.ones(MB)
assert engine.files_used()[0] == held, "what lives for a moment goes to no file"
assert not np.any(np.zeros(MB)), "a block of a table that is gone is cleared"
"""
    succeeds(MOVED + code, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_blocks_stay_when_fewer_may_be_resident_than_are(tmp_path: Path) -> None:
    code = """
tables = [np.full(MB, number) for number in range(3)]
assert engine.use_files(sys.argv[1], 0, 4 * MB)
del tables[1]
tables += [np.full(MB, number) for number in (3, 4)]
assert [int(table.sum()) // MB for table in tables] == [0, 2, 3, 4]
"""
    succeeds(MOVED + code, tmp_path)


def test_where_no_directory_takes_a_file_none_is_used() -> None:
    code = """
import resource
from perfscope import scratch

resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
scratch.memory_left_bytes = lambda: 1 << 30
scratch.allow()
assert scratch.refused() is None
"""
    succeeds(code)


def test_a_process_that_forks_shares_no_table_that_is_made_later(tmp_path: Path) -> None:
    code = """
import os
tables = [np.full(MB, number) for number in range(9)]
child = os.fork()
later = [np.full(MB, 50 + (child == 0)) for _ in range(9)]
assert all(np.all(table == 50 + (child == 0)) for table in later)
if child == 0:
    os._exit(0)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
assert all(np.all(table == 50) for table in later)
assert all(np.all(table == number) for number, table in enumerate(tables))
"""
    succeeds(MOVED + code, tmp_path)


def test_a_table_that_no_file_takes_is_an_error_and_the_others_stay(tmp_path: Path) -> None:
    code = """
resource.setrlimit(resource.RLIMIT_FSIZE, (4 * MB, 4 * MB))
tables = [np.full(MB, number) for number in range(3)]
try:
    np.empty(MB)
except MemoryError:
    pass
else:
    raise SystemExit("more than there is room for")
assert engine.files_used()[1:] == (27, 8 * MB)
assert all(np.all(table == number) for number, table in enumerate(tables))
tables.pop()
assert np.all(np.ones(MB) == 1)
"""
    succeeds(MOVED + code, tmp_path)


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("long") / "run"
    write_recording(place, 2, 300_000)
    return place


def analyzed(recording: Path, output: Path, left_mb: int, **options: object) -> tuple[str, int]:
    done = run(ANALYZED, left_mb << 20, recording, "--no-report", "-o", output, **options)
    assert done.returncode == 0, done.stderr
    return done.stderr, int(done.stdout.splitlines()[-1])


def test_a_recording_that_does_not_fit_gives_the_same_document(
    recording: Path, tmp_path: Path
) -> None:
    told, bytes_in_files = analyzed(recording, tmp_path / "roomy", 1 << 14)
    assert (told, bytes_in_files) == ("", 0)
    told, bytes_in_files = analyzed(recording, tmp_path / "tight", 24)
    assert bytes_in_files > 20 << 20
    (line,) = told.splitlines()
    assert "24.0 MiB of memory are left, so the oldest tables move to unnamed" in line
    roomy, tight = (tmp_path / name / "analysis.json" for name in ("roomy", "tight"))
    assert tight.read_bytes() == roomy.read_bytes()


def test_where_temporary_files_are_held_in_memory_another_directory_is_taken(
    recording: Path, tmp_path: Path
) -> None:
    shared = Path("/dev/shm")
    if not os.access(shared, os.W_OK):
        missing("a directory that memory holds, /dev/shm")
    told, _ = analyzed(recording, tmp_path, 24, env=os.environ | {"TMPDIR": str(shared)})
    assert "in /var/tmp" in told
    assert "/dev/shm is held in memory, too" in told


@pytest.mark.parametrize(
    ("room", "told"),
    [
        ((5 << 20, False), "(5.00 MiB free; TMPDIR may name a directory on a larger disk)."),
        ((1 << 40, True), "/var/tmp is held in memory, too; TMPDIR may name"),
    ],
    ids=["a small disk", "no disk"],
)
def test_too_little_room_by_the_estimate_is_told_and_tried(
    room: tuple[int, bool], told: str, recording: Path, tmp_path: Path
) -> None:
    code = ANALYZED.replace(
        "from perfscope.engine import engine",
        f"from perfscope.engine import engine; engine.room_below = lambda _: {room}",
    )
    done = run(code, 24 << 20, recording, "--no-report", "-o", tmp_path)
    (line,) = done.stderr.splitlines()
    assert done.returncode == 0
    assert told in line


def test_a_disk_that_is_full_by_then_is_an_error_in_three_lines(
    recording: Path, tmp_path: Path
) -> None:
    done = run(ANALYZED, 24 << 20, recording, "--no-report", "-o", tmp_path, preexec_fn=NO_FILES)
    _, what, why, action = done.stderr.splitlines()
    assert done.returncode == 3
    assert what.startswith("There is no room for a table of ")
    assert why.startswith("File too large")
    assert action.startswith("Make room there")


def test_the_disk_counts_for_calls_of_other_tools_where_files_are_allowed() -> None:
    code = """
from perfscope import scratch
from perfscope.engine import engine
from perfscope.memory import rows_that_fit

scratch.memory_left_bytes = lambda: 1 << 30
engine.room_below = lambda _: (3 << 30, False)
assert scratch.calls_that_fit() == rows_that_fit(1 << 30)
scratch.allow()
assert scratch.calls_that_fit() == rows_that_fit(4 << 30)
"""
    succeeds(code)
