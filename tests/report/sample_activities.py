"""Activities as analysis.json holds them, made up."""

from typing import Any

Json = dict[str, Any]


def activities() -> Json:
    """One activity at one line, and what the collector took on one rank."""
    place = {
        "activity": "numeric",
        "phase": "train",
        "function": "train",
        "file": "/home/user/train.py",
        "line": 40,
        "calls": "numpy.dot",
        "is_in_step": True,
        "seconds": 3.0,
        "most": [{"rank": 0, "seconds": 3.0}],
    }
    return {
        "reason": None,
        "places_left_out": 0,
        "left_out_s": 0.0,
        "untold_s": 0.0,
        "totals": [
            {"activity": "numeric", "label": "Numeric library", "seconds": 3.0, "in_steps_s": 3.0}
        ],
        "places": [place],
        "garbage": [{"rank": 0, "collections": None, "long_s": 0.1, "shorter_s": 0.0}],
    }
