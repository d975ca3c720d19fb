"""Ranks and their GPUs, and what samples add up to, on traces made by hand."""

from collections.abc import Sequence
from typing import Any

import pytest

from perfscope.metrics.compute import compute
from perfscope.metrics.devices.gpu_users import Source, may_use, unknown, users
from perfscope.schema.enums import PhaseKind
from perfscope.trace.devices import Gpu, Throttling
from perfscope.trace.model import Trace
from tests.support.trace_builder import TraceBuilder

GIB = 1 << 30
NODE = [Gpu("node0", f"GPU-{letter}000-1", index) for index, letter in enumerate("abcd")]


def job(
    ranks: int = 2,
    *,
    gpus: Sequence[Gpu] = NODE,
    environments: Sequence[dict[str, str]] = (),
    torch: Sequence[list[dict[str, Any]]] = (),
    lists: Sequence[tuple[int, int]] = (),
    hosts: Sequence[str] = ("node0",),
) -> Trace:
    """Ranks with pids 1000 and on; `lists`: (GPU, pid) that the driver showed to rank 0."""
    builder = TraceBuilder(ranks, end_s=20.0, hosts=hosts).set(gpus=list(gpus))
    for number in range(ranks):
        rank = builder.rank(number).init(1.0).finalize(19.0)
        told: dict[str, Any] = {}
        if environments:
            told["environment"] = environments[number]
        if torch:
            told["frameworks"] = {"torch": {"devices": torch[number]}}
        rank.set(metadata=told)
        for second in range(2, 18):
            rank.gpu_sample(second, number % len(gpus), busy=0.5)
    for gpu, pid in lists:
        builder.rank(0).gpu_process(5.0, gpu, pid, memory_bytes=GIB)
    return builder.build()


def mapped(trace: Trace) -> dict[str, list[int]]:
    found = users(trace)
    return {trace.gpus[n].uuid[:5]: sorted(ranks) for n, ranks in found.items() if ranks}


def how(trace: Trace) -> set[Source]:
    return {source for ranks in users(trace).values() for source in ranks.values()}


def test_process_lists_are_believed_first() -> None:
    """Both ranks are on GPU 2, whatever the environment says."""
    trace = job(
        lists=[(2, 1000), (2, 1001), (3, 77)],
        environments=[{"CUDA_VISIBLE_DEVICES": "0"}, {"CUDA_VISIBLE_DEVICES": "1"}],
    )
    assert mapped(trace) == {"GPU-c": [0, 1]}
    assert how(trace) == {Source.PROCESS_LIST}


def test_a_rank_that_the_lists_leave_out_uses_none() -> None:
    trace = job(lists=[(1, 1001)], environments=[{"CUDA_VISIBLE_DEVICES": "0"}] * 2)
    assert mapped(trace) == {"GPU-b": [1]}


def test_the_uuid_that_pytorch_tells_counts_where_it_holds_memory() -> None:
    trace = job(
        torch=[
            [{"uuid": "D000-1", "reserved_bytes": 5}, {"uuid": "a000-1", "reserved_bytes": 0}],
            [],
        ]
    )
    assert mapped(trace) == {"GPU-d": [0]}
    assert how(trace) == {Source.FRAMEWORK}


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (("0", "1"), {"GPU-a": [0], "GPU-b": [1]}),
        (("GPU-c000-1", "GPU-d"), {"GPU-c": [0], "GPU-d": [1]}),
        (("3", ""), {"GPU-d": [0]}),
        (("-1", "9"), {}),
        (("GPU-", "GPU-x"), {}),
    ],
)
def test_visible_devices_name_one_each(
    values: tuple[str, str], expected: dict[str, list[int]]
) -> None:
    trace = job(environments=[{"CUDA_VISIBLE_DEVICES": value} for value in values])
    assert mapped(trace) == expected
    assert how(trace) <= {Source.VARIABLE}


def test_of_several_visible_devices_the_order_of_ranks_is_assumed() -> None:
    trace = job(environments=[{"CUDA_VISIBLE_DEVICES": "2,1,0"}] * 2)
    assert mapped(trace) == {"GPU-c": [0], "GPU-b": [1]}
    assert how(trace) == {Source.ORDER}


def test_cuda_stops_at_the_first_entry_that_is_no_device() -> None:
    trace = job(environments=[{"CUDA_VISIBLE_DEVICES": "1,9,0"}] * 2)
    assert mapped(trace) == {"GPU-b": [0, 1]}


def test_numbers_mean_nothing_where_models_differ_unless_in_order_of_the_bus() -> None:
    mixed = [Gpu("node0", "GPU-a000-1", 0, "old"), Gpu("node0", "GPU-b000-1", 1, "new")]
    values = {"CUDA_VISIBLE_DEVICES": "0"}
    assert mapped(job(1, gpus=mixed, environments=[values])) == {}
    values["CUDA_DEVICE_ORDER"] = "PCI_BUS_ID"
    assert mapped(job(1, gpus=mixed, environments=[values])) == {"GPU-a": [0]}


def test_instances_of_a_divided_gpu_are_told_apart() -> None:
    divided = [Gpu("node0", f"MIG-{letter}000-1", 0, board="GPU-z000-1") for letter in "ef"]
    values = [{"CUDA_VISIBLE_DEVICES": f"MIG-{letter}000-1"} for letter in "fe"]
    assert mapped(job(gpus=divided, environments=values)) == {"MIG-e": [1], "MIG-f": [0]}


