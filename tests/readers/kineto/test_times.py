"""Times of Chrome traces that are damaged, in another unit, far off, or of two clocks."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from perfscope.attribution.preparation import prepare
from perfscope.document.analysis import analysis
from perfscope.errors import UnreadableInputError
from perfscope.metrics.devices.devices import DevicesResult, devices
from perfscope.metrics.results import Options
from perfscope.readers.registry import open_trace
from perfscope.schema.enums import IdleCause, Status
from perfscope.trace.model import Trace
from tests.support.trace_invariants import check_trace
from tests.support.write_kineto import BASE_NS, KinetoWriter

MS, S = 1_000_000, 1_000_000_000


def job() -> KinetoWriter:
    """Twenty steps of 10 ms with a launch of 5 us and a kernel of 6 ms."""
    writer = KinetoWriter()
    for step in range(20):
        start = 10 * MS * step
        writer.step(step, start, start + 10 * MS - 1000)
        writer.kernel("gemm", start + MS, start + 7 * MS, launch=start)
    return writer


def scaled(path: Path, factor: int, *, base: bool, since_ns: int = 0) -> Path:
    """The job with its times as whole numbers of another unit; `factor` of them are 1 us."""
    document = job().document()
    if not base:
        del document["baseTimeNanoseconds"]
    for event in document["traceEvents"]:
        event["ts"] = round((event["ts"] * 1000 + since_ns) * factor / 1000)
        if "dur" in event:
            event["dur"] = round(event["dur"] * factor)
    path.write_text(json.dumps(document))
    return path


def found(trace: Trace) -> DevicesResult:
    check_trace(trace)
    result = devices(prepare(trace))
    assert result is not None
    return result


def damaged(path: Path, **changes: Any) -> Trace:
    """The job with one more kernel whose members are changed."""
    document = job().document()
    event = {"ph": "X", "cat": "kernel", "name": "odd", "ts": 5.0, "dur": 1.0, "pid": 0, "tid": 7}
    document["traceEvents"].append({**event, **changes})
    path.write_text(json.dumps(document))
    trace = open_trace(path)
    check_trace(trace)
    return trace


@pytest.mark.parametrize(
    ("base", "since_ns"), [(False, BASE_NS), (True, 0), (False, 0), (False, 5 * 86400 * S)]
)
def test_nanoseconds_are_known_by_what_microseconds_could_not_be(
    base: bool, since_ns: int, tmp_path: Path
) -> None:
    trace = open_trace(scaled(tmp_path / "t.json", 1000, base=base, since_ns=since_ns))
    assert any("were read as nanoseconds" in note for note in trace.notes)
    (use,) = found(trace).devices
    assert use.use.compute_ns == 20 * 6 * MS
    assert trace.wall_ns == pytest.approx(200 * MS, rel=0.01)
    assert trace.origin_unix_ns == (BASE_NS if base or since_ns == BASE_NS else 0)


def test_nanoseconds_may_be_written_as_floating_point_numbers(tmp_path: Path) -> None:
    """A double holds times of today to 256 ns."""
    path = scaled(tmp_path / "t.json", 1000, base=False, since_ns=BASE_NS)
    document = json.loads(path.read_text())
    for event in document["traceEvents"]:
        event["ts"] = float(event["ts"])
    path.write_text(json.dumps(document))
    assert "e+18" in path.read_text()
    trace = open_trace(path)
    assert any("were read as nanoseconds" in note for note in trace.notes)
    (use,) = found(trace).devices
    assert use.use.compute_ns == 20 * 6 * MS
    assert trace.wall_ns == pytest.approx(200 * MS, rel=0.01)


def test_how_times_are_shown_says_nothing_of_their_unit(tmp_path: Path) -> None:
    document = {**job().document(), "displayTimeUnit": "ns"}
    (tmp_path / "t.json").write_text(json.dumps(document))
    (use,) = found(open_trace(tmp_path / "t.json")).devices
    assert use.use.compute_ns == 20 * 6 * MS


def test_launches_that_a_profiler_makes_slow_are_no_other_unit(tmp_path: Path) -> None:
    """Counters of a kernel are collected by running it several times, while its launch waits."""
    writer = job()
    for event in writer.events:
        if event["cat"] == "cuda_runtime":
            event["dur"] = 900.0
    writer.host_event("aten::view", 0, 2_000, category="cpu_op")
    trace = open_trace(writer.write(tmp_path / "t.json"))
    assert not any("nanoseconds" in note for note in trace.notes)
    assert trace.wall_ns == pytest.approx(200 * MS, rel=0.01)


def test_seconds_are_refused_and_never_guessed(tmp_path: Path) -> None:
    document = job().document()
    for event in document["traceEvents"]:
        event["ts"] = event["ts"] / 1e6
        if "dur" in event:
            event["dur"] = event["dur"] / 1e6
    (tmp_path / "t.json").write_text(json.dumps(document))
    with pytest.raises(UnreadableInputError, match="make no sense") as caught:
        open_trace(tmp_path / "t.json")
    assert "below 0.5 us" in caught.value.why


def test_a_base_is_not_added_to_times_that_have_it(tmp_path: Path) -> None:
    document = job().document()
    for event in document["traceEvents"]:
        event["ts"] += BASE_NS // 1000
    (tmp_path / "t.json").write_text(json.dumps(document))
    trace = open_trace(tmp_path / "t.json")
    assert trace.origin_unix_ns == pytest.approx(BASE_NS, abs=1000)
    assert any("count from 1970 already" in note for note in trace.notes)


@pytest.mark.parametrize("length", [float("nan"), float("inf"), None, "7", [1]])
def test_a_duration_that_is_no_number_is_counted_and_not_zero(length: Any, tmp_path: Path) -> None:
    trace = damaged(tmp_path / "t.json", dur=length)
    assert any("left out 1 event with a duration that is no number" in note for note in trace.notes)
    assert [kernel.count for kernel in found(trace).kernels] == [20]


@pytest.mark.parametrize(
    "changes",
    [
        {"ts": 3.6e9},
        {"ts": -3.6e9},
        {"ts": 3.6e9, "cat": "cpu_op"},
        {"ts": 3.6e9, "cat": "python_function"},
        {"ts": 3.6e9, "cat": "user_annotation", "pid": 4000, "tid": 4000},
        {"dur": 86400e6 * 500},
    ],
)
def test_an_event_far_outside_the_rest_is_set_aside_and_told(
    changes: dict[str, Any], tmp_path: Path
) -> None:
    trace = damaged(tmp_path / "t.json", **changes)
    assert trace.wall_ns < S
    assert any("set aside 1 event apart from all others" in note for note in trace.notes)
    assert [kernel.count for kernel in found(trace).kernels] == [20]


def test_a_pause_between_many_events_is_kept(tmp_path: Path) -> None:
    writer = job()
    for step in range(20, 40):
        start = 3600 * S + 10 * MS * step
        writer.step(step, start, start + 9 * MS)
        writer.kernel("gemm", start + MS, start + 7 * MS, launch=start)
    trace = open_trace(writer.write(tmp_path / "t.json"))
    assert trace.wall_ns > 3600 * S
    assert not any("set aside" in note for note in trace.notes)


def test_kernels_before_their_launch_withhold_why_devices_were_idle(tmp_path: Path) -> None:
    """The device's clock is 3 ms behind that of the host."""
    document = job().document()
    for event in document["traceEvents"]:
        if event["cat"] == "kernel":
            event["ts"] -= 3000
    (tmp_path / "t.json").write_text(json.dumps(document))
    trace = open_trace(tmp_path / "t.json")
    (use,) = found(trace).devices
    assert use.use.compute_ns == 20 * 6 * MS
    assert set(use.causes_s) == {IdleCause.UNKNOWN}
    assert (use.idle_s, use.steps) == ({}, ())
    assert any("clocks of device and host disagree" in note for note in trace.notes)
    told = analysis(trace, Options())
    assert (
        "20 of 20 device events begin up to 2.00 ms before"
        in (told["devices"]["devices"][0]["idle_reason"])
    )
    assert told["devices"]["launch_delay_s_median"] == [None]
    for tree in found(trace).efficiency.values():
        for factor in vars(tree).values():
            assert factor.value is None
            assert "begin up to 2.00 ms before" in (factor.reason or "")
    finding = next(one for one in told["findings"] if one["id"] == "idle_devices")
    assert finding["status"] == Status.NOT_MEASURED.value
    assert "begin up to 2.00 ms before" in finding["summary"]


