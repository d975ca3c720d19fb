"""Facts of a published trace of the old rocprof (--hip-trace), written anew.

github.com/dalg24/kokkos, results.json and its tables of sums (Apache-2.0 with LLVM exception): a
test of Kokkos on one GPU. Its eight kernels and the barriers between them are kept, with the calls
that launched them, and five of its 30 copies and fills. Its times count from the run's begin, and
those in nanoseconds do not.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np

from perfscope.metrics.compute import compute
from perfscope.readers.registry import open_trace
from perfscope.trace.devices import LAUNCH_UNKNOWN, DeviceKind
from tests.support.trace_invariants import check_trace

BEGAN_NS = 84_118_448_638_000
HOST, COPIES, CALLS, GPU = 0, 1, 2, 6
THREAD = 216_796
KERNELS = (
    ("init_lock_array_kernel_atomic", 344_458, 10, 344_468, 344_482, 10_720),
    ("init_lock_array_kernel_threadid", 344_484, 5, 344_489, 344_503, 7_040),
    ("ViewValueFunctor", 353_825, 12, 353_837, 353_852, 153_440),
    ("ViewValueFunctor", 354_777, 5, 354_782, 354_802, 7_680),
    ("atomic_loop", 567_203, 13, 567_216, 567_243, 535_519),
    ("ResetDuplicates", 567_903, 10, 567_913, 567_932, 6_880),
    ("scatter_view_loop", 567_968, 8, 567_976, 567_989, 530_719),
    ("ViewFill", 568_570, 7, 568_577, 568_590, 397_759),
)
"""Kernel; begin and length of its call, when its arrow leaves and when it began, in us; its ns."""
BARRIERS = (354_023, 354_035, 567_815, 567_955, 568_549, 569_017)
MOVED = (
    ("CopyHostToDevice", "hipMemcpy", 5_267, 338_205, 343_428, 40_679),
    ("FillBuffer", "hipMemset", 343_478, 49, 343_504, 5_280),
    ("FillBuffer", "hipMemset", 343_608, 43, 343_632, 3_840),
    ("CopyHostToDevice", "hipMemcpyAsync", 560_966, 5_339, 560_982, 5_320_454),
    ("CopyDeviceToHost", "hipMemcpy", 567_869, 23, 567_879, 11_220),
)
"""What moved, by which call: its begin and length, when the device began, in us; its ns."""


def write(path: Path) -> Path:
    lanes = ("Markers and Ranges", "CPU HIP API", "COPY", "GPU0")
    events: list[dict[str, Any]] = [
        {"args": {"name": name}, "ph": "M", "pid": pid, "name": "process_name"}
        for name, pid in zip(lanes, (HOST, CALLS, COPIES, GPU), strict=True)
    ]

    def ran(name: str, pid: int, tid: int, at_us: int, ns: int, **more: str) -> None:
        begin = BEGAN_NS + at_us * 1000
        told = {"BeginNs": str(begin), "EndNs": str(begin + ns), "DurationNs": str(ns)}
        told |= {"pid": str(pid), "tid": str(tid), "Name": name, **more}
        event = {"ph": "X", "name": name, "pid": str(pid), "tid": str(tid), "ts": str(at_us)}
        events.append({**event, "dur": str(ns // 1000), "args": told})

    def arrow(number: int, left_us: int, to: int, tid: int, at_us: int) -> None:
        for ph, pid, thread, us in (("s", CALLS, THREAD, left_us), ("t", to, tid, at_us)):
            event = {"ts": us, "ph": ph, "cat": "DataFlow", "id": number}
            events.append({**event, "pid": pid, "tid": thread, "name": "dep"})

    of_device = {"dev-id": "0", "queue-id": "0", "proc-id": str(THREAD)}
    for number, (name, call, length, left, began, ns) in enumerate(KERNELS, start=97):
        ran("hipLaunchKernel", CALLS, THREAD, call, length * 1000)
        ran(name, GPU, 1, began, ns, **of_device)
        arrow(number, left, GPU, 1, began)
    for at in BARRIERS:
        ran("Unknown command type", GPU, 0, at, 0, **of_device)
    for number, (name, calls, call, length, began, ns) in enumerate(MOVED):
        ran(calls, CALLS, THREAD, call, length * 1000)
        ran(name, COPIES, 0, began, ns, **of_device)
        arrow(number, began, COPIES, 0, began)
    path.write_text(f'{{ "traceEvents":{json.dumps([{}, *events])}, "otherData": {{}}}}')
    return path


def test_kernels_of_a_published_trace_are_those_that_rocprof_counts(tmp_path: Path) -> None:
    """By its own table of sums: eight kernels of 1,649,757 ns, and six commands of no length."""
    trace = open_trace(write(tmp_path / "results.json"))
    check_trace(trace)
    (rank,) = trace.ranks
    assert rank.devices is not None
    rows = rank.devices.rows
    kernels = rows[rows["kind"] == DeviceKind.COMPUTE]
    assert len(kernels) == 8
    assert int((kernels["t1"] - kernels["t0"]).sum()) == 1_649_757
    waited = [(began - call) * 1000 for _, call, _, _, began, _ in KERNELS]
    assert (kernels["t0"] - kernels["launch"]).tolist() == waited
    assert compute(trace).efficiency.parallel_efficiency.value is None


def test_copies_and_fills_of_a_published_trace_have_their_calls(tmp_path: Path) -> None:
    (rank,) = open_trace(write(tmp_path / "results.json")).ranks
    assert rank.devices is not None
    rows = rank.devices.rows
    kinds = {DeviceKind.MEMCPY: 3, DeviceKind.MEMSET: 2}
    assert {kind: int((rows["kind"] == kind).sum()) for kind in kinds} == kinds
    moved = rows[np.isin(rows["kind"], list(kinds))]
    assert not (moved["launch"] == LAUNCH_UNKNOWN).any()
    waited = sorted((began - call) * 1000 for _, _, call, _, began, _ in MOVED)
    assert sorted((moved["t0"] - moved["launch"]).tolist()) == waited
