"""Sampled stacks in their three forms: what the real tool writes, closed answers, odd files."""

import gzip
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from perfscope.document.analysis import analysis
from perfscope.errors import UnreadableInputError
from perfscope.metrics.results import Options
from perfscope.readers.registry import open_trace, open_traces
from perfscope.readers.sampled_stacks import forms
from perfscope.trace.model import Format, Trace
from tests.support.requirements import require_reference
from tests.support.trace_invariants import check_trace

FRAMES = [
    {"name": "<module>", "file": "a.py", "line": 1},
    {"name": "heavy", "file": "a.py", "line": 2},
    {"name": "light", "file": "a.py", "line": 3},
]


def spun(path: Path) -> Trace:
    trace = open_trace(path)
    check_trace(trace)
    assert trace.format is Format.PYSPY
    return trace


def shares(trace: Trace) -> dict[str, float]:
    """Own shares by function, of the report."""
    found = {}
    for row in trace.tool_reports[0].tables[0].rows:
        assert isinstance(row[0], str)
        assert isinstance(row[3], float)
        found[row[0]] = row[3]
    return found


def profile(kind: str, **told: Any) -> dict[str, Any]:
    return {"type": kind, "name": "MainThread", "unit": "seconds", "startValue": 0} | told


def speedscope(place: Path, *profiles: dict[str, Any]) -> Path:
    document = {
        "$schema": "https://www.speedscope.app/file-format-schema.json",
        "shared": {"frames": FRAMES},
        "profiles": profiles,
    }
    path = place / "profile.json"
    path.write_text(json.dumps(document))
    return path


@pytest.mark.parametrize("form", ["raw.txt", "speedscope.json", "chrometrace.json"])
def test_real_files_give_the_known_ratio(form: str) -> None:
    """A program that is in `heavy` twice as long as in `light`."""
    found = shares(spun(require_reference(f"samples/pyspy_spin.{form}")))
    assert found["heavy"] / found["light"] == pytest.approx(2.0, rel=0.15)


@pytest.mark.parametrize("form", ["raw", "speedscope", "chrometrace"])
def test_what_py_spy_itself_writes_is_read(tmp_path: Path, form: str) -> None:
    program = tmp_path / "spin.py"
    program.write_text(
        "import threading, time\n"
        "def spin(until):\n    while time.perf_counter() < until: sum(range(500))\n"
        "def other():\n    spin(time.perf_counter() + 0.6)\n"
        "threading.Thread(target=other).start()\nspin(time.perf_counter() + 0.6)\n"
    )
    spy = Path(sys.executable).parent / "py-spy"
    words = [str(spy), "record", "-f", form, "-o", "out", "-t", "--", sys.executable, str(program)]
    subprocess.run(words, cwd=tmp_path, check=True, capture_output=True)
    trace = spun(tmp_path / "out")
    assert max(shares(trace), key=lambda name: shares(trace)[name]) in ("spin", "<genexpr>")
    spans = trace.ranks[0].spans
    assert (len(spans) > 0) == (form != "raw")
    assert len(spans) == 0 or (spans["is_main"].any() and not spans["is_main"].all())


def test_samples_are_as_long_as_their_weights(tmp_path: Path) -> None:
    told = profile("sampled", samples=[[0, 1], [0, 1], [0, 2]], weights=[0.02, 0.02, 0.02])
    trace = spun(speedscope(tmp_path, told))
    assert shares(trace) == {
        "heavy": pytest.approx(2 / 3),
        "light": pytest.approx(1 / 3),
        "<module>": 0.0,
    }
    assert trace.wall_ns == 60_000_000
    assert trace.stack_sampling is not None
    assert trace.stack_sampling.hz == 50
    document = analysis(trace, Options())
    (phase,) = document["stacks"]["phases"]
    assert phase["sampled_s"] == pytest.approx(0.06)
    assert document["losses"]["lost_share"] == 0
    assert document["metrics"]["parallel_efficiency"]["value"] is None


