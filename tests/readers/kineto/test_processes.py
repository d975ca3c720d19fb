"""A file that holds several processes: each is a rank with its own devices, or it is told."""

import json
from pathlib import Path
from typing import Any

import pytest

from perfscope.attribution.preparation import prepare
from perfscope.dataframes.source import Source
from perfscope.export.chrome import write
from perfscope.metrics.compute import compute
from perfscope.metrics.devices.devices import BSC, devices
from perfscope.metrics.results import Options
from perfscope.readers.registry import open_trace
from perfscope.schema.enums import PhaseKind
from perfscope.trace.model import Trace
from perfscope.trace.operations import name_of
from tests.support.environments import REPOSITORY
from tests.support.trace_invariants import check_trace
from tests.support.write_kineto import BASE_NS, KinetoWriter

MS = 1_000_000
SAMPLES = REPOSITORY / "sample_traces"


def rank_of_job(rank: int, *, device: int) -> KinetoWriter:
    """Ten steps of 100 ms in which the device of rank 0 works 60 ms and that of rank 1 20 ms."""
    writer = KinetoWriter(rank=rank, world_size=2, pid=500 + rank, device=device)
    for step in range(10):
        start = step * 100 * MS + rank
        writer.step(step, start, start + 100 * MS)
        length = (60, 20)[rank] * MS
        writer.kernel("gemm", start + MS, start + MS + length, launch=start)
        writer.allreduce(start + 80 * MS + rank * MS, start + 90 * MS, launch=start)
    return writer


def merged(path: Path, *writers: KinetoWriter) -> Path:
    """What tools write that put the profiles of several ranks into one file for a viewer."""
    names: list[dict[str, Any]] = [
        {"ph": "M", "name": "process_name", "pid": w.pid, "ts": 0, "args": {"name": "python"}}
        for w in writers
    ]
    events = [event for writer in writers for event in writer.events]
    path.write_text(json.dumps({"baseTimeNanoseconds": BASE_NS, "traceEvents": [*names, *events]}))
    return path


def busy_ms(trace: Trace) -> dict[int, float]:
    found = devices(prepare(trace))
    assert found is not None
    assert len({one.rank for one in found.devices}) == len(found.devices)
    return {one.rank: one.use.compute_ns / MS for one in found.devices}


def test_merged_profiles_are_ranks_with_devices_of_their_own(tmp_path: Path) -> None:
    """Both number their launches alike; rank 1 has one more, by which its device is known."""
    one, two = rank_of_job(0, device=0), rank_of_job(1, device=1)
    two.kernel("extra", 995 * MS, 996 * MS, launch=994 * MS)
    trace = open_trace(merged(tmp_path / "all.json", one, two))
    check_trace(trace)
    assert [(rank.number, rank.pid) for rank in trace.ranks] == [(0, 500), (1, 501)]
    assert {rank.clock_domain for rank in trace.ranks} == {0}
    assert any("holds 2 processes of the host" in note for note in trace.notes)
    assert busy_ms(trace) == pytest.approx({0: 600.0, 1: 201.0})
    launches = [rank.devices.rows["launch"] for rank in trace.ranks if rank.devices is not None]
    assert (launches[1][0] - launches[0][0]) == 1


def test_devices_that_are_named_like_their_rank_belong_to_it(tmp_path: Path) -> None:
    """Tools that put ranks into one file number devices anew: nothing else tells whose they are."""
    writers = [rank_of_job(rank, device=rank) for rank in (0, 1)]
    path = merged(tmp_path / "all.json", *writers)
    document = json.loads(path.read_text())
    for rank, writer in enumerate(writers):
        for pid, what in ((writer.pid, "CPU"), (rank, "GPU")):
            name = {"name": f"RANK {rank} - {what}"}
            told = {"ph": "M", "name": "process_name", "pid": pid, "ts": 0, "args": name}
            document["traceEvents"].append(told)
    path.write_text(json.dumps(document))
    trace = open_trace(path)
    check_trace(trace)
    assert [rank.number for rank in trace.ranks] == [0, 1]
    assert not trace.damage
    assert busy_ms(trace) == pytest.approx({0: 600.0, 1: 200.0})