def test_isolated_ranks_each_count_from_zero() -> None:
    """Each rank of a Slurm job with --gpus-per-task sees its own GPU as number 0."""
    isolated = [Gpu("node0", "GPU-a000-1", 0), Gpu("node0", "GPU-b000-1", 0)]
    trace = job(gpus=isolated, environments=[{"CUDA_VISIBLE_DEVICES": "0"}] * 2)
    assert mapped(trace) == {"GPU-a": [0], "GPU-b": [1]}


def test_ranks_of_other_hosts_are_not_meant() -> None:
    gpus = [Gpu("node0", "GPU-a000-1", 0), Gpu("node1", "GPU-b000-1", 0)]
    trace = job(
        gpus=gpus, hosts=("node0", "node1"), environments=[{"CUDA_VISIBLE_DEVICES": "0"}] * 2
    )
    assert mapped(trace) == {"GPU-a": [0], "GPU-b": [1]}
    assert how(job(gpus=gpus, hosts=("node0", "node1"), lists=[(1, 1000)])) == {Source.ALONE}


def test_nothing_tells_and_nothing_is_guessed() -> None:
    assert mapped(job()) == {}


def test_the_only_rank_of_a_node_uses_what_worked_there() -> None:
    trace = job(1)
    assert mapped(trace) == {"GPU-a": [0]}
    assert unknown(trace) == (0,)


def test_ranks_are_known_where_something_tells() -> None:
    assert unknown(job()) == (0, 1)
    assert unknown(job(lists=[(1, 1001)])) == ()
    assert unknown(job(environments=[{"CUDA_VISIBLE_DEVICES": "0"}, {}])) == (1,)
    assert unknown(job(environments=[{"CUDA_VISIBLE_DEVICES": "0,1"}] * 2)) == (0, 1)


def test_a_rank_may_use_what_it_sees() -> None:
    assert may_use(job(environments=[{"CUDA_VISIBLE_DEVICES": v} for v in "02"])) == {0, 2}
    assert may_use(job(environments=[{"CUDA_VISIBLE_DEVICES": "0"}, {}])) == {0, 1, 2, 3}


def test_hostile_numbers_of_devices_name_none() -> None:
    """Python refuses to read a number of so many digits."""
    values = [{"CUDA_VISIBLE_DEVICES": "1" * 5000}] * 2
    assert mapped(job(environments=values)) == {}


def test_an_old_recording_is_told_from_a_short_process() -> None:
    def reason(end_s: float) -> str:
        builder = TraceBuilder(1, end_s=end_s)
        rank = builder.rank(0).init(0.1).finalize(end_s)
        rank.process_sample(0.2)
        rank.process_sample(end_s - 0.1)
        return compute(builder.build()).gpus.reason

    assert "did not sample GPUs" in reason(9.0)
    assert "half a second" in reason(1.0)


def test_samples_add_up() -> None:
    """Over the focus (1 to 19 s): half of the samples busy, throttled in a quarter of those."""
    gpu = Gpu("node0", "GPU-a", 0, memory_bytes=10 * GIB, sm_mhz=2000.0, power_w=400.0)
    builder = TraceBuilder(1, end_s=20.0).set(gpus=[gpu])
    rank = builder.rank(0).init(1.0).finalize(19.0)
    rank.set(metadata={"environment": {"CUDA_VISIBLE_DEVICES": "0"}})
    rank.phase(PhaseKind.EVALUATE, 9.5, 11.5)
    rank.gpu_sample(0.5, 0, busy=1.0, memory_bytes=9 * GIB)  # before the focus
    for place in range(16):
        busy = place % 2
        rank.gpu_sample(
            2.0 + place,
            0,
            busy=0.8 * busy,
            memory_bytes=(5 if place == 8 else 2) * GIB,
            sm_mhz=1500.0 if busy else 300.0,
            power_w=300.0 if busy else 100.0,
            celsius=50.0 + place,
            throttling=0x40 if place in (3, 5) else 0,
        )
    rank.gpu_process(5.0, 0, 1000, memory_bytes=GIB)
    found = compute(builder.build()).gpus
    assert (found.reason, found.has_driver) == ("", True)
    (use,) = found.used
    assert (use.samples, use.watched_s) == (16, 15.0)
    assert use.busy == pytest.approx(0.4)
    assert use.memory_busy is None
    assert (use.sm_mhz, use.power_w, use.celsius) == (1500.0, 200.0, 65.0)
    assert use.memory_peak_bytes == 5 * GIB
    assert use.peak_phase == "evaluate"
    assert use.memory_by_rank == {0: GIB}
    assert use.throttled == {Throttling.HARDWARE_THERMAL: 0.25}
    assert use.series["busy"].seconds[0] == 2.0
    assert len(use.series["busy"].values) == 16


def test_without_samples_the_reason_is_told() -> None:
    builder = TraceBuilder(1, end_s=5.0)
    builder.rank(0).init(1.0).finalize(4.0).set(
        gpu_reason="no NVIDIA driver is loaded on this node"
    )
    found = compute(builder.build()).gpus
    assert found.gpus == ()
    assert found.reason == "no NVIDIA driver is loaded on this node"
    assert not found.has_driver