def test_events_open_and_close_frames(tmp_path: Path) -> None:
    moments = [("O", 0, 0), ("O", 1, 1), ("C", 1, 3), ("O", 2, 3), ("C", 2, 4), ("C", 0, 4)]
    events = [{"type": kind, "frame": frame, "at": at} for kind, frame, at in moments]
    told = profile("evented", events=events, unit="milliseconds")
    found = shares(spun(speedscope(tmp_path, told)))
    assert found == {"heavy": 0.5, "light": 0.25, "<module>": 0.25}


@pytest.mark.parametrize(
    ("moments", "wanted"),
    [
        # closes what others in it still have open: they are over, too
        ([("O", 0, 0), ("O", 1, 1), ("O", 2, 2), ("C", 1, 4), ("C", 0, 5)], 5),
        # closes what never opened: nothing changes
        ([("O", 0, 0), ("C", 2, 1), ("O", 1, 2), ("C", 1, 3), ("C", 0, 4)], 4),
    ],
)
def test_frames_that_close_out_of_order_are_counted(
    moments: list[tuple[str, int, int]], wanted: int, tmp_path: Path
) -> None:
    events = [{"type": kind, "frame": frame, "at": at} for kind, frame, at in moments]
    path = speedscope(tmp_path, profile("evented", events=events, unit="milliseconds"))
    found = forms.speedscope(path)
    assert found.left_out == 1
    assert sum(found.weights.values()) == pytest.approx(wanted / 1e3)


def test_a_stack_that_only_grows_is_summed_in_one_pass(tmp_path: Path) -> None:
    """Each frame anew for each that it called would be 5e9 steps."""
    depth = 100_000
    events = [{"type": "O", "frame": at % 2, "at": at} for at in range(depth + 1)]
    found = shares(spun(speedscope(tmp_path, profile("evented", events=events))))
    assert sorted(found.values()) == [0.5, 0.5]


def test_collapsed_stacks_of_other_tools_are_read(tmp_path: Path) -> None:
    """As stackcollapse-perf writes them, without places, and with remarks."""
    path = tmp_path / "perf.txt"
    path.write_text("# perf\njava;read;check_events_[k] 1\n\njava;Task::do_it<A, B> 3\njava 4\n")
    (found,) = open_trace(path).tool_reports
    assert found.tool == "Collapsed stacks"
    assert [row[0:3:2] for row in found.tables[0].rows[:2]] == [
        ("java", 4),
        ("Task::do_it<A, B>", 3),
    ]
    assert "50.0 % is in java itself" in found.says[0]
    path.write_text("\ufeff" + 4000 * "main;read;function 1\n")  # longer than what is looked at
    (found,) = open_trace(path).tool_reports
    assert found.tables[0].rows[0][0:3:2] == ("function", 4000)
    path.write_text("a;b;c 1\na;b;rest\n")
    with pytest.raises(UnreadableInputError):
        open_trace(path)


def test_counts_without_a_rate_are_no_seconds(tmp_path: Path) -> None:
    path = tmp_path / "raw.txt"
    path.write_text("<module> (a.py:1);f (a.py:2) 30\n<module> (a.py:1);f (b.py:9) 10\n")
    trace = spun(path)
    assert trace.wall_ns == 0
    assert not len(trace.ranks[0].spans)
    assert "75.0 %" in trace.tool_reports[0].says[0]
    assert "of 40 samples" in trace.tool_reports[0].says[0].lower().replace("the ", "")


def test_a_recursive_function_counts_once(tmp_path: Path) -> None:
    path = tmp_path / "raw.txt"
    path.write_text("f (a.py:1);f (a.py:2);f (a.py:2) 7\n")
    (row,) = spun(path).tool_reports[0].tables[0].rows
    assert row[2:] == (7, 1.0, 7)


def test_beside_a_recording_it_adds_its_functions(tmp_path: Path) -> None:
    sample = Path(__file__).parents[3] / "sample_traces" / "horovod_straggler"
    path = speedscope(tmp_path, profile("sampled", samples=[[0, 1]], weights=[0.02]))
    trace = open_traces([sample, path])
    assert trace.format is Format.PERFSCOPE
    assert len(trace.tool_reports) == 1
    assert not any("left aside" in note for note in trace.notes)