def test_names_of_processes_that_do_nothing_make_no_ranks(tmp_path: Path) -> None:
    """A launcher's and a viewer's names for two ranks; all events are of a third process."""
    writer = rank_of_job(0, device=0)
    path = merged(tmp_path / "one.json", writer)
    document = json.loads(path.read_text())
    document["traceEvents"] += [
        {"ph": "M", "name": "process_name", "pid": pid, "ts": 0, "args": {"name": f"rank {pid}"}}
        for pid in (1, 2)
    ]
    path.write_text(json.dumps(document))
    trace = open_trace(path)
    assert [rank.pid for rank in trace.ranks] == [500]
    assert busy_ms(trace) == pytest.approx({trace.ranks[0].number: 600.0})


def test_an_export_that_does_not_tell_its_time_is_judged_over_all_of_it(tmp_path: Path) -> None:
    trace = exported(open_trace(SAMPLES / "rank_zero_evaluation"), tmp_path / "t.json")
    trace.judged = None
    assert compute(trace).focus.kind == "whole_trace"


def test_devices_that_could_be_of_either_process_are_left_out_and_told(tmp_path: Path) -> None:
    one, two = rank_of_job(0, device=0), rank_of_job(1, device=1)
    trace = open_trace(merged(tmp_path / "all.json", one, two))
    check_trace(trace)
    assert any("40 of 40 device events that could not be given" in note for note in trace.notes)
    assert all(not len(rank.devices.rows) for rank in trace.ranks if rank.devices is not None)


def test_devices_are_known_by_the_launches_of_their_process(tmp_path: Path) -> None:
    one, two = rank_of_job(0, device=0), rank_of_job(1, device=0)
    for event in two.events:
        if "correlation" in event.get("args", {}):
            event["args"]["correlation"] += 1000
    trace = open_trace(merged(tmp_path / "all.json", one, two))
    assert busy_ms(trace) == pytest.approx({0: 600.0, 1: 200.0})
    for rank in trace.ranks:
        assert rank.devices is not None
        assert rank.devices.without_launch == 0


def test_annotations_of_another_process_make_no_rank_and_are_told(tmp_path: Path) -> None:
    writer = rank_of_job(0, device=0)
    writer.event("X", "user_annotation", "load", 5, dur=3.0, pid=777, tid=1)
    trace = open_trace(writer.write(tmp_path / "one.json"))
    assert len(trace.ranks) == 1
    assert any("annotations of 2 processes" in note for note in trace.notes)


@pytest.mark.parametrize("label", ["GPU 0", "XPU 3", "NPU", "MTIA 1", ""])
def test_a_process_of_a_device_is_no_rank(label: str, tmp_path: Path) -> None:
    """Calls of the device's runtime stand in its own process, beside its kernels."""
    writer = rank_of_job(0, device=3)
    for step in range(5):
        start = step * 100 * MS + 70 * MS
        call = {"dur": 5.0, "pid": 3, "tid": 7, "args": {"correlation": 900 + step}}
        writer.event("X", "cuda_runtime", "deviceLaunch", start, **call)
        row = {"dur": 4000.0, "pid": 3, "tid": 7, "args": {"correlation": 900 + step, "device": 3}}
        writer.event("X", "kernel", "tail", start + MS, **row)
    if label:
        labels = {"name": "process_labels", "args": {"labels": label}}
        writer.events.append({"ph": "M", "pid": 3, "ts": 0, **labels})
    trace = open_trace(writer.write(tmp_path / "one.json"))
    check_trace(trace)
    assert [(rank.number, rank.pid) for rank in trace.ranks] == [(0, 500)]
    assert busy_ms(trace) == pytest.approx({0: 620.0})


def test_a_device_that_also_holds_annotations_is_no_rank(tmp_path: Path) -> None:
    """The process has the number of its device, and no label."""
    writer = rank_of_job(0, device=3)
    for step in range(5):
        start = step * 100 * MS
        place = {"pid": 3, "tid": 7, "dur": 5.0}
        writer.event("X", "user_annotation", "forward", start, **place)
        writer.event("X", "cuda_runtime", "deviceLaunch", start, **place)
    trace = open_trace(writer.write(tmp_path / "one.json"))
    assert [(rank.number, rank.pid) for rank in trace.ranks] == [(0, 500)]
    assert busy_ms(trace) == pytest.approx({0: 600.0})


