"""Sampled stacks and lines that keep memory of a made-up run, as analysis.json holds them."""

from tests.report.sample_parts import Json, Shape

CALLS = (
    (-1, "<module>", "examples/train.py", 300, True, 1.0, 0.0),
    (0, "train", "examples/train.py", 120, True, 0.9, 0.05),
    (1, "forward", "examples/train.py", 148, True, 0.5, 0.2),
    (2, "dot", "/usr/lib/python3/dist-packages/numpy/core.py", 12, False, 0.3, 0.3),
    (1, "backward", "examples/train.py", 160, True, 0.35, 0.35),
    (0, "report", "examples/train.py", 180, True, 0.1, 0.1),
)


def stacks(shape: Shape) -> Json:
    """One phase in which `CALLS` share the time evenly over the ranks."""
    seconds = 10.0 * shape.ranks
    shown = list(range(min(shape.ranks, 8)))
    place = {"function": "backward", "file": "examples/train.py", "line": 160}
    return {
        "reason": None,
        "hz": 100.0,
        "ranks": list(range(shape.ranks)),
        "missing": [{"rank": 0, "reason": "a file of it is damaged"}],
        "paused_s": 60.0,
        "waiting_s": 3.0,
        "phases": [
            {
                "id": "train",
                "label": "Training",
                "seconds": seconds * 1.25,
                "sampled_s": seconds,
                "ranks": shown,
                "nodes": [
                    {
                        "parent": parent,
                        "function": function,
                        "file": file,
                        "line": line,
                        "is_user": is_user,
                        "seconds": share * seconds,
                        "self_s": own * seconds,
                        "seconds_by_rank": [share * 10.0 for _ in shown],
                    }
                    for parent, function, file, line, is_user, share, own in CALLS
                ],
                "nodes_left_out": 3,
                "left_out_s": 0.01,
                "top": [place | {"is_user": True, "self_s": 3.5, "total_s": 3.5}],
            }
        ],
        "phases_left_out": 0,
    }


def memory_lines() -> Json:
    """A line of rank 0 that keeps memory."""
    line = {"function": "remember", "file": "examples/train.py", "line": 77}
    inner = {"function": "ones", "file": "numpy/core.py", "line": 5}
    return {
        "reason": None,
        "ranks": [
            {
                "rank": 0,
                "engine": "memray 1.20.0",
                "reason": None,
                "window_s": [4.0, 12.0],
                "is_whole_life": False,
                "kept_bytes": 30 << 20,
                "lines": [{**line, "kept_bytes": 25 << 20, "count": 400, "allocator": inner}],
            }
        ],
    }
