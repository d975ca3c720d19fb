"""Communication of devices that no computation hides: what it is, and what is said to do."""

from pathlib import Path

import pytest

from perfscope.readers.registry import open_traces
from perfscope.schema.enums import Status
from tests.findings.analyzed import analyze_trace
from tests.findings.test_accelerators import MS, STEPS, Step, findings
from tests.support.write_kineto import KinetoWriter


def test_exposed_communication_tells_waiting_from_transfer(tmp_path: Path) -> None:
    """30 ms of each step are communication alone; rank 1 begins it 25 ms late."""

    def rank(late_ms: int) -> Step:
        def step(writer: KinetoWriter, start: int) -> None:
            backward = "autograd::engine::evaluate_function: MmBackward0"
            writer.host_event(backward, start + MS, start + 60 * MS, "cpu_op")
            writer.kernel("gemm", start, start + (70 + late_ms) * MS, launch=start)
            writer.allreduce(start + (70 + late_ms) * MS, start + 100 * MS, launch=start)

        return step

    even = findings(tmp_path, rank(0), rank(0))["exposed_device_communication"]
    assert even.status is Status.FAIL
    assert even.gain_s == pytest.approx(0.6)
    assert any("bf16_compress_hook" in action for action in even.actions)
    late = findings(tmp_path, rank(0), rank(25))["exposed_device_communication"]
    assert late.status is Status.FAIL
    assert late.actions[0] == (
        "Give rank 1 less to compute before its collectives: it began 20 of 20 collectives last, "
        "and all ranks together waited 500 ms inside their kernels."
    )
    assert "load_imbalance" in late.overlaps


COMBINE = "void deep_ep::internode::combine<false, 8, __nv_bfloat16>(int4*, float*, int)"
GATHER = "ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
MESSAGE = "ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t(ncclDevComm*, unsigned long, ncclWork*)"
TENSORS = "void vllm::cross_device_reduce_1stage<__nv_bfloat16, 8>(vllm::RankData*, int)"


@pytest.mark.parametrize(
    ("kernel", "name", "words"),
    [
        (COMBINE, "deep_ep::internode::combine", "all-to-all of one micro-batch"),
        (GATHER, "ncclDevKernel_AllGather_RING_LL", "next layer be gathered"),
        (MESSAGE, "ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t", "between the stages of a pipeline"),
        (TENSORS, "vllm::cross_device_reduce_1stage", "split each batch in two"),
    ],
)
def test_exposed_communication_is_named_with_what_hides_that(
    kernel: str, name: str, words: str, tmp_path: Path
) -> None:
    """Without a backward pass no gradients are exchanged, whatever is summed up."""

    def step(writer: KinetoWriter, start: int) -> None:
        writer.kernel("gemm", start, start + 60 * MS, launch=start)
        writer.kernel(kernel, start + 50 * MS, start + 98 * MS, launch=start, stream=9)
        writer.kernel("ncclDevKernel_Broadcast(x)", start + 98 * MS, start + 99 * MS, launch=start)

    found = findings(tmp_path, step, step)["exposed_device_communication"]
    assert f"longest {name} (760 ms)" in found.summary
    told = {row.label: row.value for row in found.evidence}
    assert told[f"Without computing in {name}"] == pytest.approx(0.76)
    assert told["Without computing in ncclDevKernel_Broadcast"] == pytest.approx(0.02)
    assert words in found.actions[0]
    assert not any("gradients" in action for action in found.actions)


def test_exposed_communication_of_some_ranks_may_be_waiting_for_the_others(tmp_path: Path) -> None:
    writer = KinetoWriter(rank=0, world_size=8)
    for number in range(STEPS):
        start = number * 100 * MS
        writer.step(number, start, start + 100 * MS)
        writer.kernel("gemm", start, start + 60 * MS, launch=start)
        writer.allreduce(start + 60 * MS, start + 100 * MS, launch=start)
    writer.write(tmp_path / "rank0.json")
    found = analyze_trace(open_traces([tmp_path])).findings["exposed_device_communication"]
    assert "profiles of all ranks together" in found.actions[0]
    assert found.summary.endswith("for 800 ms, all of it allreduce.")
