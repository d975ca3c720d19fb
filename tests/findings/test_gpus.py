"""Findings about GPUs that the driver sampled: faults, healthy jobs, too little to judge."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from perfscope.findings.core.finding import Finding
from perfscope.schema.enums import Confidence, EndKind, PhaseKind, Status
from perfscope.trace.devices import REASONS_UNKNOWN, DeviceActivity, DeviceInfo, Gpu
from perfscope.trace.model import Ending, Raised
from tests.findings.analyzed import analyze_trace
from tests.support.trace_builder import RankBuilder, TraceBuilder
from tests.support.trace_invariants import check_trace

GIB = 1 << 30
SAMPLED = ("gpu_utilization", "shared_gpus", "gpu_memory", "throttled_gpus")
NO_CUDA = "no process of this rank has loaded CUDA"
NO_GPU = "no NVIDIA driver is loaded on this node"
Values = Callable[[int, int], Mapping[str, float]]
"""Of the GPU and the second: what the driver says then."""


def healthy(_gpu: int, _second: int) -> Mapping[str, float]:
    return {"busy": 0.95, "memory_bytes": 30 * GIB, "sm_mhz": 1900.0, "power_w": 600.0}


def judged(
    values: Values = healthy,
    *,
    length_s: int = 30,
    gpus: int = 2,
    on: tuple[int, ...] = (0, 1),
    prepare: Callable[[RankBuilder], None] = lambda _: None,
    metadata: Mapping[str, Any] | None = None,
    lost: int | None = None,
    capability: tuple[int, int] | None = None,
) -> dict[str, Finding]:
    """Two ranks; `on`: the GPU that the driver's lists show each of them on."""
    devices = [
        Gpu(
            "node0",
            f"GPU-{n}",
            n,
            "A GPU",
            memory_bytes=80 * GIB,
            sm_mhz=1980.0,
            power_w=700.0,
            is_lost=n == lost,
            capability=capability,
        )
        for n in range(gpus)
    ]
    builder = TraceBuilder(2, end_s=length_s + 2.0).set(gpus=devices)
    for number in (0, 1):
        rank = builder.rank(number).init(1.0).finalize(length_s + 1.0)
        for step in range(length_s):
            rank.step(step, 1.0 + step, 2.0 + step)
        rank.set(metadata=dict(metadata or {}))
        prepare(rank)
    first = builder.rank(0)
    for second in range(2, length_s + 1):
        for gpu in range(gpus):
            first.gpu_sample(second, gpu, **values(gpu, second))
        for number, gpu in enumerate(on):
            first.gpu_process(second, gpu, 1000 + number, memory_bytes=GIB)
    trace = builder.build()
    check_trace(trace)
    return analyze_trace(trace).findings


def test_a_healthy_job_passes_all_of_them() -> None:
    found = judged()
    assert {name: found[name].status for name in SAMPLED} == dict.fromkeys(SAMPLED, Status.PASS)
    assert found["idle_devices"].status is Status.NOT_MEASURED
    assert "--torch-profiler" in found["idle_devices"].summary


@pytest.mark.parametrize(("busy", "status"), [(0.4, Status.WARN), (0.1, Status.FAIL)])
def test_idle_gpus_are_told_with_what_their_hosts_do(busy: float, status: Status) -> None:
    def input_half(rank: RankBuilder) -> None:
        for step in range(30):
            rank.phase(PhaseKind.INPUT, 1.0 + step, 1.5 + step)

    found = judged(lambda gpu, _: {"busy": busy * (gpu + 1) / 1.5}, prepare=input_half)
    finding = found["gpu_utilization"]
    assert finding.status is status
    assert finding.gain_s is None
    assert "their ranks wait for input for 50.0 %" in finding.summary.replace("\xa0", " ")
    assert "GPU 0 of host node0" in finding.summary
    assert "--torch-profiler" in finding.actions[0]
    assert "data_stall" in finding.overlaps


