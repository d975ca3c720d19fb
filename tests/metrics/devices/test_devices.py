"""What devices did: against a worked example, an oracle, and an epoch whose answer is known."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perfscope import _core
from perfscope.attribution.preparation import prepare
from perfscope.document.analysis import analysis
from perfscope.metrics.compute import compute
from perfscope.metrics.devices.devices import BSC, TALP, devices, efficiency
from perfscope.metrics.devices.occupancy import Occupancy, occupancy
from perfscope.metrics.results import Options
from perfscope.readers.registry import open_trace
from perfscope.schema.check import problems
from perfscope.schema.enums import Account, IdleCause
from perfscope.trace.devices import DEVICE_DTYPE, LAUNCH_UNKNOWN, DeviceKind
from perfscope.trace.model import Table
from tests.support.kineto_peers import common, length, union
from tests.support.requirements import require_reference
from tests.support.write_kineto import KinetoWriter

MS = 1_000_000
COMPUTE, TALK, COPY, FILL = DeviceKind
Row = tuple[int, int, DeviceKind]


def rows(*intervals: Row, device: int = 0, stream: int = 7) -> Table:
    table = np.zeros(len(intervals), DEVICE_DTYPE)
    for place, (start, end, kind) in enumerate(sorted(intervals)):
        table["t0"][place], table["t1"][place], table["kind"][place] = start, end, kind
    table["device"], table["stream"], table["launch"] = device, stream, LAUNCH_UNKNOWN
    return table


def used(table: Table, start: int, end: int) -> Occupancy:
    return occupancy(table, [(start, end)])[0][0]


def test_the_worked_example_of_basicanalysis() -> None:
    """Kernels are useful, NCCL and memory operations that no kernel hides are communication."""

    published = json.loads(require_reference("expected.json").read_text())["gpu_worked_example"]
    uses = []
    for name in ("D0", "D1"):
        told = published[name]
        table = rows(
            *[(start, end, COMPUTE) for start, end in told["kernels"]],
            *[(start, end, COPY) for start, end in told["mem"]],
            *[(start, end, TALK) for start, end in told.get("nccl", [])],
        )
        use = used(table, 0, 400)
        assert use.compute_ns == told["useful"]
        assert use.busy_ns - use.compute_ns == told["comm_only"]
        uses.append(use)
    assert sum(use.compute_ns for use in uses) == published["sum_useful"]
    assert max(use.compute_ns for use in uses) == published["max_useful"]
    assert sum(use.busy_ns for use in uses) == published["sum_active"]
    assert max(use.busy_ns for use in uses) == published["max_active"]
    tree = efficiency(uses, BSC, "whole")
    assert tree.load_balance.value == 190 / (2 * 150)
    assert tree.communication_efficiency.value == 150 / 210
    assert tree.orchestration_efficiency.value == 210 / 400
    assert tree.parallel_efficiency.value == 190 / 800
    other = efficiency(uses, TALP, "whole")
    assert other.load_balance.value == (150 + 70) / (2 * 150)


def test_devices_that_only_copy_have_no_efficiency_and_no_zero() -> None:
    tree = efficiency([used(rows((0, 10, COPY)), 0, 100)], BSC, "whole")
    factors = (tree.load_balance, tree.communication_efficiency, tree.orchestration_efficiency)
    for metric in (tree.parallel_efficiency, *factors):
        assert metric.value is None
        assert "no device ran a kernel" in (metric.reason or "")


INTERVALS = st.lists(
    st.tuples(st.integers(-50, 100), st.integers(0, 60), st.sampled_from(list(DeviceKind))).map(
        lambda one: (one[0], one[0] + one[1], one[2])
    ),
    max_size=25,
)


@given(INTERVALS, st.integers(-60, 100), st.integers(0, 120))
@settings(deadline=None)
def test_unions_are_those_of_a_plain_computation(
    intervals: list[Row], start: int, long: int
) -> None:
    end = start + long
    table = rows(*intervals)
    clipped = [
        (max(a, start), min(b, end), kind) for a, b, kind in intervals if b > start and a < end
    ]

    def covered(*kinds: DeviceKind) -> list[list[float]]:
        chosen = [one for one in clipped if one[2] in kinds]
        return union(np.array([a for a, _, _ in chosen]), np.array([b for _, b, _ in chosen]))

    if not intervals:
        assert occupancy(table, [(start, end)]) == {}
        return
    use = used(table, start, end)
    assert use.window_ns == long
    assert use.busy_ns == length(covered(*DeviceKind))
    assert use.compute_ns == length(covered(COMPUTE))
    assert use.communication_ns == length(covered(TALK))
    assert use.memcpy_ns == length(covered(COPY))
    hidden = common(covered(TALK), covered(COMPUTE))
    assert use.exposed_communication_ns == use.communication_ns - hidden
    memory, kernels = covered(COPY, FILL), covered(COMPUTE, TALK)
    assert use.exposed_memory_ns == length(memory) - common(memory, kernels)


@given(INTERVALS.filter(bool))
@settings(deadline=None)
def test_gaps_of_a_stream_and_its_work_make_up_the_window(intervals: list[Row]) -> None:
    table = rows(*intervals)
    (found,) = _core.stream_idle(table.view(np.uint8), (-100, 300), 5)
    assert sum(found[3:]) == 400
    assert found[2] == len(intervals)


def test_gaps_are_told_apart_by_their_launch() -> None:
    table = rows(
        *[(0, 100, COMPUTE), (110, 200, COMPUTE), (290, 300, COMPUTE), (500, 600, COMPUTE)]
    )
    table["launch"] = [0, 50, 50, 400]
    (found,) = _core.stream_idle(table.view(np.uint8), (0, 700), 30)
    assert found == (0, 7, 4, 300, 200, 10, 90, 100)


def test_rows_out_of_order_are_refused() -> None:
    table = rows((0, 1, COMPUTE), (5, 6, COMPUTE))[::-1].copy()
    with pytest.raises(ValueError, match="out of order"):
        _core.device_use(table.view(np.uint8), [(0, 10)])


def starved_rank(rank: int, *, ranks: int = 2, steps: int = 40, skew_ns: int = 0) -> KinetoWriter:
    """100 ms a step: 50 ms waiting for input, then 40 ms of kernels and 20 of communication.

    Communication overlaps with computation for half of its time. Rank 1 begins its collective
    1 ms later than the others; all leave it together.
    """
    writer = KinetoWriter(rank=rank, world_size=ranks, host=f"node{rank}")
    for step in range(steps):
        start = step * 100 * MS + skew_ns
        writer.step(step + 3, start, start + 100 * MS)
        name = "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__"
        writer.host_event(name, start, start + 50 * MS)
        begin = start + 50 * MS
        writer.kernel("gemm", begin, begin + 40 * MS, launch=begin)
        late = MS if rank == 1 else 0
        writer.allreduce(begin + 30 * MS + late, begin + 50 * MS, launch=begin)
    return writer


@pytest.fixture
def starved(tmp_path: Path) -> Path:
    for rank in range(2):
        starved_rank(rank).write(tmp_path / f"rank{rank}.json.gz")
    return tmp_path


def test_an_epoch_starved_by_its_input_gives_its_numbers(starved: Path) -> None:
    trace = open_trace(starved)
    found = devices(prepare(trace))
    assert found is not None
    assert [device.rank for device in found.devices] == [0, 1]
    for device in found.devices:
        assert device.use.window_ns == 4_000 * MS
        assert device.use.idle_ns == 2_000 * MS
        assert device.use.compute_ns == 1_600 * MS
        assert device.use.exposed_communication_ns == 400 * MS
        assert device.idle_s[Account.INPUT_WAIT] == pytest.approx(2.0)
        assert sum(device.idle_s.values()) == pytest.approx(2.0)
        assert {step.idle_ns for step in device.steps} == {50 * MS}
        assert device.name == "A GPU"
    tree = found.efficiency[BSC]
    assert tree.parallel_efficiency.value == pytest.approx(0.4)
    assert tree.load_balance.value == 1.0
    assert tree.communication_efficiency.value == pytest.approx(0.8)
    assert tree.orchestration_efficiency.value == pytest.approx(0.5)
    assert found.efficiency[TALP].parallel_efficiency.value == pytest.approx(0.5)
    assert found.kernels[0].name == "gemm"
    assert found.kernels[0].count == 80
    assert found.kernels[0].seconds == pytest.approx(3.2)


def test_collectives_of_devices_are_split_by_arrival(starved: Path) -> None:
    found = devices(prepare(open_trace(starved)))
    assert found is not None
    talk = found.communication
    assert talk.reason is None
    assert talk.matched == 40
    assert talk.unmatched == 0
    assert talk.last == (0, 40)
    assert talk.wait_s == pytest.approx((0.04, 0.0))
    assert talk.transfer_s == pytest.approx((0.76, 0.76))


def test_clocks_of_ranks_are_brought_together_by_their_kernels(tmp_path: Path) -> None:
    """Two hosts whose clocks are 250 ms apart: kernels end together, and so do the clocks."""
    starved_rank(0).write(tmp_path / "a.json")
    starved_rank(1, skew_ns=250 * MS).write(tmp_path / "b.json")
    trace = open_trace(tmp_path)
    assert trace.ranks[1].clock_offset_ns == pytest.approx(-250 * MS, abs=20_000)
    found = devices(prepare(trace))
    assert found is not None
    ends = [rank.devices.rows["t1"] for rank in trace.ranks if rank.devices is not None]
    assert np.abs(ends[0] - ends[1]).max() < 20_000


def test_the_document_and_the_verdict_say_why_devices_were_idle(starved: Path) -> None:
    document = analysis(open_trace(starved), Options())
    told = document["devices"]
    assert told["value"] == pytest.approx(0.4)
    assert told["devices"][0]["idle_s_by_host"]["input_wait"] == pytest.approx(2.0)
    assert (
        "idle 50.0 % of the time watched, mostly while the host waits for input"
        in (document["verdict"]["sentence"])
    )
    finding = next(one for one in document["findings"] if one["id"] == "idle_devices")
    assert finding["status"] == "fail"
    assert finding["gain_s"] == pytest.approx(2.0)
    assert finding["gain_basis"] == "upper_bound"


def test_a_busy_device_is_no_finding(tmp_path: Path) -> None:
    writer = KinetoWriter()
    for step in range(10):
        start = step * 100 * MS
        writer.step(step, start, start + 100 * MS)
        writer.kernel("gemm", start, start + 97 * MS, launch=start)
    document = analysis(open_trace(writer.write(tmp_path / "t.json")), Options())
    finding = next(one for one in document["findings"] if one["id"] == "idle_devices")
    assert finding["status"] == "pass"


def test_work_launched_in_a_gap_that_waits_there_is_not_the_host_late(tmp_path: Path) -> None:
    """In each step the device ends, 1 ms later the host launches, and 60 ms later that begins."""
    writer = KinetoWriter()
    for step in range(10):
        start = step * 100 * MS
        writer.step(step, start, start + 100 * MS)
        writer.kernel("gemm", start, start + 20 * MS, launch=start)
        launched = start + 21 * MS
        writer.kernel("gemm", launched + 60 * MS, start + 100 * MS, launch=launched)
    results = compute(open_trace(writer.write(tmp_path / "t.json")))
    assert results.devices is not None
    (device,) = results.devices.devices
    launch_s = 0.001 + 1.5e-6  # what the host did before, and the call itself
    assert device.causes_s[IdleCause.HOST] == pytest.approx(10 * launch_s)
    assert device.causes_s[IdleCause.DEVICE] == pytest.approx(10 * (0.061 - launch_s))
    document = analysis(open_trace(tmp_path / "t.json"), Options())
    finding = next(one for one in document["findings"] if one["id"] == "idle_devices")
    assert "mostly while work that was launched in time waits" in finding["title"]


def test_time_before_and_after_all_work_of_a_device_is_told_apart_from_idle_time(
    tmp_path: Path,
) -> None:
    """40 ms before the first kernel, 5 ms between two kernels, 25 ms after the last."""
    writer = KinetoWriter()
    writer.host_event("aten::linear", 0, 100 * MS, "cpu_op")
    writer.kernel("gemm", 40 * MS, 55 * MS, launch=39 * MS)
    writer.kernel("gemm", 60 * MS, 75 * MS, launch=59 * MS)
    document = analysis(open_trace(writer.write(tmp_path / "t.json")), Options())
    text = document["verdict"]["sentence"]
    assert "before their first and after their last work 65.0 %" in text
    assert "idle 5.0 %" in text


def test_a_host_that_waits_for_its_device_is_not_at_work(tmp_path: Path) -> None:
    writer = KinetoWriter()
    for step in range(10):
        start = step * 100 * MS
        writer.step(step, start, start + 100 * MS)
        writer.kernel("gemm", start, start + 80 * MS, launch=start)
        writer.host_event("cudaDeviceSynchronize", start + 20 * MS, start + 80 * MS, "cuda_runtime")
    results = compute(open_trace(writer.write(tmp_path / "t.json")))
    assert results.efficiency.outside_s == pytest.approx((0.4,))
    assert results.devices is not None


def test_several_ranks_without_a_communication_kernel_are_doubted(tmp_path: Path) -> None:
    for rank in range(2):
        writer = KinetoWriter(rank=rank, world_size=2)
        writer.step(1, 0, 10 * MS)
        writer.kernel("gemm", 0, 5 * MS)
        writer.write(tmp_path / f"{rank}.json")
    document = analysis(open_trace(tmp_path), Options())
    row = next(one for one in document["quality"] if one["id"] == "device_communication")
    assert row["status"] == "warn"


@pytest.mark.parametrize("is_filtered", [True, False])
def test_communication_alone_is_no_efficiency_of_devices(tmp_path: Path, is_filtered: bool) -> None:
    """A file from which all but the collectives was taken: nobody knows what else devices did."""
    for rank in range(2):
        writer = KinetoWriter(rank=rank, world_size=2)
        for at in range(0, 100 * MS, 10 * MS):
            if not is_filtered:
                writer.kernel("gemm", at + MS, at + 4 * MS)
            writer.allreduce(at + 4 * MS, at + 7 * MS)
        writer.write(tmp_path / f"{rank}.json")
    document = analysis(open_trace(tmp_path), Options())
    tree = document["devices"]["efficiency"]["bsc"]["parallel_efficiency"]
    told = {one["id"]: one["status"] for one in document["findings"]}
    is_judged = told["exposed_device_communication"] != "not_measured"
    assert (tree["value"] is None, is_judged) == (is_filtered, not is_filtered)
    # no event tells what the hosts did
    rows = {row["id"]: row["share"] for row in document["breakdown"]}
    assert rows["untraced"] == pytest.approx(1.0, abs=0.1)
    assert "computation" not in rows


def test_a_run_without_devices_lists_no_finding_about_them() -> None:
    trace = open_trace(require_reference("torch_gloo4"))
    document = analysis(trace, Options())
    assert "idle_devices" not in {finding["id"] for finding in document["findings"]}
    assert document["devices"]["value"] is None


def test_a_collective_that_waited_for_a_profiler_is_trimmed(tmp_path: Path) -> None:
    """Rank 0 is profiled from 500 ms before rank 1, and waits for it in its first collective."""
    for rank in range(2):
        writer = starved_rank(rank)
        first = rank * 500 * MS
        writer.step(2, first - 600 * MS, -MS)
        writer.allreduce(first - 590 * MS, -2 * MS, launch=first - 595 * MS)
        writer.write(tmp_path / f"rank{rank}.json")
    trace = open_trace(tmp_path)
    document = analysis(trace, Options())
    assert "the profilers did not start together" in document["run"]["focus_reason"]
    assert document["run"]["focus_of_analysis_s"][0] == pytest.approx(0.598)
    assert document["devices"]["communication"]["ranks"][0]["wait_s"] == pytest.approx(0.04)


def test_profilers_that_start_apart_do_not_sink_the_efficiencies(tmp_path: Path) -> None:
    """Rank 1 is profiled 3 s later, and 3 s longer: both are busy for half of their time.

    Less than four collectives are shared, so that nothing else could tell.
    """
    for rank in range(2):
        writer = KinetoWriter(rank=rank, world_size=2)
        for step in range(rank * 30, rank * 30 + 40):
            start = step * 100 * MS
            writer.step(step, start, start + 100 * MS)
            writer.kernel("gemm", start, start + 50 * MS, launch=start)
        writer.write(tmp_path / f"rank{rank}.json")
    document = analysis(open_trace(tmp_path), Options())
    assert document["run"]["focus_kind"] == "common_window"
    assert document["run"]["focus_of_analysis_s"] == pytest.approx([3.0, 4.0])
    assert document["devices"]["value"] == pytest.approx(0.5)


def test_the_document_has_the_shape_that_is_described(starved: Path) -> None:
    assert list(problems(analysis(open_trace(starved), Options()))) == []
