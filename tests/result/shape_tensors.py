"""The shape of `tensors` in analysis.json: what Horovod's timeline told."""

from __future__ import annotations

from tests.result.shape_kinds import Map, Maybe

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
