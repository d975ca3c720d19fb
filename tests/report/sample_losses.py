"""The loss account of a made-up run."""

from collections.abc import Mapping
from typing import Any

import numpy as np

Json = dict[str, Any]


def losses(seconds: Mapping[str, Any]) -> Json:
    """What of made-up accounts was no training work: evaluation, and waiting for it."""
    ns = {name: int(np.sum(spent) * 1e9) for name, spent in seconds.items()}
    life = sum(ns.values())
    outside = ns.get("start_up", 0) + ns.get("shutdown", 0)
    window = life - outside
    entries = [
        _entry("Evaluation", "other_work", ns.get("evaluation", 0), window)
        | {
            "account": "evaluation",
            "phase": "evaluate",
            "pattern": "bursts",
            "is_certain": True,
            "steps": [20, 180],
            "where": {"file": "examples/train.py", "line": 212, "function": "evaluate"},
            "saving": {
                "seconds": 3.1,
                "interval_s": [2.9, 3.3],
                "basis": "replay",
                "reason": None,
            },
            "findings": ["rank_zero_evaluation"],
        },
        _entry("Unexplained waiting", "waiting", ns.get("communication_wait", 0), window),
        _entry("Before and after", "outside", outside, None),
    ]
    lost = sum(entry["ns"] for entry in entries)
    training = life - lost
    return {
        "life_ns": life,
        "window_ns": window,
        "training_ns": training,
        "lost_ns": lost,
        "lost_share": (lost - outside) / window if window else None,
        "unknown_share": 0.0 if window else None,
        "entries": entries,
    }


def _entry(label: str, kind: str, ns: int, window: int | None) -> Json:
    waits = ns if kind == "waiting" else 0
    return {
        "label": label,
        "kind": kind,
        "account": None,
        "activity": None,
        "phase": "",
        "operation": "",
        "ns": ns,
        "own_ns": ns - waits,
        "waiting_ns": waits,
        "share": ns / window if window else None,
        "ranks": [0],
        "ranks_left_out": 0,
        "where": None,
        "pattern": None,
        "is_certain": None,
        "steps": None,
        "causes": 1,
        "saving": {"seconds": None, "interval_s": None, "basis": None, "reason": "not replayed"},
        "findings": [],
    }