def test_a_process_that_launches_nothing_is_no_rank_and_takes_no_work(tmp_path: Path) -> None:
    """A worker of the loader that only asks for the number of devices."""
    writer = rank_of_job(0, device=0)
    for step in range(5):
        call = {"pid": 900, "tid": 900, "dur": 5.0}
        writer.event("X", "cuda_runtime", "cudaGetDeviceCount", step * 100 * MS, **call)
    trace = open_trace(writer.write(tmp_path / "one.json"))
    assert [(rank.number, rank.pid) for rank in trace.ranks] == [(0, 500)]
    assert busy_ms(trace) == pytest.approx({0: 600.0})


def exported(trace: Trace, path: Path) -> Trace:
    assert write(Source(trace), path) == []
    back = open_trace(path)
    check_trace(back)
    return back


@pytest.mark.parametrize("name", ["rank_zero_evaluation", "ddp_slow_rank", "daal4py_imbalance"])
def test_an_exported_recording_has_the_efficiencies_of_the_original(
    tmp_path: Path, name: str
) -> None:
    trace = open_trace(SAMPLES / name)
    back = exported(trace, tmp_path / "out.json")
    for rank, again in zip(trace.ranks, back.ranks, strict=True):
        assert (again.number, again.host, again.pid) == (rank.number, rank.host, rank.pid)
        calls, times = rank.operations, again.operations
        assert [name_of(op) for op in times["op"]] == [name_of(op) for op in calls["op"]]
        assert times["sent"].tolist() == calls["sent"].tolist()
    results = compute(trace)
    ahead = back.origin_unix_ns - trace.origin_unix_ns
    start, end = (moment - ahead for moment in (results.focus.start_ns, results.focus.end_ns))
    others = compute(back, Options(focus=f"{start / 1e9:.9f}:{end / 1e9:.9f}"))
    for metric in ("parallel_efficiency", "load_balance", "communication_efficiency"):
        value = getattr(results.efficiency, metric).value
        assert getattr(others.efficiency, metric).value == pytest.approx(value, rel=1e-8), metric
    assert [phase.id for phase in others.phases] == [phase.id for phase in results.phases]


def test_exported_devices_stay_with_their_ranks(tmp_path: Path) -> None:
    """`device 0` of two ranks are two devices, and the collectives meet again."""
    for rank in range(2):
        rank_of_job(rank, device=0).write(tmp_path / f"rank{rank}.json")
    trace = open_trace(tmp_path)
    back = exported(trace, tmp_path / "out.json.gz")
    assert busy_ms(back) == busy_ms(trace)
    first, again = devices(prepare(trace)), devices(prepare(back))
    assert first is not None
    assert again is not None
    value = first.efficiency[BSC].parallel_efficiency.value
    assert again.efficiency[BSC].parallel_efficiency.value == pytest.approx(value, rel=1e-6)
    assert again.communication.matched == first.communication.matched == 10
    assert again.communication.last == first.communication.last == (0, 10)
    for mine, theirs in zip(trace.ranks, back.ranks, strict=True):
        assert mine.devices is not None
        assert theirs.devices is not None
        assert (theirs.devices.rows["launch"] - theirs.devices.rows["t0"]).tolist() == (
            mine.devices.rows["launch"] - mine.devices.rows["t0"]
        ).tolist()
    numbers = [event["id"] for event in _flows(tmp_path / "out.json.gz")]
    assert all(type(number) is int for number in numbers)
    assert len(set(numbers)) == len(numbers) == 40


def _flows(path: Path) -> list[dict[str, Any]]:
    import gzip

    events = json.loads(gzip.decompress(path.read_bytes()))["traceEvents"]
    return [event for event in events if event["ph"] == "s"]


def test_exported_phases_keep_their_ids_and_horovods_calls_their_thread(tmp_path: Path) -> None:
    back = exported(open_trace(SAMPLES / "sgan_evaluation"), tmp_path / "out.json")
    kinds = {PhaseKind(kind) for rank in back.ranks for kind in rank.phases["kind"].tolist()}
    assert {PhaseKind.EVALUATE, PhaseKind.PREDICT, PhaseKind.TRAIN} <= kinds
    assert not any("when tensors were ready" in note for note in back.notes)
    assert all(len(rank.background) for rank in back.ranks)
