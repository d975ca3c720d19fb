"""The shape of `stacks` and `memory.lines` in analysis.json."""

from __future__ import annotations

from tests.document.shape_kinds import Either, Fixed, Maybe
from tests.document.shape_replay import PLACE

NODE = {
    "parent": int,
    **PLACE,
    "is_user": bool,
    "seconds": float,
    "self_s": float,
    "seconds_by_rank": [float],
}
STACKS = Either(
    {"reason": str, "phases": [], "missing": []},
    {
        "reason": Maybe(str),
        "hz": float,
        "ranks": [int],
        "missing": [{"rank": int, "reason": str}],
        "paused_s": float,
        "waiting_s": float,
        "phases": [
            {
                "id": str,
                "label": str,
                "seconds": float,
                "sampled_s": float,
                "ranks": [int],
                "nodes": [NODE],
                "nodes_left_out": int,
                "left_out_s": float,
                "top": [{**PLACE, "is_user": bool, "self_s": float, "total_s": float}],
            }
        ],
        "phases_left_out": int,
    },
)
MEMORY_LINES = {
    "reason": Maybe(str),
    "ranks": [
        {
            "rank": int,
            "engine": str,
            "reason": Maybe(str),
            "window_s": Fixed((float, float)),
            "is_whole_life": bool,
            "kept_bytes": int,
            "lines": [{**PLACE, "kept_bytes": int, "count": int, "allocator": Maybe(PLACE)}],
        }
    ],
}
