"""Kernels of libraries that communicate, those that only sound like it, and those a user names."""

from pathlib import Path

import pytest

from perfscope.readers.detect import ReadOptions
from perfscope.readers.kineto.file import read_kineto
from perfscope.readers.registry import open_trace
from perfscope.trace.devices import DeviceKind
from perfscope.trace.model import Trace
from tests.support.write_kineto import KinetoWriter

MS = 1_000_000


def kind_of(name: str, place: Path) -> DeviceKind:
    writer = KinetoWriter()
    writer.kernel(name, 0, 10)
    return DeviceKind(int(read_kineto(writer.write(place)).device["kind"][0]))


@pytest.mark.parametrize(
    "name",
    [
        "void deep_ep::intranode::dispatch<8, 768, 8192>(int4*, float*, int*)",
        "void deep_ep::intranode::combine<__nv_bfloat16, 8, 768, 4096>(__nv_bfloat16*)",
        "void deep_ep::internode::notify_dispatch<false, 2>(int const*, int*, int)",
        "void deep_ep::internode_ll::dispatch<true, false, 7168>(void*, void*, float*)",
        "_ZN7deep_ep12internode_ll7combineILb0ELi7168EEEvPvS2_S2_",
        "void hybrid_ep::dispatch_kernel<hybrid_ep::param>(int)",
        "void pplx::dispatchKernel<128>(int*)",
        "a2a_combine_recv_kernel",
        "void mori::moe::EpDispatchIntraNodeKernel<hip_bfloat16>(mori::moe::Args)",
        "void nvshmemi_barrier_all_kernel(int)",
        "void tensorrt_llm::kernels::oneShotAllReduceKernel<__half, 8>(int)",
        "tensorrt_llm::kernels::moe_comm::moeA2ADispatchKernel<int>(int)",
        "void tensorrt_llm::kernels::mnnvl::twoshot_allreduce_kernel<1>(int)",
        "void flashinfer::trtllm_allreduce_fusion::allreduce_fusion_kernel_oneshot_lamport<1>(int)",
        "void (anonymous namespace)::all_gather_push<4>(int)",
        "userbuffers_fp16_sum_inplace_gpu_rr_rs_oop<8>(int)",
        "void aiter::reduce_scatter_cross_device_store<__half, 8>(int)",
        "void quickreduce::allreduce_prototype_twoshot<int>(int)",
        "MoeDistributeDispatch_ab12",
        "all-reduce.17",
        "reduce-scatter-start.1",
        "collective-permute-done",
    ],
)
def test_libraries_that_communicate_are_known(name: str, tmp_path: Path) -> None:
    assert kind_of(name, tmp_path / "t.json") == DeviceKind.COMMUNICATION


@pytest.mark.parametrize(
    "name",
    [
        "triton_poi_fused_all_gather_into_tensor_wait_tensor_3",
        "triton_red_fused__to_copy_all_reduce_sum_7",
        "void deep_ep::layout::get_dispatch_layout<256, 4, 8>(long const*)",
        "void at::native::reduce_kernel<512, 1, AllReduceOp<float>>(float)",
        "void at::native::vectorized_gather_kernel<16, long>(char*)",
        "void at::native::_scatter_gather_elementwise_kernel<128>(int)",
        "void moe_permute_dispatch_rows(int)",
        "void cub::DeviceReduceKernel<int>(int)",
        "memory_kernel",
    ],
)
def test_kernels_that_only_sound_like_it_compute(name: str, tmp_path: Path) -> None:
    assert kind_of(name, tmp_path / "t.json") == DeviceKind.COMPUTE


def experts(folder: Path, *, apart_ns: int = 0) -> Path:
    """Two ranks whose kernel `acme_dispatch_tokens` begins apart and ends `apart_ns` apart."""
    for rank in range(2):
        writer = KinetoWriter(rank=rank, world_size=2)
        for step in range(10):
            start = step * 20 * MS
            writer.kernel("gemm", start, start + (2 + rank) * MS, launch=start)
            begin, end = start + (3 + rank) * MS, start + 9 * MS + rank * apart_ns
            writer.kernel("void acme_dispatch_tokens<8>(int)", begin, end, launch=start)
        writer.write(folder / f"rank{rank}.json")
    return folder


def talking_ns(trace: Trace) -> int:
    rows = [rank.devices.rows for rank in trace.ranks if rank.devices is not None]
    chosen = [table[table["kind"] == DeviceKind.COMMUNICATION] for table in rows]
    return sum(int((table["t1"] - table["t0"]).sum()) for table in chosen)


def looks(trace: Trace) -> list[str]:
    return [note for note in trace.notes if "called like communication" in note]


def test_large_kernels_that_end_together_are_pointed_out(tmp_path: Path) -> None:
    trace = open_trace(experts(tmp_path))
    (note,) = looks(trace)
    assert "acme_dispatch_tokens" in note
    assert "--communication" in note
    assert talking_ns(trace) == 0


def test_kernels_that_end_as_they_began_are_not(tmp_path: Path) -> None:
    assert not looks(open_trace(experts(tmp_path, apart_ns=2 * MS)))


def test_a_user_names_kernels_that_communicate(tmp_path: Path) -> None:
    trace = open_trace(experts(tmp_path), ReadOptions(communication=("*acme_dispatch*",)))
    assert talking_ns(trace) == 10 * (6 + 5) * MS
    assert not looks(trace)
    for rank in trace.ranks:
        assert rank.devices is not None
        rows = rank.devices.rows
        assert (rows["comm"][rows["kind"] == DeviceKind.COMMUNICATION] == 0).all()
