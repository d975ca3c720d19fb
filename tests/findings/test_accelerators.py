"""What devices wait for, copy and communicate: on jobs with a known fault, and on healthy ones."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from perfscope.findings.core.catalog import diagnoses
from perfscope.findings.core.finding import Finding
from perfscope.findings.facts.idle_causes import WORDS
from perfscope.metrics.results import Options
from perfscope.readers.registry import open_traces
from perfscope.schema.check import problems
from perfscope.schema.enums import Basis, Confidence, PhaseKind, Status
from tests.findings.analyzed import analyze_trace
from tests.findings.training_runs import Plan, training_run
from tests.support.write_kineto import PID, KinetoWriter
from tests.support.write_recording import REAL_START_NS, ProcessWriter, write_run

US, MS = 1_000, 1_000_000
STEPS = 20
PROFILED = ("idle_devices", "exposed_device_communication", "device_copies", "tensor_cores")
Step = Callable[[KinetoWriter, int], None]


def findings(place: Path, *steps: Step, capability: tuple[int, int] = (9, 0)) -> dict[str, Finding]:
    """Of a job in which each rank repeats a step of 100 ms."""
    for rank, step in enumerate(steps):
        writer = KinetoWriter(rank=rank, world_size=len(steps), capability=capability)
        for number in range(STEPS):
            start = number * 100 * MS
            writer.step(number, start, start + 100 * MS)
            step(writer, start)
        writer.write(place / f"rank{rank}.json")
    return analyze_trace(open_traces([place])).findings


def busy(writer: KinetoWriter, start: int) -> None:
    """Launched in time, one kernel all the time."""
    writer.kernel("ampere_bf16_s16816gemm", start, start + 98 * MS, launch=start)


def starved(writer: KinetoWriter, start: int) -> None:
    writer.host_event("enumerate(DataLoader)#_Iter.__next__", start, start + 60 * MS)
    writer.kernel("gemm", start + 60 * MS, start + 100 * MS, launch=start + 60 * MS)


def launch_bound(writer: KinetoWriter, start: int) -> None:
    """Kernels of 20 us, each launched 75 us after the one before had ended."""
    for place in range(1000):
        begin = start + place * 100 * US
        writer.kernel("add", begin + 80 * US, begin + 100 * US, launch=begin + 75 * US)


def synchronizing(writer: KinetoWriter, start: int) -> None:
    """After each kernel the host waits for it, then computes for 2 ms and launches the next."""
    for place in range(10):
        begin = start + place * 10 * MS
        writer.kernel("gemm", begin + 3 * MS, begin + 10 * MS, launch=begin + 3 * MS)
        writer.host_event(
            "cudaStreamSynchronize", begin + 3 * MS, begin + 10 * MS + US, "cuda_runtime"
        )


def host_bound(writer: KinetoWriter, start: int) -> None:
    writer.kernel("gemm", start + 50 * MS, start + 100 * MS, launch=start + 50 * MS)


def queued_short(writer: KinetoWriter, start: int) -> None:
    """All launched before the step; 25 us pass before each of the kernels."""
    for place in range(800):
        begin = start + place * 125 * US
        writer.kernel("add", begin + 25 * US, begin + 125 * US, launch=start - MS)


def held_up(writer: KinetoWriter, start: int) -> None:
    """Launched in time, and begun 40 ms later: something else on the device was awaited."""
    writer.kernel("gemm", start + 40 * MS, start + 100 * MS, launch=start - MS)


@pytest.mark.parametrize(
    ("step", "words", "idle_s"),
    [
        (starved, "while the host waits for input", 1.2),
        (launch_bound, "because it is launch bound", 1.6),
        (synchronizing, "because the host waited for the device", 0.6),
        (host_bound, "while the host does other work", 1.0),
        (queued_short, "between kernels that were launched in time", 0.4),
        (held_up, "waits for another stream or an event", 0.8),
    ],
)
def test_the_cause_of_idle_time_is_named(
    step: Step, words: str, idle_s: float, tmp_path: Path
) -> None:
    found = findings(tmp_path, step)["idle_devices"]
    assert found.status is Status.FAIL
    assert words in found.title
    assert found.gain_basis is Basis.UPPER_BOUND
    assert found.gain_s == pytest.approx(idle_s, rel=0.06)
    assert found.actions


def test_a_wait_costs_at_most_its_own_length(tmp_path: Path) -> None:
    """A wait of 1 ms ends in each gap of 9 ms: the other 8 the host works."""

    def step(writer: KinetoWriter, start: int) -> None:
        for place in range(10):
            begin = start + place * 10 * MS
            writer.kernel("gemm", begin, begin + MS, launch=begin)
            writer.host_event("cudaStreamSynchronize", begin, begin + MS, "cuda_runtime")

    found = findings(tmp_path, step)["idle_devices"]
    assert "while the host does other work" in found.title
    told = {row.label: row.value for row in found.evidence}
    host = told["Idle while the host does other work before it launches the next kernel"]
    waits = [value for label, value in told.items() if "because the host waited" in label]
    assert host == pytest.approx(199 * 0.008)
    assert waits == [pytest.approx(199 * 0.001)]


def test_what_is_before_and_after_all_work_is_told_and_not_priced(tmp_path: Path) -> None:
    def step(writer: KinetoWriter, start: int) -> None:
        if 8 * 100 * MS <= start < 16 * 100 * MS:
            busy(writer, start)

    found = findings(tmp_path, step)["idle_devices"]
    assert (found.status, found.gain_s) == (Status.INFO, None)
    assert "no work yet, or no more, 60" in found.title


def test_the_title_says_of_which_time_and_device_its_share_is(tmp_path: Path) -> None:
    """Of 20 steps one device works in all, half of the time, and the other in the first ten."""

    def short(writer: KinetoWriter, start: int) -> None:
        if start < STEPS // 2 * 100 * MS:
            writer.kernel("gemm", start, start + 90 * MS, launch=start)

    found = findings(tmp_path, host_bound, short)["idle_devices"]
    assert found.title.startswith(
        "Devices are idle 26.0 % (one 47.5 %) of the time watched between their first and last work"
    )


def test_where_nothing_names_functions_the_advice_is_to_record_them(tmp_path: Path) -> None:
    writer = KinetoWriter()
    for number in range(STEPS):
        host_bound(writer, number * 100 * MS)
    writer.write(tmp_path / "rank0.json")
    found = analyze_trace(open_traces([tmp_path])).findings["idle_devices"]
    assert found.actions[0].startswith("Record the job with perfscope run")


def test_idle_time_of_unknown_cause_is_not_priced(tmp_path: Path) -> None:
    def step(writer: KinetoWriter, start: int) -> None:
        writer.kernel("gemm", start + 50 * MS, start + 100 * MS)

    found = findings(tmp_path, step)["idle_devices"]
    assert (found.status, found.gain_s) == (Status.WARN, None)
    assert found.confidence is Confidence.LOW


def test_a_busy_device_gives_no_finding(tmp_path: Path) -> None:
    found = findings(tmp_path, busy)
    assert found["idle_devices"].status is Status.PASS
    assert found["device_copies"].status is Status.PASS
    assert found["tensor_cores"].status is Status.PASS
    assert found["exposed_device_communication"].status is Status.NOT_APPLICABLE
    assert not {f.id for f in found.values() if f.status in (Status.FAIL, Status.WARN)}


def test_hidden_communication_is_no_fault(tmp_path: Path) -> None:
    def step(writer: KinetoWriter, start: int) -> None:
        busy(writer, start)
        writer.allreduce(start + 10 * MS, start + 90 * MS, launch=start)

    found = findings(tmp_path, step, step)["exposed_device_communication"]
    assert found.status is Status.PASS


@pytest.mark.parametrize(
    ("name", "action"),
    [
        ("Memcpy HtoD (Pageable -> Device)", "pin_memory=True"),
        ("Memcpy HtoD (Pinned -> Device)", "torch.cuda.Stream"),
        ("Memcpy DtoH (Device -> Pageable)", "read losses"),
        ("CopyHostToDevice", "pin_memory=True"),
    ],
)
def test_copies_that_nothing_hides_name_the_remedy(name: str, action: str, tmp_path: Path) -> None:
    def step(writer: KinetoWriter, start: int) -> None:
        writer.kernel(
            name,
            start,
            start + 20 * MS,
            launch=start,
            category="gpu_memcpy",
            arguments={"bytes": 5_000_000},
        )
        writer.kernel("gemm", start + 15 * MS, start + 100 * MS, launch=start)

    found = findings(tmp_path, step)["device_copies"]
    assert found.status is Status.FAIL
    assert found.gain_s == pytest.approx(20 * 0.015)
    assert action in found.actions[0]


def test_copies_between_devices_and_hidden_ones_do_not_count(tmp_path: Path) -> None:
    def step(writer: KinetoWriter, start: int) -> None:
        busy(writer, start)
        for name in ("Memcpy DtoD (Device -> Device)", "Memcpy HtoD (Pageable -> Device)"):
            writer.kernel(name, start, start + 30 * MS, launch=start, category="gpu_memcpy")

    assert findings(tmp_path, step)["device_copies"].status is Status.PASS


def test_copies_of_unknown_direction_are_not_passed(tmp_path: Path) -> None:
    def step(writer: KinetoWriter, start: int) -> None:
        writer.kernel("memcpy", start, start + 20 * MS, launch=start, category="gpu_memcpy")
        writer.kernel("gemm", start + 20 * MS, start + 100 * MS, launch=start)

    found = findings(tmp_path, step)["device_copies"]
    assert found.status is Status.NOT_MEASURED
    assert "--torch-profiler" in found.summary


def test_single_precision_is_told_where_tensor_cores_are(tmp_path: Path) -> None:
    def step(writer: KinetoWriter, start: int) -> None:
        writer.kernel("ampere_sgemm_128x64_nn", start, start + 60 * MS, launch=start)
        writer.kernel("elementwise", start + 60 * MS, start + 98 * MS, launch=start)

    found = findings(tmp_path, step)["tensor_cores"]
    assert (found.status, found.gain_s) == (Status.INFO, None)
    assert any("set_float32_matmul_precision('high')" in action for action in found.actions)
    older = findings(tmp_path, step, capability=(7, 0))["tensor_cores"]
    assert "torch.float16" in older.actions[0]
    assert findings(tmp_path, step, capability=(6, 1))["tensor_cores"].status is (
        Status.NOT_APPLICABLE
    )


def test_names_that_tell_of_little_computing_do_not_pass(tmp_path: Path) -> None:
    def step(writer: KinetoWriter, start: int) -> None:
        writer.kernel("ampere_bf16_s16816gemm", start, start + 5 * MS, launch=start)
        writer.kernel("elementwise", start + 5 * MS, start + 98 * MS, launch=start)

    assert findings(tmp_path, step)["tensor_cores"].status is Status.NOT_APPLICABLE


def test_findings_that_share_idle_time_exist() -> None:
    known = {diagnosis.id for diagnosis in diagnoses()}
    assert {name for words in WORDS.values() for name in words.overlaps} <= known


def recorded(place: Path, *, with_torch: bool = False, is_starved: bool = False) -> Path:
    """A recording of one rank: 40 steps of 100 ms from second 1 to 5; 60 ms wait for input."""
    process = ProcessWriter(rank=0, size=1, pid=PID)
    process.communicator(0, 77, [0])
    process.op("MPI_Init", 0.1, 0.5)
    for number in range(40):
        process.step(number, 1.0 + number / 10, 1.1 + number / 10)
        if is_starved:
            process.phase(PhaseKind.INPUT, 1.0 + number / 10, 1.06 + number / 10, "DataLoader")
    process.op("MPI_Finalize", 6.0, 6.1)
    process.header |= {
        "init_exit_ns": process.mono(0.5),
        "finalize_enter_ns": process.mono(6.0),
        "alive_ns": process.mono(6.9),
        "exit_ns": process.mono(7.0),
    }
    device = {"uuid": "x", "reserved_bytes": 5}
    process.metadata = {
        "schema": 1,
        "role": "rank",
        "frameworks": {"torch": {"devices": [device]}} if with_torch else {},
    }
    process.write(place)
    write_run(place)
    return place


def profile(place: Path, step: Step) -> None:
    """What --torch-profiler 10:20 leaves beside the recording: ten steps, from second 2 on."""
    writer = KinetoWriter(base_ns=REAL_START_NS + 2 * 10**9)
    for number in range(10):
        writer.step(number, number * 100 * MS, (number + 1) * 100 * MS)
        step(writer, number * 100 * MS)
    writer.write(next(place.glob("*/*.rec")).with_suffix(".torch-trace.json.gz"))


def test_a_profiler_window_beside_a_recording_feeds_the_findings(tmp_path: Path) -> None:
    place = recorded(tmp_path / "trace", is_starved=True)
    profile(place, starved)
    analyzed = analyze_trace(open_traces([place]))
    assert analyzed.results.devices is not None
    assert analyzed.results.devices.is_part
    assert analyzed.results.focus.kind == "communication_lifetime"
    found = analyzed.findings["idle_devices"]
    assert found.status is Status.FAIL
    assert "while the host waits for input" in found.title
    # Ten steps, without the first, which waits for the profiler to start.
    assert "In the 900 ms that a profiler watched" in found.summary.replace("\xa0", " ")
    assert (found.gain_s, found.gain_share, found.gain_basis) == (None, None, None)
    document: Any = analyzed.document()
    assert list(problems(document)) == []
    (row,) = [row for row in document["quality"] if row["id"] == "device_window"]
    assert "watched the devices for 900 ms" in row["detail"].replace("\xa0", " ")
    whole = analyze_trace(open_traces([place]), Options(focus="0:3"))
    assert whole.results.devices is not None
    assert whole.results.devices.window_ns[1] <= 3 * 10**9


def test_waits_for_the_device_come_with_the_profiler_window(tmp_path: Path) -> None:
    place = recorded(tmp_path / "trace")
    profile(place, synchronizing)
    found = analyze_trace(open_traces([place])).findings["idle_devices"]
    assert found.status is Status.FAIL
    assert "because the host waited for the device" in found.title


def test_without_a_profile_the_flag_is_named(tmp_path: Path) -> None:
    found = analyze_trace(open_traces([recorded(tmp_path / "trace", with_torch=True)])).findings
    for name in PROFILED:
        assert found[name].status is Status.NOT_MEASURED
        assert "--torch-profiler" in found[name].summary


def test_runs_without_accelerators_list_none_of_them(tmp_path: Path) -> None:
    gpu = {"gpu_utilization", "shared_gpus", "gpu_memory", "throttled_gpus"}
    found = analyze_trace(open_traces([recorded(tmp_path / "trace")])).findings
    assert not (gpu | set(PROFILED)) & set(found)
    assert not (gpu | set(PROFILED)) & set(analyze_trace(training_run(Plan())).findings)


PYTORCH = re.compile(r"torch|DataLoader|ProfilerActivity|\.item\(\)|non_blocking|CUDA_ALLOC")


@pytest.mark.parametrize("step", [launch_bound, synchronizing, queued_short, starved, host_bound])
def test_a_profile_of_another_framework_gets_no_advice_of_pytorch(
    step: Step, tmp_path: Path
) -> None:
    writer = KinetoWriter(capability=(9, 0))
    for number in range(STEPS):
        start = number * 100 * MS
        writer.host_event("PjitFunction(train_step)", start, start + 100 * MS, "cpu_op")
        step(writer, start)
        writer.kernel(
            "Memcpy HtoD (Pageable -> Device)",
            start + 90 * MS,
            start + 99 * MS,
            launch=start,
            category="gpu_memcpy",
            arguments={"bytes": 5_000_000},
        )
        writer.kernel("ampere_sgemm_128x64_nn", start + 99 * MS, start + 100 * MS, launch=start)
    writer.write(tmp_path / "rank0.json")
    found = analyze_trace(open_traces([tmp_path])).findings
    advice = [action for name in PROFILED for action in found[name].actions]
    assert advice
    assert [action for action in advice if PYTORCH.search(action)] == []
