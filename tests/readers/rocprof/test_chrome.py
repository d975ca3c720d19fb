"""The JSON of rocprof before rocprofv3: a Chrome trace whose numbers are texts."""

import json
from pathlib import Path
from typing import Any

import pytest

from perfscope.errors import UnreadableInputError
from perfscope.readers.registry import open_trace
from perfscope.trace.devices import LAUNCH_UNKNOWN, DeviceKind
from perfscope.trace.model import Format
from tests.support.trace_invariants import check_trace

Event = dict[str, Any]
BASE = 2_678_276_000_000_000
CALLS, COPIES, GPU = 2, 1, 7


def lane(pid: int, name: str) -> Event:
    return {"args": {"name": name}, "ph": "M", "pid": pid, "name": "process_name"}


def event(name: str, pid: int, tid: int, begin: int, end: int, **more: str) -> Event:
    """As rocprof writes it: its time in microseconds, and all of it again in nanoseconds."""
    return {
        "ph": "X",
        "name": name,
        "pid": str(pid),
        "tid": str(tid),
        "ts": str((BASE + begin) // 1000),
        "dur": str((end - begin) // 1000),
        "args": {
            "BeginNs": str(BASE + begin),
            "EndNs": str(BASE + end),
            "pid": "70",
            "tid": "71",
            "DurationNs": str(end - begin),
            **more,
        },
    }


def arrow(kind: str, pid: int, tid: int, at: int) -> Event:
    us = (BASE + at) // 1000
    return {"ts": us, "ph": kind, "cat": "DataFlow", "id": 2, "pid": pid, "tid": tid, "name": "dep"}


EVENTS = [
    {},
    *(lane(CALLS, "CPU HIP API"), lane(COPIES, "COPY"), lane(GPU, "GPU1")),
    event("CopyHostToDevice", COPIES, 0, 100_000, 103_200, **{"dev-id": "1"}),
    event("hipLaunchKernel", CALLS, 71, 200_500, 206_900),
    event("some_kernel(int*, int)", GPU, 1, 222_235, 494_395, **{"dev-id": "1"}),
    event("another_kernel()", GPU, 1, 500_000, 500_960),
    arrow("s", CALLS, 71, 206_000),
    arrow("t", GPU, 1, 222_235),
]


def text_of(events: list[Event]) -> str:
    """Its notes on agents name fields twice, as those of real files do."""
    return f'{{ "traceEvents":{json.dumps(events)}, "otherData": {{"CMD": "a", "CMD": "b"}}}}'


def test_kernels_and_copies_have_their_devices_to_the_nanosecond(tmp_path: Path) -> None:
    path = tmp_path / "results.json"
    path.write_text(text_of(EVENTS))
    trace = open_trace(path)
    check_trace(trace)
    assert trace.format is Format.ROCPROF
    (rank,) = trace.ranks
    assert rank.devices is not None
    rows = rank.devices.rows
    assert [(r["kind"], r["device"], r["t1"] - r["t0"]) for r in rows] == [
        (DeviceKind.MEMCPY, 1, 3_200),
        (DeviceKind.COMPUTE, 1, 272_160),
        (DeviceKind.COMPUTE, 1, 960),
    ]
    launched, alone = rows[1], rows[2]
    assert launched["t0"] - launched["launch"] == 222_235 - 200_500
    assert alone["launch"] == LAUNCH_UNKNOWN
    assert "communication" in trace.not_recorded


def test_an_arrow_leaves_the_innermost_call_that_still_runs(tmp_path: Path) -> None:
    path = tmp_path / "results.json"
    around = event("roctxRange", CALLS, 71, 190_000, 400_000)
    over = event("hipSetDevice", CALLS, 71, 201_000, 203_000)
    path.write_text(text_of([*EVENTS, around, over]))
    (rank,) = open_trace(path).ranks
    assert rank.devices is not None
    launched = rank.devices.rows[1]
    assert launched["t0"] - launched["launch"] == 222_235 - 200_500


def test_events_without_a_usable_time_are_counted(tmp_path: Path) -> None:
    path = tmp_path / "results.json"
    odd = event("odd", GPU, 1, 600_000, 700_000)
    odd["args"]["EndNs"] = "-5"
    path.write_text(text_of([*EVENTS, odd]))
    trace = open_trace(path)
    assert any("left out 1 event without a usable time" in note for note in trace.notes)


@pytest.mark.parametrize("kept", [0.5, 0.9])
def test_a_file_that_ends_early_is_an_error_that_names_it(kept: float, tmp_path: Path) -> None:
    path = tmp_path / "results.json"
    text = text_of(EVENTS)
    path.write_text(text[: int(kept * len(text))])
    with pytest.raises(UnreadableInputError, match="cannot be read as a trace of rocprof"):
        open_trace(path)
