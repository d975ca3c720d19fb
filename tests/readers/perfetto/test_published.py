"""Facts of a published trace of rocprofv3 in Perfetto's form, written anew.

github.com/D-W-Chiang/JACC.jl, faraday.ftpn.ornl.gov/3648722_results.pftrace (MIT): a program in
Julia on one GPU. Its 15 kernels are kept, with the calls that launched them; beside them the file
holds 2,630 more calls of HIP and HSA, and counters of memory.
"""

from pathlib import Path

from perfscope.export import _perfetto_packets as proto
from perfscope.metrics.compute import compute
from perfscope.readers.registry import open_trace
from tests.support.trace_invariants import check_trace

PID, BASE = 3_648_722, 131_542_000_000_000
FILL, BROADCAST = "gpu_fill_kernel_", "gpu_broadcast_kernel_linear"
COPY = "__amd_rocclr_copyBuffer.kd"
REDUCE, FINISH = "_parallel_reduce_amdgpu", "_reduce_kernel_amdgpu"
RAN = (
    *((FILL, 575, 960_324_682, 961_211_562, 11_440), (FILL, 589, 962_026_371, 962_050_892, 10_640)),
    (FILL, 602, 972_798_775, 972_832_655, 7_720),
    (BROADCAST, 652, 2_417_824_012, 2_420_027_878, 15_160),
    (BROADCAST, 665, 2_420_513_303, 2_420_540_604, 13_480),
    (COPY, 738, 6_088_109_160, 6_091_020_363, 3_720),
    (FILL, 800, 7_693_371_312, 7_693_445_033, 2_680),
    (REDUCE, 804, 7_871_914_147, 7_875_029_733, 43_641),
    (FINISH, 808, 7_917_561_623, 7_952_771_359, 31_600),
    (COPY, 1891, 7_983_211_698, 7_983_312_032, 3_040),
    (COPY, 1939, 7_985_711_347, 7_985_749_580, 2_360),
    (FILL, 1962, 7_985_943_750, 7_986_002_663, 2_280),
    (REDUCE, 1966, 7_986_030_161, 7_986_046_783, 37_641),
    (FINISH, 1970, 7_986_060_361, 7_986_088_544, 6_040),
    (COPY, 2002, 7_986_122_822, 7_986_186_633, 3_320),
)
"""Kernel, correlation, when its call began and when it did, and its length in ns."""
PROCESS, STREAM = 1, 2


def write(path: Path) -> Path:
    def slices(
        track: int, category: str, name: str, times: tuple[int, int], facts: dict[str, int | str]
    ) -> bytes:
        told = proto.text(22, category) + proto.text(23, name)
        told += b"".join(proto.annotation(*fact) for fact in facts.items())
        begin, end = (BASE + moment for moment in times)
        return proto.event(proto.BEGIN, track, begin, told) + proto.event(proto.END, track, end)

    process = proto.held(3, proto.whole(1, PID) + proto.text(6, "julia"))
    parts = [
        proto.track(PROCESS, process),
        proto.track(STREAM, proto.text(2, 'STREAM [" 1 "] '), parent=PROCESS),
    ]
    for name, call, launched, begin, length in RAN:
        launch = "hipMemcpyWithStream" if name == COPY else "hipModuleLaunchKernel"
        of_call: dict[str, int | str] = {"tid": PID, "kind": 21, "corr_id": call, "stream_ID": 1}
        parts.append(slices(PROCESS, "hip_api", launch, (launched, launched + 12_000), of_call))
        told = {**of_call, "kind": 11, "agent": "Agent-4", "agent_type": "GPU", "queue": 0}
        parts.append(slices(STREAM, "kernel_dispatch", name, (begin, begin + length), told))
    path.write_bytes(b"".join(parts))
    return path


def test_kernels_of_a_published_trace_have_their_device_and_launches(tmp_path: Path) -> None:
    trace = open_trace(write(tmp_path / f"{PID}_results.pftrace"))
    check_trace(trace)
    (rank,) = trace.ranks
    assert rank.devices is not None
    rows = rank.devices.rows
    assert len(rows) == 15
    assert int((rows["t1"] - rows["t0"]).sum()) == 194_762
    assert set(rows["device"].tolist()) == {4}
    assert (rows["t0"] - rows["launch"]).tolist() == [begin - at for _, _, at, begin, _ in RAN]
    found = compute(trace).devices
    assert found is not None
    counts = {use.name: use.count for use in found.kernels}
    copy = COPY.removesuffix(".kd")  # as the other files of rocprofv3 call it
    assert counts == {FILL: 5, BROADCAST: 2, copy: 4, REDUCE: 2, FINISH: 2}
    assert compute(trace).efficiency.parallel_efficiency.value is None