@pytest.mark.parametrize(
    "told",
    [
        {"samples": [[0, 9]], "weights": [1]},
        {"samples": [[0], [-1]], "weights": [1e300, "x"]},
        {"samples": [[0]], "weights": [True]},
        {"samples": "abc", "weights": None},
        {"samples": [], "weights": []},
    ],
)
def test_stacks_that_cannot_be_are_an_error(tmp_path: Path, told: dict[str, Any]) -> None:
    with pytest.raises(UnreadableInputError, match="holds no stacks") as raised:
        open_trace(speedscope(tmp_path, profile("sampled", **told)))
    assert all(raised.value.lines())


def test_a_cut_chrome_trace_counts_up_to_there(tmp_path: Path) -> None:
    source = require_reference("samples/pyspy_spin.chrometrace.json")
    whole = source.read_bytes()
    (tmp_path / "a.json").write_bytes(gzip.compress(whole[: len(whole) // 2]))
    trace = spun(tmp_path / "a.json")
    assert any("cut off" in note for note in trace.notes)
    assert 0 < trace.wall_ns < spun(source).wall_ns


def test_a_cut_speedscope_file_is_an_error(tmp_path: Path) -> None:
    path = speedscope(tmp_path, profile("sampled", samples=[[0, 1]], weights=[0.02]))
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(UnreadableInputError) as raised:
        open_trace(path)
    assert all(raised.value.lines())


def test_bytes_are_no_samples_and_are_never_added_to_them(tmp_path: Path) -> None:
    """As tools write that count calls in one profile and what they allocate in another."""
    held = profile("sampled", unit="bytes", samples=[[0]], weights=[144])
    none = profile("sampled", unit="samples", samples=[], weights=[])
    (found,) = open_trace(speedscope(tmp_path, none, held)).tool_reports
    assert "144 bytes" in found.says[0]
    seen = profile("sampled", unit="none", samples=[[0]], weights=[3])
    trace = open_trace(speedscope(tmp_path, held, seen))
    assert "3 counts" in trace.tool_reports[0].says[0]
    assert any("Profiles in bytes were left out" in note for note in trace.notes)
    seen = profile("sampled", unit="samples", samples=[[0]], weights=[3])
    assert "3 samples" in open_trace(speedscope(tmp_path, seen)).tool_reports[0].says[0]


def test_amounts_are_counted_however_large_or_small_they_are(tmp_path: Path) -> None:
    """They are no times: a stack of 40 MB is no job of 462 days."""
    for unit, weights in (
        ("bytes", [40_000_000, 144]),
        ("kilobytes", [3 << 40, 1]),
        ("none", [1e12, 1]),
        ("none", [0.25, 0.1]),
        ("bytes", [1e12, 0.3]),
    ):
        told = profile("sampled", unit=unit, samples=[[0], [0, 1]], weights=weights)
        trace = open_trace(speedscope(tmp_path, told))
        (found,) = trace.tool_reports
        own = {row[0]: row[2] for row in found.tables[0].rows}
        assert {*own.values()} == {*weights}
        assert not trace.wall_ns
        assert not any("left out" in note for note in trace.notes)


@pytest.mark.parametrize("weight", [-1, 1 << 60, 1e300, "9", None, True, float("nan")])
def test_amounts_that_cannot_be_are_left_out_and_counted(tmp_path: Path, weight: object) -> None:
    told = profile("sampled", unit="bytes", samples=[[0], [1]], weights=[weight, 144])
    trace = open_trace(speedscope(tmp_path, told))
    assert "144 bytes" in trace.tool_reports[0].says[0]
    assert any("left out 1 entry" in note for note in trace.notes)


def test_more_time_than_a_profile_lasts_is_not_laid_end_to_end(tmp_path: Path) -> None:
    """A profile of a processor or a process that lists what several threads did at once."""
    told = profile("sampled", samples=[[0]] * 4, weights=[1, 1, 1, 1])
    assert open_trace(speedscope(tmp_path, told | {"endValue": 4})).wall_ns == 4 * 10**9
    trace = open_trace(speedscope(tmp_path, told | {"endValue": 2}))
    assert not len(trace.ranks[0].spans)
    assert not trace.wall_ns
    assert any("2 times as much as lies between" in note for note in trace.notes)
