"""Facts of a published profile of JAX on GPUs, written anew.

github.com/AMD-AGI/TraceLens, tests/test_data_jax_te_fused_attn_categorization (MIT): a host with
eight MI355X, one of which computes. The first seven of its 150 kernels are kept, with the calls
that launched them; of the whole file perfscope and another decoder count 150 rows of 12,133,585 ns.
"""

from collections.abc import Mapping
from pathlib import Path

from perfscope.metrics.compute import compute
from perfscope.readers.registry import open_trace
from perfscope.trace.devices import DeviceKind
from tests.readers.xplane.profiles import PlaneWriter, programs, space
from tests.support.trace_invariants import check_trace

STARTED_NS, LINE_NS = 1_779_266_702_889_805_563, 9_715_872_534
RAN = (
    *((2, "wrapped_convert.kd", 594_515, 660_484, 2_960),),
    (3, "input_concatenate_fusion.kd", 653_805, 668_804, 2_520),
    (4, "transformer_engine::fused_attn_rocm::populate_rng_state", 697_544, 714_764, 2_640),
    (16, "ck_tile::kentry<FmhaFwdKernel>", 772_054, 786_484, 288_043),
    (19, "gemm_fusion_dot.kd", 788_144, 1_074_527, 240_042),
    (20, "loop_reduce_fusion_1.kd", 797_133, 1_314_569, 36_760),
    (21, "wrapped_convert.kd", 805_193, 1_351_329, 5_640),
)
"""Correlation, kernel, when its call began and when it did, in ns of their lines; its length."""
Rows = list[tuple[str, float, float, Mapping[str, int]]]


def write(path: Path) -> Path:
    program = {"program_id": 17}
    kernels: Rows = [
        (name, at / 1e6, length / 1e6, {"correlation_id": call, **program})
        for call, name, _, at, length in RAN
    ]
    calls: Rows = [
        ("hipModuleLaunchKernel", at / 1e6, 0.006, {"correlation_id": call, **program})
        for call, _, at, *_ in RAN
    ]
    used = PlaneWriter("/device:GPU:0", told={"core_count": 256, "memory_size": 309_220_868_096})
    used.line("Stream #2", kernels, LINE_NS)
    idle = [PlaneWriter(f"/device:GPU:{number}") for number in range(1, 8)]
    host = PlaneWriter("/host:CPU").line("Host Threads/7", calls, LINE_NS)
    planes = (programs(*[(1, 1)] * 9), used, *idle, PlaneWriter("/device:CUSTOM:Megascale Trace"))
    path.write_bytes(space(*planes, host, host="934987a2fc2f", started_ns=STARTED_NS))
    return path


def test_kernels_of_a_published_profile_have_their_lengths_and_launches(tmp_path: Path) -> None:
    trace = open_trace(write(tmp_path / "934987a2fc2f.xplane.pb"))
    check_trace(trace)
    (rank,) = trace.ranks
    assert rank.host == "934987a2fc2f"
    assert rank.devices is not None
    rows = rank.devices.rows
    assert (rows["t1"] - rows["t0"]).tolist() == [length for *_, length in RAN]
    assert (rows["t0"] - rows["launch"]).tolist() == [at - call for _, _, call, at, _ in RAN]
    assert set(rows["kind"].tolist()) == {DeviceKind.COMPUTE}
    assert set(zip(rows["device"].tolist(), rows["stream"].tolist(), strict=True)) == {(0, 2)}
    assert trace.origin_unix_ns == STARTED_NS + LINE_NS + RAN[0][2]
    assert any("7 devices of 8 did nothing in it" in note for note in trace.notes)
    assert trace.world_size == 1
    found = compute(trace).devices
    assert found is not None
    assert {use.name: use.count for use in found.kernels}["wrapped_convert"] == 2
    assert compute(trace).efficiency.parallel_efficiency.value is None
