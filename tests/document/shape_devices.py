"""The shape of `devices` in analysis.json."""

from __future__ import annotations

from typing import Any

from tests.document.shape_kinds import Either, Fixed, Map, Maybe, OneOf

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
SERIES = {"seconds": [float], "values": [float]}
GPU = {
    **dict.fromkeys(("host", "uuid", "name", "board", "driver", "known_by"), str),
    "index": int,
    "capability": Maybe(str),
    "is_lost": bool,
    "ranks": [int],
    "samples": int,
    "watched_s": float,
    **dict.fromkeys(("busy", "memory_busy", "sm_mhz", "sm_mhz_most"), Maybe(float)),
    **dict.fromkeys(("power_w", "power_limit_w", "celsius_most"), Maybe(float)),
    **dict.fromkeys(("memory_total_bytes", "memory_peak_bytes"), Maybe(int)),
    "memory_peak_phase": str,
    "memory_peak_bytes_by_rank": [{"rank": int, "bytes": int}],
    "throttled": Map(float),
    "series": dict.fromkeys(("busy", "memory_bytes", "power_w", "sm_mhz"), SERIES),
}
SAMPLED = {"value": Maybe(float), "reason": Maybe(str), "gpus": [GPU]}
COPY = {
    "direction": OneOf(("host to device", "device to host", "unknown")),
    "pageable": Maybe(bool),
    "count": int,
    "bytes": int,
    "seconds": float,
    "exposed_s": float,
}
DEVICES = Either(
    {"value": None, "reason": str, "sampled": SAMPLED},
    {
        "value": Maybe(float),
        "reason": Maybe(str),
        "formula": OneOf(("bsc",)),
        "window_s": Fixed((float, float)),
        "is_part": bool,
        "sampled": SAMPLED,
        "efficiency": {"bsc": TREE, "talp": TREE},
        "offload_efficiency": METRIC,
        "devices": [
            {
                "rank": int,
                "device": int,
                "name": str,
                **TIMES,
                **COUNTS,
                "capability": Maybe(str),
                "idle_s_by_host": Map(float),
                "idle_reason": Maybe(str),
                "idle_s_by_cause": Map(float),
                "host_copies": [COPY],
                "streams": [STREAM],
            }
        ],
        "steps": [{"rank": int, "device": int, "number": int, **TIMES}],
        "kernels": [KERNEL],
        "kernels_left_out": int,
        "matrices": {"single_precision_s": float, "tensor_cores_s": float},
        "communication": COMMUNICATION,
        "launch_delay_s_median": [Maybe(float)],
        "kernel_wait_below_s": float,
        "unlinked_rows": int,
    },
)
