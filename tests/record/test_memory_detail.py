"""`perfscope run --memory-detail`: the line that leaks is named; the program does not notice."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from perfscope.document.analysis import analysis
from perfscope.metrics.results import Options
from perfscope.readers.recording.reader import open_recording
from tests.support.recording import Recorded, Recorder

LEAKING = """
import os, sys, time
kept, freed = [], None
def remember():
    kept.append(bytearray(40_000))  # line 5
def forget():
    global freed
    freed = bytearray(400_000)
end = time.monotonic() + float(sys.argv[1])
while time.monotonic() < end or len(kept) <= 100:
    remember()
    if sys.argv[3] != "memory_profiler":  # which sees the process grow, and not why
        forget()
    time.sleep(0.01)
print("kept", len(kept) > 100)
sys.stdout.flush()
if sys.argv[2] == "kill":
    os.kill(os.getpid(), 9)
sys.exit(4)
"""

FORKING = """
import os, sys
def show(who):
    print(who, sys.gettrace() is not None, flush=True)
child = os.fork()
if not child:
    show("child")
    os._exit(0)
os.waitpid(child, 0)
show("parent")
"""


def lines_of(recorded: Recorded) -> dict[str, Any]:
    document = analysis(open_recording(recorded.directory), Options())
    (found,) = document["memory"]["lines"]["ranks"]
    assert isinstance(found, dict)
    return found


@pytest.mark.parametrize(
    ("engine", "end", "code"),
    [
        ("memray", "kill", 137),
        ("memray", "exit", 4),
        ("tracemalloc", "exit", 4),
        ("memory_profiler", "exit", 4),
    ],
)
def test_the_line_that_leaks_is_named_and_the_program_unchanged(
    record: Recorder, tmp_path: Path, engine: str, end: str, code: int
) -> None:
    program = tmp_path / "leaking.py"
    program.write_text(LEAKING, encoding="ascii")
    recorded = record(
        [sys.executable, program, "3.2", end, engine], options=["--memory-detail", f"0:{engine}"]
    )
    assert (recorded.exit_code, recorded.stdout) == (code, "kept True\n")
    found = lines_of(recorded)
    assert found["engine"].startswith(engine)
    assert found.get("is_growth", False) == (engine == "memory_profiler")
    assert not found["is_whole_life"]
    line = found["lines"][0]
    assert (Path(line["file"]).name, line["line"]) == ("leaking.py", 5)
    assert line["kept_bytes"] > 0.6 * found["kept_bytes"]
    # memray writes command lines into its files, which a killed rank leaves behind
    assert not list(recorded.directory.glob("*/*.tmp"))


def test_children_of_a_rank_are_not_followed_line_by_line(record: Recorder, tmp_path: Path) -> None:
    program = tmp_path / "forking.py"
    program.write_text(FORKING, encoding="ascii")
    recorded = record([sys.executable, program], options=["--memory-detail", "0:memory_profiler"])
    assert (recorded.exit_code, recorded.stdout) == (0, "child False\nparent True\n")


def test_only_the_rank_that_was_asked_for_is_watched(record: Recorder) -> None:
    recorded = record([sys.executable, "-c", "pass"], options=["--memory-detail", "1"])
    document = analysis(open_recording(recorded.directory), Options())
    assert document["memory"]["lines"]["ranks"] == []
    assert "--memory-detail" in document["memory"]["lines"]["reason"]


def test_damaged_files_are_told_and_no_number_comes_of_them(record: Recorder) -> None:
    program = "import time; time.sleep(0.3)"
    recorded = record([sys.executable, "-c", program], options=["--memory-detail", "0:tracemalloc"])
    (state,) = recorded.directory.glob("*/*.memory.json")
    place = {"bytes": 1e300, "count": -1, "stack": [["f", "a.py", "1"], ["g", "b.py", 2]]}
    window = {"begin_ns": 5, "end_ns": 9, "kept_bytes": "x", "count": None, "places": [place, 7]}
    for text in ("{", "[]", '{"windows": 7}', '{"windows": [{"begin_ns": 9, "end_ns": 5}]}'):
        state.write_text(text, encoding="utf-8")
        found = lines_of(recorded)
        assert found["reason"], text
        assert found["lines"] == []
    state.write_text(json.dumps({"windows": [window, None]}), encoding="utf-8")
    (line,) = lines_of(recorded)["lines"]
    assert (line["kept_bytes"], line["count"], line["line"]) == (0, 0, 2)


@pytest.mark.parametrize("value", ["x", "0:gdb", "-1", ""])
def test_what_makes_no_sense_is_a_usage_error(record: Recorder, value: str) -> None:
    assert record(["true"], options=["--memory-detail", value]).exit_code == 2


@pytest.mark.parametrize("value", ["x", "1-", "3-2", "1,,2"])
def test_a_list_of_ranks_that_makes_no_sense_is_a_usage_error(record: Recorder, value: str) -> None:
    assert record(["true"], options=["--stacks-ranks", value]).exit_code == 2
