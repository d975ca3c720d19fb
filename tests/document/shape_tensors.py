"""The shapes of `horovod` and `tensors` in analysis.json."""

from __future__ import annotations

from tests.document.shape_kinds import Map, Maybe

SPREAD = Maybe({"least": int, "median": float, "most": int})
TENSORS = Maybe(
    {
        "ranks": [int],
        "window_s": float,
        "negotiations": {
            "count": int,
            "with_ranks": int,
            "unfinished": int,
            "seconds": float,
            "skew_s": float,
            "skew_s_most": Maybe(float),
        },
        "reason": Maybe(str),
        "wait_s_by_rank": Map([float]),
        "last_by_rank": [int],
        "first_by_rank": [int],
        "late_s_by_rank": [float],
        "start_late_s_by_rank": [float],
        "activities": [
            {"name": str, "count": int, "seconds": float, "summed_s": float, "depth": int}
        ],
        "fusions": {"operations": int, "tensors": SPREAD, "bytes": SPREAD},
        "cycles": int,
        "tensor_count": int,
        "tensors": [
            {
                "name": str,
                "negotiations": int,
                "bytes": Maybe(int),
                "skew_s": float,
                "last_rank": Maybe(int),
                "last_share": Maybe(float),
            }
        ],
    }
)
HOROVOD = Maybe(
    {
        "locations": [
            {
                "rank": int,
                "thread": int,
                "data_s": float,
                "control_s": float,
                "other_s": float,
                "idle_s": float,
                "control_cycles": int,
                "data_calls": Map(int),
                "data_bytes": int,
                "fusion_bytes": {
                    "allreduces": int,
                    "least": Maybe(int),
                    "median": Maybe(float),
                    "most": Maybe(int),
                },
            }
        ],
        "exposed": {
            "reason": Maybe(str),
            "wait_s_by_rank": [float],
            "transfer_s_by_rank": [float],
            "step_wait_s_median_by_rank": [Maybe(float)],
            "step_transfer_s_median_by_rank": [Maybe(float)],
            "steps": [int],
            "step_wait_s": [[Maybe(float)]],
            "step_transfer_s": [[Maybe(float)]],
        },
    }
)