def watched(*windows: tuple[int, int]) -> Callable[[RankBuilder], None]:
    """Gives rank n a profiler's window n, in seconds, in which its device did nothing."""

    def prepare(rank: RankBuilder) -> None:
        start, end = windows[rank.number]
        rank.set(
            devices=DeviceActivity(
                devices=(DeviceInfo(0, "A GPU"),), watched=(start * 10**9, end * 10**9)
            )
        )

    return prepare


def test_beside_a_profile_the_finding_about_it_is_named() -> None:
    found = judged(lambda _gpu, _second: {"busy": 0.1}, prepare=watched((10, 20), (10, 20)))
    finding = found["gpu_utilization"]
    assert (finding.status, finding.overlaps) == (Status.INFO, ("idle_devices",))
    assert "idle_devices" in finding.summary


def test_windows_without_a_common_moment_are_told() -> None:
    found = judged(prepare=watched((5, 10), (15, 20)))["idle_devices"]
    assert found.status is Status.NOT_MEASURED
    assert "no moment in common" in found.summary


def test_programs_of_tensorflow_are_told_of_its_own_profiler() -> None:
    values = {"versions": {"tensorflow": "2.21.0"}}
    found = judged(lambda _gpu, _second: {"busy": 0.1}, metadata=values)
    for name in ("gpu_utilization", "idle_devices"):
        text = " ".join((found[name].summary, *found[name].actions))
        assert "--tf-profiler 20:30" in text
        assert "tensorboard --logdir" in text
        assert "--torch-profiler" not in text


def test_a_short_run_is_not_judged() -> None:
    found = judged(lambda _gpu, _second: {"busy": 0.0}, length_s=8)["gpu_utilization"]
    assert found.status is Status.NOT_MEASURED
    assert "10" in found.summary


def test_a_driver_that_does_not_tell_names_the_profiler() -> None:
    found = judged(lambda _gpu, _second: {})
    assert found["gpu_utilization"].status is Status.NOT_MEASURED
    assert "--torch-profiler" in found["gpu_utilization"].summary
    assert found["gpu_memory"].status is Status.NOT_MEASURED


def test_ranks_that_crowd_on_one_gpu_are_named() -> None:
    found = judged(lambda gpu, _: {"busy": 0.0 if gpu else 0.99}, on=(0, 0))["shared_gpus"]
    assert found.status is Status.FAIL
    assert found.ranks == (0, 1)
    assert (
        "Ranks 0 and 1 share GPU 0 of host node0 while GPU 1 of host node0 is idle" in found.title
    )
    assert "LOCAL_RANK" in found.actions[0]


def test_what_may_be_meant_is_told_and_not_judged() -> None:
    """One GPU for two ranks on a node with one; a third GPU beside a job of two."""
    assert judged(gpus=1, on=(0, 0))["shared_gpus"].status is Status.INFO
    spare = judged(lambda gpu, _: {"busy": 0.0 if gpu == 2 else 0.9}, gpus=3)["shared_gpus"]
    assert spare.status is Status.INFO
    assert "1 of the GPUs had no work" in spare.title
    others = judged(lambda _gpu, _second: {"busy": 0.9}, gpus=2, on=(0, 0))["shared_gpus"]
    assert others.status is Status.INFO  # somebody else works on the other one


def test_scarce_memory_names_gpu_and_phase() -> None:
    def evaluating(rank: RankBuilder) -> None:
        rank.phase(PhaseKind.EVALUATE, 9.5, 11.5)

    found = judged(
        lambda gpu, second: {
            "busy": 0.9,
            "memory_bytes": 78 * GIB if (gpu, second) == (1, 10) else 40 * GIB,
        },
        prepare=evaluating,
    )["gpu_memory"]
    assert (found.status, found.ranks) == (Status.WARN, (1,))
    assert "GPU 1 of host node0" in found.title
    assert "in the phase evaluate" in found.summary


def test_frameworks_that_take_all_memory_are_not_judged() -> None:
    metadata = {"versions": {"tensorflow": "2.21.0"}}
    full = judged(lambda _gpu, _second: {"busy": 0.9, "memory_bytes": 79 * GIB}, metadata=metadata)[
        "gpu_memory"
    ]
    assert full.status is Status.NOT_MEASURED
    assert "TF_FORCE_GPU_ALLOW_GROWTH=true" in full.summary
    metadata["environment"] = {"TF_FORCE_GPU_ALLOW_GROWTH": "true"}
    grown = judged(
        lambda _gpu, _second: {"busy": 0.9, "memory_bytes": 79 * GIB}, metadata=metadata
    )["gpu_memory"]
    assert grown.status is Status.WARN


