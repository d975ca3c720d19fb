"""The shape of what the replay and the cost of collectives are in analysis.json."""

from __future__ import annotations

from tests.document.shape_kinds import Fixed, Maybe

PLACE = {"file": str, "line": int, "function": str}
LINE = {
    "latency_s": float,
    "latency_interval_s": Fixed((float, float)),
    "bytes_per_s": Maybe(float),
    "bytes_per_s_interval": Fixed((Maybe(float), Maybe(float))),
    "typical_error": float,
}
COST = Maybe(
    {
        "classes": [
            {
                "name": str,
                "ranks": int,
                "calls": int,
                "size_bytes": int,
                "seconds": float,
                "algorithm_bytes_per_s": float,
                "bus_bytes_per_s": float,
                "of_best": float,
            }
        ],
        "classes_left_out": int,
        "fits": [
            {
                "name": str,
                "ranks": int,
                "calls": int,
                "least_bytes": int,
                "most_bytes": int,
                **LINE,
                "pieces": [LINE],
                "pieces_meet_at_bytes": [float],
            }
        ],
        "reason": Maybe(str),
        "allreduce": [
            {
                "size_bytes": int,
                "ranks": int,
                "ring_s": float,
                "recursive_doubling_s": float,
                "rabenseifner_s": Maybe(float),
                "tree_s": float,
                "hierarchical_s": Maybe(float),
                "hierarchical_put_s": Maybe(float),
                "torus": Maybe({"seconds": float, "x": int, "y": int}),
                "tori": [{"seconds": float, "x": int, "y": int}],
            }
        ],
        "allreduce_measured_s": Maybe(float),
        "fusion": Maybe(
            {
                "calls": int,
                "groups": int,
                "most_bytes": int,
                "seconds": float,
                "latency_s": float,
                "is_dominant": bool,
                "saved_s": float,
            }
        ),
        "assumptions": [str],
    }
)

DELAY = {
    "rank": int,
    "phase": Maybe(str),
    "direct_s": float,
    "indirect_s": float,
    "share": float,
}
REPLAY = {
    "available": bool,
    "reason": str,
    "relative_error": Maybe(float),
    "ideal_runtime_s": Maybe(float),
    "edits_assumptions": [str],
    "critical_path": Maybe(
        {
            "seconds": float,
            "work_s": float,
            "transfer_s": float,
            "by_rank": [{"rank": int, "work_s": float, "transfer_s": float}],
            "ranks": int,
            "by_phase": [{"phase": Maybe(str), "seconds": float}],
            "by_operation": [{"name": str, "seconds": float}],
            "by_line": [{**PLACE, "seconds": float}],
        }
    ),
    "delay_costs": Maybe(
        {
            "waiting_s": float,
            "direct_s": float,
            "indirect_s": float,
            "unattributed_s": float,
            "causes": [DELAY],
            "causes_left_out": int,
        }
    ),
    "waits": Maybe(
        {
            "pairs": [{"waiter": int, "cause": int, "seconds": float}],
            "pairs_left_out": int,
            "left_out_s": float,
            "ranks_per_block": int,
            "blocks_s": [[float]],
        }
    ),
    "by_step": Maybe(
        [
            {
                "first": int,
                "count": int,
                **dict.fromkeys(("work_s", "transfer_s", "waiting_s"), float),
                **dict.fromkeys(("direct_s", "indirect_s", "unattributed_s"), float),
                "cause": Maybe(DELAY),
            }
        ]
    ),
}
