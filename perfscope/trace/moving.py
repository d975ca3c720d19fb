"""Moves all times of a rank to another clock."""

from collections.abc import Callable

import numpy as np

from perfscope.arrays import Ints
from perfscope.trace.devices import LAUNCH_UNKNOWN, DeviceActivity
from perfscope.trace.model import Rank

INTERVAL_TABLES = (
    *("operations", "background", "readiness", "completions", "phases", "steps", "queues"),
    *("spans", "memory_windows", "garbage_collections", "windows", "step_blocks"),
)
MOMENT_TABLES = (
    *("stacks", "metrics", "counters"),
    *("process_samples", "system_samples", "node_samples", "cpu_samples"),
    *("tree_samples", "call_samples", "python_samples", "main_samples", "heap_samples"),
    *("gpu_samples", "gpu_processes"),
)
MOMENTS = (
    *("init_enter_ns", "init_exit_ns", "finalize_enter_ns", "program_end_ns"),
    "detail_end_ns",
)
Moves = Callable[[Ints], Ints]


def move(rank: Rank, to: Moves) -> None:
    """Moves all times of a rank; `to` keeps their order."""

    def moved(moment_ns: int) -> int:
        return int(to(np.array([moment_ns], np.int64))[0])

    rank.start_ns, rank.end_ns = moved(rank.start_ns), moved(rank.end_ns)
    for name in MOMENTS:
        if (moment := getattr(rank, name)) is not None:
            setattr(rank, name, moved(moment))
    for name in INTERVAL_TABLES:
        table = getattr(rank, name)
        table["t0"], table["t1"] = to(table["t0"]), to(table["t1"])
    for name in MOMENT_TABLES:
        table = getattr(rank, name)
        table["t"] = to(table["t"])
    if rank.devices is not None:
        _move_devices(rank.devices, to)


def _move_devices(devices: DeviceActivity, to: Moves) -> None:
    known = devices.rows["launch"] != LAUNCH_UNKNOWN
    devices.rows["launch"][known] = to(devices.rows["launch"][known])
    for table in (devices.rows, devices.runtime):
        table["t0"], table["t1"] = to(table["t0"]), to(table["t1"])
