"""Recordings of one run by several tools become one trace; others are left aside with a reason."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from perfscope.cli.main import main
from perfscope.errors import ExitCode, UnreadableInputError
from perfscope.readers.registry import open_traces
from perfscope.schema.check import problems
from perfscope.trace.model import Format, Trace
from tests.support.write_recording import REAL_START_NS, ProcessWriter, write_run

START_US = REAL_START_NS // 1000


def recording(directory: Path, ranks: int = 2) -> Path:
    """A run of 10 s whose ranks meet in an Allreduce."""
    for rank in range(ranks):
        process = ProcessWriter(rank=rank, size=ranks, pid=100 + rank)
        process.communicator(0, 77, list(range(ranks)))
        for at in range(1, 9):
            process.op("MPI_Allreduce", float(at), at + 0.1, sent=80, received=80)
        process.header |= {
            "init_exit_ns": process.mono(0.5),
            "finalize_enter_ns": process.mono(9.5),
            "alive_ns": process.mono(10.0),
            "exit_ns": process.mono(10.0),
        }
        process.write(directory)
    write_run(directory)
    return directory


def timeline(path: Path, *, epoch_us: int | None = START_US, last_rank: int = 1) -> Path:
    """Horovod's timeline of two seconds, from 3 s after `epoch_us`."""
    head: list[dict[str, Any]] = []
    if epoch_us is not None:
        args = {"start_time_since_epoch_in_micros": epoch_us}
        head = [{"name": "process_name", "ph": "M", "pid": 0, "args": args}]
    events = [
        {"name": "process_name", "ph": "M", "pid": 1, "args": {"name": "grad/dense"}},
        {"name": "NEGOTIATE_ALLREDUCE", "ph": "B", "ts": 3_000_000, "pid": 1},
        {"name": "0", "ph": "X", "ts": 3_000_000, "pid": 1, "dur": 0},
        {"name": str(last_rank), "ph": "X", "ts": 4_500_000, "pid": 1, "dur": 0},
        {"ph": "E", "ts": 4_500_000, "pid": 1},
        {"name": "ALLREDUCE", "ph": "B", "ts": 4_500_000, "pid": 1},
        {"ph": "E", "ts": 5_000_000, "pid": 1, "args": {"dtype": "float32", "shape": "[4]"}},
    ]
    path.write_text(json.dumps(head + events))
    return path


def kineto(path: Path, *, pid: int, start_ns: int, rank: int | None = None) -> Path:
    """A profile of 2 s with one kernel of 1 s."""
    events = [
        {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": pid, "tid": pid, "ts": 0, "dur": 9},
        {
            "ph": "X",
            "cat": "user_annotation",
            "name": "ProfilerStep#3",
            "pid": pid,
            "tid": pid,
            "ts": 0,
            "dur": 2_000_000,
        },
        {
            "ph": "X",
            "cat": "kernel",
            "name": "gemm",
            "pid": 0,
            "tid": 7,
            "ts": 500_000,
            "dur": 1_000_000,
            "args": {"device": 0, "stream": 7, "correlation": 1},
        },
    ]
    content: dict[str, Any] = {
        "schemaVersion": 1,
        "baseTimeNanoseconds": start_ns,
        "deviceProperties": [{"id": 0, "name": "GPU"}],
        "traceEvents": events,
    }
    if rank is not None:
        content["distributedInfo"] = {"backend": "nccl", "rank": rank, "world_size": 2}
    path.write_text(json.dumps(content))
    return path


def notes(trace: Trace) -> str:
    return " ".join(trace.notes)


def test_a_timeline_in_the_run_directory_adds_tensors(tmp_path: Path) -> None:
    timeline(recording(tmp_path / "trace") / "timeline.json")
    trace = open_traces([tmp_path / "trace"])
    assert trace.format is Format.PERFSCOPE
    assert trace.tensors is not None
    offset = REAL_START_NS - trace.origin_unix_ns
    assert trace.tensors.negotiations["t0"].tolist() == [3 * 10**9 + offset]
    assert trace.tensors.negotiations["last_tick"].tolist() == [4_500_000_000 + offset]
    assert "belongs to the run: 2 ranks matched by rank number" in notes(trace)
    assert "operations by tensor" in notes(trace)
    output = tmp_path / "out"
    assert main(["analyze", str(tmp_path / "trace"), "-o", str(output)]) == ExitCode.OK
    document = json.loads((output / "analysis.json").read_text())
    assert list(problems(document)) == []
    assert document["metrics"]["parallel_efficiency"]["value"] is not None
    assert document["tensors"]["last_by_rank"] == [0, 1]


def test_paths_beside_each_other_are_joined(tmp_path: Path) -> None:
    own, other = recording(tmp_path / "trace"), timeline(tmp_path / "t.json")
    for order in ([own, other], [other, own]):
        assert open_traces(order).format is Format.PERFSCOPE
        assert open_traces(order).tensors is not None


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"last_rank": 7}, "it has a rank 7, and the run has 2 ranks"),
        ({"epoch_us": START_US + 3600 * 10**6}, "after the end of the run"),
        ({"epoch_us": START_US - 3600 * 10**6}, "before the begin of the run"),
        ({"epoch_us": None}, "has no wall clock"),
    ],
)
def test_what_does_not_belong_is_left_aside(
    tmp_path: Path, changes: dict[str, Any], why: str
) -> None:
    other = timeline(tmp_path / "t.json", **changes)
    trace = open_traces([recording(tmp_path / "trace"), other])
    assert trace.tensors is None
    assert "was left aside" in notes(trace)
    assert why in notes(trace)


