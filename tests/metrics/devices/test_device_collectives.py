"""Communication kernels that wait for all ranks are split by who came last; others are not."""

import re
from pathlib import Path

import pytest

from perfscope.attribution.preparation import prepare
from perfscope.metrics.devices.device_collectives import DeviceCommunication
from perfscope.metrics.devices.devices import devices
from perfscope.readers.registry import open_trace
from perfscope.trace.meeting_kernels import meets
from tests.support.write_kineto import KinetoWriter

MS = 1_000_000


@pytest.mark.parametrize(
    ("operation", "kernel", "expected"),
    [
        ("allreduce", "ncclDevKernel_Generic", True),
        ("_allgather_base", "ncclDevKernel_Generic", True),
        ("reduce_scatter_tensor_coalesced", "", True),
        ("all_to_allv", "ncclDevKernel_SendRecv", True),
        ("barrier", "ncclDevKernel_AllReduce_Sum_i8", True),
        ("broadcast", "ncclDevKernel_AllReduce", False),
        ("reduce", "", False),
        ("_reduce_oop", "", False),
        ("send", "", False),
        ("gather", "", False),
        ("", "ncclKernel_AllReduce_RING_LL_Sum_float(ncclDevComm*)", True),
        ("", "ncclDevKernel_ReduceScatter_Sum_f32_RING_LL", True),
        ("", "ncclKernel_AllToAllPivot", True),
        ("", "void vllm::cross_device_reduce_1stage<half, 8>", True),
        ("", "ncclKernel_Broadcast_RING_LL_Sum_int8_t", False),
        ("", "ncclDevKernel_SendRecv", False),
        ("", "ncclKernel_Reduce_RING_LL_Sum_float", False),
        ("", "ncclDevKernel_Generic", False),
    ],
)
def test_which_calls_wait_for_all(operation: str, kernel: str, *, expected: bool) -> None:
    assert meets(operation, kernel) is expected


def split(folder: Path, kernel: str) -> DeviceCommunication:
    """Four calls of 10 ms that rank 1 enters 4 ms late, without what the profiler says of calls."""
    for rank in range(2):
        writer = KinetoWriter(rank=rank, world_size=2)
        writer.step(1, 0, 100 * MS)
        for call in range(4):
            start = (20 * call + 4 * rank) * MS
            writer.kernel(kernel, start, (20 * call + 10) * MS, launch=start)
        writer.write(folder / f"rank{rank}.json")
    found = devices(prepare(open_trace(folder)))
    assert found is not None
    return found.communication


def test_an_old_profile_is_split_by_the_names_of_its_kernels(tmp_path: Path) -> None:
    talk = split(tmp_path, "ncclKernel_AllReduce_RING_LL_Sum_float(ncclDevComm*)")
    assert (talk.matched, talk.unmatched, talk.last) == (4, 0, (0, 4))
    assert talk.wait_s == pytest.approx((0.016, 0.0))


@pytest.mark.parametrize("kind", ["Broadcast", "SendRecv", "Reduce"])
def test_kernels_that_some_ranks_leave_early_are_not_split(tmp_path: Path, kind: str) -> None:
    talk = split(tmp_path, f"ncclKernel_{kind}_RING_LL_Sum_int8_t(ncclDevComm*)")
    assert (talk.matched, talk.unmatched, talk.last) == (0, 8, (0, 0))
    assert talk.wait_s == (0.0, 0.0)
    assert talk.seconds == pytest.approx((0.04, 0.024))
    assert re.search("no collective that waits for all", talk.reason or "")
