"""What rocprofv3 writes of one process, in the forms that it has beside tables."""

import json
import sqlite3
from pathlib import Path
from typing import Any

NAME = "gemm(double*, int)"
KINDS = ["NONE", "HIP_RUNTIME_API", "MARKER_CORE_API", "KERNEL_DISPATCH", "MEMORY_COPY"]
OPERATIONS = [
    *(["NONE"], ["NONE", "hipLaunchKernel"], ["NONE", "roctxRangePushA"], ["NONE"]),
    ["NONE", "MEMORY_COPY_HOST_TO_DEVICE", "MEMORY_COPY_DEVICE_TO_HOST"],
]
KERNEL, COPY, CALL, RANGE = (
    (1_000_000, 1_500_000),
    (900_000, 950_000),
    (800_000, 810_000),
    (700, 9**7),
)
LIVED = (1, 2_000_000)
"""When the process began and ended."""


def _row(
    kind: int, operation: int, times: tuple[int, int], call: int, **more: Any
) -> dict[str, Any]:
    return {
        "kind": kind,
        "operation": operation,
        "thread_id": 70,
        "correlation_id": {"internal": call, "external": 0},
        "start_timestamp": times[0],
        "end_timestamp": times[1],
        **more,
    }


def process(pid: int = 7) -> dict[str, Any]:
    """One element of the JSON: a kernel, its launch, a copy and a range of the program."""
    agents = [
        {
            "size": 1,
            "id": {"handle": 100 + number},
            "type": kind,
            "node_id": number,
            "product_name": name,
        }
        for number, kind, name in ((0, 1, "EPYC"), (4, 2, "Instinct MI300X"))
    ]
    info = {
        "agent_id": {"handle": 104},
        "queue_id": {"handle": 1},
        "kernel_id": 33,
        "dispatch_id": 1,
    }
    return {
        "metadata": {
            "pid": pid,
            "init_time": LIVED[0],
            "fini_time": LIVED[1],
            "node": {"hostname": "n0"},
        },
        "agents": agents,
        "strings": {
            "buffer_records": [
                {"kind": kind, "operations": names}
                for kind, names in zip(KINDS, OPERATIONS, strict=True)
            ],
            "marker_api": [{"key": 3, "value": "evaluate"}],
        },
        "kernel_symbols": [{"kernel_id": 33, "formatted_kernel_name": NAME, "kernel_name": "_Z4"}],
        "buffer_records": {
            "kernel_dispatch": [_row(3, 0, KERNEL, 8, dispatch_info=info)],
            "memory_copy": [
                _row(
                    4,
                    1,
                    COPY,
                    5,
                    dst_agent_id={"handle": 104},
                    src_agent_id={"handle": 100},
                    bytes=64,
                )
            ],
            "hip_api": [_row(1, 1, CALL, 8)],
            "marker_api": [_row(2, 1, RANGE, 3)],
        },
    }


def document(path: Path, *processes: dict[str, Any]) -> Path:
    """The JSON of some processes."""
    path.write_text(json.dumps({"rocprofiler-sdk-tool": list(processes)}))
    return path


TABLES = {
    "info_node": "id, hostname",
    "info_process": 'id, nid, pid, start, "end"',
    "info_agent": "id, type, absolute_index, product_name, name",
    "info_kernel_symbol": "id, kernel_name, display_name",
    "string": "id, string",
    "event": "id, category_id, stack_id, correlation_id, extdata",
    "kernel_dispatch": 'id, pid, tid, agent_id, kernel_id, queue_id, start, "end", event_id',
    "memory_copy": 'id, pid, start, "end", name_id, dst_agent_id, src_agent_id, size, event_id',
    "region": 'id, pid, tid, start, "end", name_id, event_id',
}
"""Of rocpd's schema 3 the tables and columns that are read."""


def database(path: Path, *pids: int) -> Path:
    """The same as `process` in rocpd's tables, each process in tables of its own."""
    with sqlite3.connect(path) as made:
        for number, pid in enumerate(pids or (7,)):
            rows: dict[str, list[tuple[Any, ...]]] = {
                "info_node": [(1, "n0")],
                "info_process": [(1, 1, pid, *LIVED)],
                "info_agent": [(0, "CPU", 0, "EPYC", ""), (4, "GPU", 4, "Instinct MI300X", "")],
                "info_kernel_symbol": [(33, "_Z4", NAME)],
                "string": list(
                    enumerate((*KINDS, "hipLaunchKernel", "roctxRangePushA", OPERATIONS[4][1]))
                ),
                "event": [
                    *((1, 3, 8, 0, "{}"), (2, 4, 5, 0, "{}"), (3, 1, 8, 0, "{}")),
                    (4, 2, 3, 0, json.dumps({"message": "evaluate"})),
                ],
                "kernel_dispatch": [(1, 1, 70, 4, 33, 1, *KERNEL, 1)],
                "memory_copy": [(1, 1, *COPY, 7, 4, 0, 64, 2)],
                "region": [(8, 1, 70, *CALL, 5, 3), (3, 1, 70, *RANGE, 6, 4)],
            }
            for table, columns in TABLES.items():
                name = f"rocpd_{table}_0000_{number}"
                made.execute(f"CREATE TABLE {name} ({columns})")
                marks = ", ".join("?" * len(columns.split(",")))
                made.executemany(f"INSERT INTO {name} VALUES ({marks})", rows[table])
    made.close()
    return path