def test_a_profile_of_a_part_gives_figures_of_that_part_only(tmp_path: Path) -> None:
    """Process 101 is rank 1, whatever the profile says of ranks."""
    own = recording(tmp_path / "trace")
    profile = kineto(tmp_path / "p.json", pid=101, start_ns=REAL_START_NS + 3 * 10**9)
    trace = open_traces([own, profile])
    assert trace.ranks[0].devices is None
    activity = trace.ranks[1].devices
    assert activity is not None
    offset = REAL_START_NS - trace.origin_unix_ns
    assert activity.rows["t0"].tolist() == [3_500_000_000 + offset]
    assert trace.names[activity.rows["name"][0]] == "gemm"
    assert "matched by process id" in notes(trace)
    arguments = ["analyze", str(own), str(profile), "-o", str(tmp_path / "out"), "--no-report"]
    assert main(arguments) == ExitCode.OK
    whole = json.loads((tmp_path / "out" / "analysis.json").read_text())
    assert whole["devices"]["is_part"]
    assert whole["devices"]["devices"][0]["busy_s"] == pytest.approx(1.0, abs=1e-6)
    assert whole["run"]["focus_kind"] == "communication_lifetime"
    start, end = whole["devices"]["window_s"]
    assert main([*arguments, "--foa", f"{start}:{end}"]) == ExitCode.OK
    part = json.loads((tmp_path / "out" / "analysis.json").read_text())
    assert not part["devices"]["is_part"]
    assert part["devices"]["devices"][0]["busy_s"] == pytest.approx(1.0, abs=1e-6)


def test_another_run_of_the_same_tool_is_left_aside(tmp_path: Path) -> None:
    first, second = timeline(tmp_path / "a.json"), timeline(tmp_path / "b.json")
    trace = open_traces([first, second])
    assert "b.json (horovod timeline) was left aside: it is another run" in notes(trace)


def test_profiles_of_ranks_given_one_by_one_are_one_run(tmp_path: Path) -> None:
    paths = [
        kineto(tmp_path / f"{rank}.json", pid=100 + rank, start_ns=REAL_START_NS, rank=rank)
        for rank in (0, 1)
    ]
    trace = open_traces(paths)
    assert [rank.number for rank in trace.ranks] == [0, 1]
    assert all(np.count_nonzero(rank.devices.rows["t1"]) for rank in trace.ranks if rank.devices)


def test_damage_beside_a_recording_is_told_and_damage_that_was_asked_for_ends_it(
    tmp_path: Path,
) -> None:
    own = recording(tmp_path / "trace")
    broken = own / "timeline.json"
    timeline(broken)
    broken.write_text(broken.read_text()[:-60] + "oops" + broken.read_text()[-60:])
    assert "is damaged or not what it seems to be" in notes(open_traces([own]))
    with pytest.raises(UnreadableInputError):
        open_traces([own, broken])