def test_one_kernel_in_many_before_its_launch_is_no_other_clock(tmp_path: Path) -> None:
    writer = job()
    for step in range(20, 140):
        start = 10 * MS * step
        writer.kernel(
            "gemm", start + MS, start + 7 * MS, launch=start + (2 * MS if step == 70 else 0)
        )
    (use,) = found(open_trace(writer.write(tmp_path / "t.json"))).devices
    assert use.idle_reason is None
    assert np.isclose(sum(use.idle_s.values()), use.use.idle_ns / 1e9)


def test_events_left_out_are_counted_and_many_are_damage(tmp_path: Path) -> None:
    few = damaged(tmp_path / "few.json", dur=float("nan"))
    document = analysis(few, Options())
    rows = {row["id"]: row for row in document["quality"]}
    assert rows["dropped_records"]["title"] == "Records were left out"
    assert "rank 0: 1." in rows["dropped_records"]["detail"]
    assert document["run"]["damage"] == []
    written = job().document()
    kernels = [event for event in written["traceEvents"] if event.get("cat") == "kernel"]
    for event in kernels[::2]:
        event["dur"] = float("nan")
    path = tmp_path / "many.json"
    path.write_text(json.dumps(written))
    document = analysis(open_trace(path), Options())
    assert "damaged: 10 of its" in document["verdict"]["sentence"]
    for tree in document["devices"]["efficiency"].values():
        assert [factor["value"] for factor in tree.values()] == [None] * 4


def test_what_a_cut_took_lies_anywhere_and_no_efficiency_is_given(tmp_path: Path) -> None:
    """Profilers write the host first: half of a file holds its whole time, and few kernels."""
    place = tmp_path / "a.json"
    writer = KinetoWriter()
    writer.step(1, 0, 100_000)
    writer.kernel("gemm", 10_000, 50_000, launch=5_000)
    writer.kernel("gemm", 50_000, 90_000, launch=6_000)
    text = json.dumps(writer.document())
    place.write_text(text)
    assert analysis(open_trace(place), Options())["devices"]["value"] is not None
    place.write_text(text[: text.rindex('"gemm"')])
    devices = analysis(open_trace(place), Options())["devices"]
    assert devices["value"] is None
    assert "ends in the middle" in devices["reason"]
