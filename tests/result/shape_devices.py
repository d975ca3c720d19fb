"""The shape of `devices` in analysis.json."""

from __future__ import annotations

from typing import Any

from tests.result.shape_kinds import Either, Map, Maybe, OneOf

METRIC = "metric"


def seconds(*names: str) -> dict[str, Any]:
    return {f"{name}_s": float for name in names}


TIMES = {
    **seconds("busy", "idle", "compute", "communication", "memcpy", "memset"),
    **seconds("exposed_communication", "exposed_memory"),
    "overlap": Maybe(float),
}
TREE = dict.fromkeys(
    ("parallel_efficiency", "load_balance", "communication_efficiency", "orchestration_efficiency"),
    METRIC,
)
STREAM = {"stream": int, "rows": int} | seconds("busy", "host_wait", "kernel_wait", "other", "edge")
COUNTS = {"compute_kernels": int, "communication_kernels": int, "copies": int, "fills": int}
KERNEL = {
    "name": str,
    "kind": OneOf(("compute", "communication", "memcpy", "memset")),
    "count": int,
    "seconds": float,
    **seconds("least", "most"),
    "bytes": int,
    "launch_delay_s": Maybe(float),
}
COMMUNICATION = {
    "reason": Maybe(str),
    "matched": int,
    "unmatched": int,
    "end_spread_s": Maybe(float),
    "ranks": [
        {"rank": int, "seconds": float, "last": int, **seconds("wait", "transfer", "longest_wait")}
    ],
}
DEVICES = Either(
    {"value": None, "reason": str},
    {
        "value": Maybe(float),
        "reason": Maybe(str),
        "formula": OneOf(("bsc",)),
        "efficiency": {"bsc": TREE, "talp": TREE},
        "offload_efficiency": METRIC,
        "devices": [
            {
                "rank": int,
                "device": int,
                "name": str,
                **TIMES,
                **COUNTS,
                "idle_s_by_host": Map(float),
                "streams": [STREAM],
            }
        ],
        "steps": [{"rank": int, "device": int, "number": int, **TIMES}],
        "kernels": [KERNEL],
        "kernels_left_out": int,
        "communication": COMMUNICATION,
        "launch_delay_s_median": [Maybe(float)],
        "kernel_wait_below_s": float,
        "unlinked_rows": int,
    },
)