def test_a_rank_that_ended_out_of_gpu_memory_fails_with_its_line() -> None:
    raised = Raised(
        "torch.OutOfMemoryError", "CUDA out of memory. Tried to allocate 2 GiB.", "train.py", 40
    )

    def ending(rank: RankBuilder) -> None:
        if rank.number == 1:
            rank.set(ending=Ending(EndKind.EXITED, 1, "", raised))

    found = judged(prepare=ending)["gpu_memory"]
    assert (found.status, found.ranks) == (Status.FAIL, (1,))
    assert (found.where[0].file, found.where[0].line) == ("train.py", 40)
    other = Raised("MemoryError", "Unable to allocate 2 GiB", "train.py", 40)

    def host_memory(rank: RankBuilder) -> None:
        rank.set(ending=Ending(EndKind.EXITED, 1, "", other))

    assert judged(prepare=host_memory)["gpu_memory"].status is Status.PASS


@pytest.mark.parametrize(
    ("bits", "share", "status"),
    [
        (0x40, 0.2, Status.WARN),
        (0x60, 0.8, Status.FAIL),
        (0x80, 0.8, Status.FAIL),
        (0x04, 1.0, Status.PASS),  # at its power limit, as it is built to
        (0x40, 0.05, Status.PASS),
    ],
)
def test_slowing_down_counts_while_busy(bits: int, share: float, status: Status) -> None:
    def values(gpu: int, second: int) -> Mapping[str, float]:
        is_slow = gpu == 1 and second % 20 < 20 * share
        return {"busy": 0.9, "sm_mhz": 1000.0, "throttling": bits if is_slow else 0}

    found = judged(values, length_s=41)["throttled_gpus"]
    assert found.status is status
    if status is not Status.PASS:
        assert found.ranks == (1,)
        assert ("power" if bits == 0x80 else "heat") in found.title


def test_an_idle_gpu_is_slow_without_fault() -> None:
    found = judged(lambda _gpu, _second: {"busy": 0.0, "throttling": 0x41})
    assert found["throttled_gpus"].status is Status.NOT_MEASURED


def test_reasons_that_the_driver_does_not_tell_are_not_passed() -> None:
    found = judged(lambda _gpu, _second: {"busy": 0.9, "throttling": REASONS_UNKNOWN})
    assert found["throttled_gpus"].status is Status.NOT_MEASURED


def test_a_gpu_that_the_job_may_not_use_is_not_missed() -> None:
    """Two ranks share the one GPU that they see; another job's idle one is beside it."""
    values = {"environment": {"CUDA_VISIBLE_DEVICES": "0"}}
    busy = lambda gpu, _: {"busy": 0.0 if gpu else 0.99}  # noqa: E731 - shorter than a function
    assert judged(busy, on=(0, 0), metadata=values)["shared_gpus"].status is Status.INFO
    assert judged(busy, on=(0, 0))["shared_gpus"].status is Status.FAIL


