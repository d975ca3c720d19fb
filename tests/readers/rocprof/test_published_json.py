"""Facts of a published JSON of rocprofv3, written anew.

github.com/AMD-AGI/TraceLens, 908_results.json (MIT): a training in PyTorch of which one of eight
MI350X was traced, kernels alone. Its first three kernels and the first two of RCCL are kept; in the
whole file perfscope and another program count 43,915 kernels of 4,441,741,378 ns.
"""

from pathlib import Path
from typing import Any

from perfscope.metrics.compute import compute
from perfscope.readers.registry import open_trace
from perfscope.trace.devices import LAUNCH_UNKNOWN, DeviceKind
from tests.readers.rocprof.profiles import document
from tests.support.trace_invariants import check_trace

FIRST_GPU, KIND = 37_946, 11
COPY = ("__amd_rocclr_copyBuffer.kd", "__amd_rocclr_copyBuffer")
GENERIC = (
    "_Z23ncclDevKernel_Generic_124ncclDevKernelArgsStorageILm4096EE.kd",
    "ncclDevKernel_Generic_1(ncclDevKernelArgsStorage<4096ul>)",
)
SYMBOLS = {8: COPY, 251: GENERIC}
RAN = (
    (1, 8, 16, 63_857_982_592_000, 2_840),
    (2, 8, 16, 63_857_982_675_640, 2_520),
    (10, 8, 16, 63_857_983_982_773, 3_080),
    (2650, 251, 20, 63_861_843_088_486, 70_280),
    (2666, 251, 20, 63_861_848_090_257, 80_561),
)
"""Correlation, kernel, queue, when it began, and its length in ns."""
APIS = ("hip_api", "hsa_api", "marker_api", "rccl_api", "memory_copy", "memory_allocation")


def process() -> dict[str, Any]:
    agents = [
        {
            "id": {"handle": FIRST_GPU - 2 + number},
            "type": 1 if number < 2 else 2,
            "logical_node_id": number,
            "logical_node_type_id": number if number < 2 else number - 2,
            "name": "EPYC 9575F" if number < 2 else "gfx950",
            "product_name": "AMD EPYC 9575F" if number < 2 else "AMD Instinct MI350X",
        }
        for number in range(10)
    ]
    kernels = [
        {
            "size": 184,
            "kind": KIND,
            "operation": 2,
            "thread_id": 908,
            "correlation_id": {"internal": call, "external": 0},
            "start_timestamp": begin,
            "end_timestamp": begin + length,
            "dispatch_info": {
                "size": 72,
                "agent_id": {"handle": FIRST_GPU},
                "queue_id": {"handle": queue},
                "kernel_id": kernel,
                "dispatch_id": call,
            },
            "stream_id": {"handle": 0},
        }
        for call, kernel, queue, begin, length in RAN
    ]
    nothing = {"kind": "NONE", "operations": []}
    dispatch = {"kind": "KERNEL_DISPATCH", "operations": ["NONE", "ENQUEUE", "COMPLETE"]}
    symbols = [
        {"kernel_id": number, "kernel_name": name, "formatted_kernel_name": formatted}
        for number, (name, formatted) in SYMBOLS.items()
    ]
    empty = {"kernel_id": 0, "kernel_name": "", "formatted_kernel_name": "0"}
    return {
        "metadata": {
            "node": {"id": 0, "hostname": "smci350", "system_name": "Linux"},
            "pid": 908,
            "init_time": 63_855_948_165_371,
            "fini_time": 63_875_155_697_841,
        },
        "agents": agents,
        "counters": [],
        "strings": {"callback_records": [nothing], "buffer_records": [nothing] * KIND + [dispatch]},
        "kernel_symbols": [empty, *symbols],
        "callback_records": {"counter_collection": []},
        "buffer_records": {"kernel_dispatch": kernels, **{name: [] for name in APIS}},
    }


def test_kernels_of_a_published_json_have_their_queues_names_and_lengths(tmp_path: Path) -> None:
    trace = open_trace(document(tmp_path / "908_results.json", process()))
    check_trace(trace)
    (rank,) = trace.ranks
    assert rank.host == "smci350"
    assert rank.devices is not None
    rows = rank.devices.rows
    assert (rows["t1"] - rows["t0"]).tolist() == [length for *_, length in RAN]
    assert rows["stream"].tolist() == [queue for _, _, queue, *_ in RAN]
    assert len(set(rows["device"].tolist())) == 1
    assert rows["kind"].tolist() == [DeviceKind.COMPUTE] * 3 + [DeviceKind.COMMUNICATION] * 2
    assert set(rows["launch"].tolist()) == {LAUNCH_UNKNOWN}
    results = compute(trace)
    assert results.devices is not None
    named = {use.name: use.count for use in results.devices.kernels}
    assert named == {COPY[1]: 3, GENERIC[1]: 2}
    assert results.efficiency.parallel_efficiency.value is None