def test_a_stray_context_is_told_and_is_no_sharing() -> None:
    def also_on_the_first(rank: RankBuilder) -> None:
        if rank.number == 1:
            rank.gpu_process(5.0, 0, 1001, memory_bytes=GIB // 20)

    found = judged(prepare=also_on_the_first)["shared_gpus"]
    assert (found.status, found.ranks) == (Status.INFO, (1,))
    assert "Rank 1 also took memory on GPU 0 of host node0" in found.title


def test_assumed_and_unknown_ranks_are_not_passed() -> None:
    seen = judged(on=(), metadata={"environment": {"CUDA_VISIBLE_DEVICES": "0,1"}})["shared_gpus"]
    assert seen.status is Status.NOT_MEASURED
    assert "CUDA_VISIBLE_DEVICES" in seen.summary


def test_a_lost_gpu_fails() -> None:
    found = judged(lost=1)["lost_gpus"]
    assert (found.status, found.ranks) == (Status.FAIL, (1,))
    assert "GPU 1 of host node0 fell out" in found.title
    assert "lost_gpus" not in judged()


def test_gpus_that_no_rank_uses() -> None:
    """GPUs that worked for nobody knows whom are not judged; idle ones of a framework are told."""
    worked = judged(on=())["gpu_utilization"]
    assert worked.status is Status.NOT_MEASURED
    assert "CUDA_VISIBLE_DEVICES" in worked.summary
    idle = lambda _gpu, _second: {"busy": 0.0}  # noqa: E731 - shorter than a function
    assert judged(idle, on=())["gpu_utilization"].status is Status.NOT_APPLICABLE
    told = judged(idle, on=(), metadata={"versions": {"torch": "2.13.0"}})["gpu_utilization"]
    assert told.status is Status.INFO
    assert "The 2 GPUs of the node did nothing" in told.title


def test_a_driver_that_failed_is_not_measured_and_no_driver_lists_nothing() -> None:
    def one(reason: str, *, has_driver: bool = False) -> dict[str, Finding]:
        builder = TraceBuilder(1, end_s=20.0)
        builder.rank(0).init(1.0).finalize(19.0).set(gpu_reason=reason, has_gpu_driver=has_driver)
        return analyze_trace(builder.build()).findings

    failed = one("the driver does not answer (NVML error 18)", has_driver=True)
    for name in SAMPLED:
        assert failed[name].status is Status.NOT_MEASURED
        assert "NVML error 18" in failed[name].summary
    assert not set(SAMPLED) & set(one(NO_GPU))
    assert not set(SAMPLED) & set(one(NO_CUDA))


EXACT, ROUNDED = ({"torch": {"float32_matmul_precision": word}} for word in ("highest", "high"))
OFF = {"NVIDIA_TF32_OVERRIDE": "0"}


@pytest.mark.parametrize(
    ("capability", "frameworks", "environment", "status"),
    [
        ((8, 0), EXACT, {}, Status.INFO),
        ((9, 0), ROUNDED, OFF, Status.INFO),
        ((9, 0), {}, OFF, Status.INFO),
        ((9, 0), ROUNDED, {}, Status.PASS),
        ((9, 0), {}, {}, Status.NOT_MEASURED),
        ((7, 0), EXACT, OFF, Status.NOT_MEASURED),  # rounds no single precision
        (None, EXACT, OFF, Status.NOT_MEASURED),
    ],
)
def test_settings_tell_of_tensor_cores_without_a_profile(
    capability: tuple[int, int] | None,
    frameworks: Mapping[str, Any],
    environment: Mapping[str, str],
    status: Status,
) -> None:
    noted = {"frameworks": frameworks, "environment": environment}
    finding = judged(capability=capability, metadata=noted)["tensor_cores"]
    assert finding.status is status
    assert finding.gain_s is None
    if status is Status.INFO:
        assert (finding.confidence, finding.ranks) == (Confidence.LOW, (0, 1))
        assert any("`unset NVIDIA_TF32_OVERRIDE`" in one for one in finding.actions) == bool(
            environment
        )
        advised = any("set_float32_matmul_precision('high')" in one for one in finding.actions)
        assert advised == bool(frameworks)
        assert "--torch-profiler" in finding.summary


def test_only_ranks_that_are_set_so_are_named() -> None:
    def prepare(rank: RankBuilder) -> None:
        rank.set(metadata={"frameworks": EXACT if rank.number == 1 else ROUNDED})

    assert judged(capability=(9, 0), prepare=prepare)["tensor_cores"].ranks == (1,)


def test_tensorflow_is_told_its_own_way() -> None:
    noted = {"versions": {"tensorflow": "2.15"}, "environment": OFF}
    finding = judged(capability=(9, 0), metadata=noted)["tensor_cores"]
    assert finding.status is Status.INFO
    assert "mixed_bfloat16" in finding.actions[1]
    assert not any("torch" in action for action in finding.actions)
