"""The shape of analysis.json as docs/analysis-json.md describes it, and a checker for it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from tests.document.shape_devices import DEVICES
from tests.document.shape_hardware import HARDWARE
from tests.document.shape_kinds import WAIT_KINDS, Either, Fixed, Map, Maybe, OneOf
from tests.document.shape_replay import COST, PLACE, REPLAY
from tests.document.shape_stacks import MEMORY_LINES, STACKS
from tests.document.shape_tensors import HOROVOD, TENSORS

Json = Any


METRIC = "metric"
STATUS = OneOf(("fail", "warn", "info", "not_measured", "not_applicable", "pass", "error"))
SERIES = {"seconds": [float], "values": [float]}
EFFICIENCIES = dict.fromkeys(
    (
        "parallel_efficiency",
        "load_balance",
        "communication_efficiency",
        "serialization_efficiency",
        "transfer_efficiency",
        "productive_share",
        "training_efficiency",
    ),
    METRIC,
)
THROUGHPUT = (
    "samples_per_s",
    "step_s_median",
    "step_s_p95",
    "epoch_s_median",
    "time_to_solution_s",
)
ENDS = ("finalized", "exited", "killed", "aborted", "aborted in teardown", "unknown")
DOCUMENT = {
    "schema_version": OneOf(("1",)),
    "tool": {"name": str, "version": str},
    "run": {
        "command": [str],
        "program": Maybe(str),
        "commit": Maybe({"id": str, "branch": Maybe(str)}),
        "source": str,
        "start_unix_s": float,
        "wall_s": float,
        "launcher": str,
        "exit_code": Maybe(int),
        "ranks": int,
        "recorded_ranks": int,
        "missing_ranks": [int],
        "incomplete_ranks": [int],
        "damage": [{"id": str, "text": str, "spoils": [str]}],
        "hosts": [{"name": str, "ranks": [int]}],
        "focus_of_analysis_s": Fixed((float, float)),
        "focus_kind": str,
        "focus_reason": str,
        "endings": [
            {
                "rank": int,
                "host": str,
                "pid": int,
                "kind": OneOf(ENDS),
                "code": Maybe(int),
                "text": str,
                **dict.fromkeys(("start_s", "end_s"), float),
                "in_operation": Maybe(str),
                "exception": Maybe({"type": str, "message": str, "file": str, "line": int}),
                **dict.fromkeys(("is_first", "is_out_of_memory"), bool),
            }
        ],
        "throughput": {
            **dict.fromkeys(THROUGHPUT, METRIC),
            "steps": int,
            "step_source": Maybe(str),
        },
        "batch_size": Maybe(int),
        "versions": Map(str),
        "environment": Map(str),
        "topology": [Map(None)],
    },
    "verdict": {
        "sentence": str,
        "status": OneOf(("fail", "warn", "pass", "info")),
        "efficiency": {
            "id": OneOf(("device_efficiency", "parallel_efficiency")),
            "label": str,
            "value": Maybe(float),
            "reason": Maybe(str),
        },
        "combined_gain_s": Maybe(float),
        "combined_gain_share": Maybe(float),
        "combined_gain_run_share": Maybe(float),
        "combined_of": [str],
        "combined_text": Maybe(str),
        "top": [str],
    },
    "ledger": [
        {
            "id": str,
            "label": str,
            "seconds": float,
            "share": float,
            "ns_by_rank": [int],
            "meaning": str,
        }
    ],
    "ledger_functions": [
        {
            "function": str,
            "file": str,
            "line": int,
            "seconds": float,
            "share": float,
            "account": str,
            "seconds_by_rank": [float],
        }
    ],
    "unlabelled": {"share": float, "seconds": float, "target": float},
    "metrics": {
        **EFFICIENCIES,
        "outside_communication_s_by_rank": [float],
        "useful_s_by_rank": [float],
        "productive_split": Map(float),
    },
    "phases": [
        {
            "id": str,
            "label": str,
            "kind": str,
            "source": str,
            "count": int,
            "ranks": [int],
            "seconds_by_rank": [float],
            "communication_s_by_rank": [float],
            "where": [PLACE],
            "metrics": Maybe(EFFICIENCIES),
            "windows_s": [Fixed((int, float, float))],
        }
    ],
    "steps": {
        "source": Maybe(str),
        "count": int,
        "numbers": [int],
        "max_seconds": [float],
        "min_seconds": [float],
        "series": Map([Fixed((float, float))]),
    },
    "timeline": {
        "reason": Maybe(str),
        "start_s": float,
        "length_s": float,
        "accounts": [{"letter": str, "id": str, "label": str}],
        "rows": [{"rank": int, "host": str}],
        "ranks_left_out": int,
        "levels": [{"bins": int, "bin_s": float, "rows": [str]}],
    },
    "collectives": {
        "clocks_reason": Maybe(str),
        "operations": [
            {
                "name": str,
                "calls": int,
                "seconds": float,
                "seconds_by_rank": [float],
                "bytes_sent": Maybe(int),
                "bytes_received": Maybe(int),
                "wait_s": Maybe(float),
                "transfer_s": Maybe(float),
                "detailed_calls": int,
            }
        ],
        "wait_s_by_rank": [float],
        "transfer_s_by_rank": [float],
        "other_s_by_rank": [float],
        "wait_states": [
            {
                "kind": OneOf(WAIT_KINDS),
                "seconds": float,
                "by_rank": [{"rank": Maybe(int), "seconds": float}],
                "left_out_s": float,
            }
        ],
        "late_arrivals": [
            {
                "rank": int,
                "phase": str,
                "function": Maybe(str),
                "file": Maybe(str),
                "line": Maybe(int),
                "caller": Maybe(PLACE),
                "waiting_s": float,
                "stall_s": float,
                "instances": int,
                "window_s": Fixed((float, float)),
            }
        ],
        "matched_calls": int,
        "unmatched": Map(int),
        "gradient_exchange": Maybe(
            {
                "exchanges": int,
                "exposed_s": METRIC,
                "exposed_s_by_rank": [float],
                "wait_s_by_rank": [float],
                "transfer_s_by_rank": [float],
            }
        ),
        "cost": COST,
    },
    "horovod": HOROVOD,
    "tensors": TENSORS,
    "memory": {
        "reason": Maybe(str),
        "ranks": [
            {
                "rank": int,
                "host": str,
                "peak_bytes": int,
                "start_bytes": int,
                "end_bytes": int,
                "slope_bytes_per_s": Maybe(float),
                "limit_bytes": Maybe(int),
                "peak_phase": str,
                "tree_bytes": Maybe(int),
                "descendants": int,
                "series": SERIES,
            }
        ],
        "nodes": [
            {
                "host": str,
                "total_bytes": Maybe(int),
                "least_available_bytes": Maybe(int),
                "oom_kills": int,
                "ranks": [int],
            }
        ],
        "lines": MEMORY_LINES,
    },
    "stacks": STACKS,
    "threads": {
        "reason": Maybe(str),
        "ranks": [
            {
                "rank": int,
                "host": str,
                "threads_max": int,
                "runnable_mean": float,
                "runnable_p95": float,
                "cpu_s": float,
                "cpu_utilisation": float,
                "queue_delay_s": float,
                "involuntary_switches": int,
                "voluntary_switches": int,
                "pool_threads": Maybe(int),
                "cpus_allowed": str,
                "cpus_available": float,
                "groups": [{"stem": str, "count": int, "cpu_s": float, "runnable_mean": float}],
                "threads_series": SERIES,
                "runnable_series": SERIES,
                "cpu_series": SERIES,
            }
        ],
        "nodes": [
            {
                "host": str,
                "ranks": [int],
                "cpus": float,
                "runnable_mean": float,
                "runnable_p95": float,
                "ranks_sharing_a_cpu": [int],
            }
        ],
    },
    "io": {
        "reason": Maybe(str),
        "read_bytes_by_rank": [int],
        "written_bytes_by_rank": [int],
        "stalled_s_by_rank": [Maybe(float)],
    },
    "devices": DEVICES,
    "hardware": HARDWARE,
    "replay": REPLAY,
    "findings": [
        {
            "id": str,
            "status": STATUS,
            "title": str,
            "summary": str,
            "gain_s": Maybe(float),
            "gain_interval_s": Maybe(Fixed((float, float))),
            "gain_share": Maybe(float),
            "gain_run_share": Maybe(float),
            "gain_basis": Maybe(OneOf(("replay", "upper_bound"))),
            "first_action": Maybe(
                {
                    "gain_s": float,
                    "gain_interval_s": Maybe(Fixed((float, float))),
                    "gain_share": Maybe(float),
                    "gain_run_share": Maybe(float),
                    "gain_basis": Maybe(OneOf(("replay", "upper_bound"))),
                }
            ),
            "assumptions": [str],
            "planned": Maybe(
                {
                    "steps": int,
                    "gain_s": Maybe(float),
                    "runtime_s": Maybe(float),
                    "reason": Maybe(str),
                }
            ),
            "confidence": OneOf(("high", "medium", "low")),
            "ranks": [int],
            "window_s": Maybe(Fixed((float, float))),
            "where": [PLACE],
            "evidence": [{"label": str, "value": (str, float), "unit": str, "expected": str}],
            "actions": [str],
            "references": [str],
            "overlaps": [str],
        }
    ],
    "quality": [{"id": str, "status": STATUS, "title": str, "detail": str}],
    "how_measured": [{"term": str, "text": str}],
}


def problems(document: Json, shape: Any = DOCUMENT, path: str = "") -> Iterator[str]:
    """What of the document is not as described, one line each."""
    if shape is None or (isinstance(shape, Maybe) and document is None):
        return
    if isinstance(shape, Maybe):
        yield from problems(document, shape.shape, path)
    elif isinstance(shape, Either):
        chosen = shape.short if document.keys() == shape.short.keys() else shape.long
        yield from problems(document, chosen, path)
    elif shape == METRIC:
        yield from _metric_problems(document, path)
    elif isinstance(shape, OneOf):
        if document not in shape.texts:
            yield f"{path}: {document!r} is none of {shape.texts}"
    elif isinstance(shape, dict):
        yield from _object_problems(document, shape, path)
    elif isinstance(shape, Map | list | Fixed):
        yield from _item_problems(document, shape, path)
    elif not _is_a(document, shape):
        yield f"{path}: {document!r} is no {shape}"


def _item_problems(document: Json, shape: Any, path: str) -> Iterator[str]:
    if isinstance(shape, Map):
        for key, value in document.items():
            yield from problems(value, shape.shape, f"{path}.{key}")
        return
    shapes = shape.shapes if isinstance(shape, Fixed) else shape * len(document)
    if len(document) != len(shapes):
        yield f"{path}: {len(document)} items instead of {len(shapes)}"
    for index, (value, one) in enumerate(zip(document, shapes, strict=False)):
        yield from problems(value, one, f"{path}[{index}]")


def _object_problems(document: Json, shape: dict[str, Any], path: str) -> Iterator[str]:
    if not isinstance(document, dict):
        yield f"{path}: no object"
        return
    if missing := shape.keys() - document.keys():
        yield f"{path}: without {sorted(missing)}"
    if extra := document.keys() - shape.keys():
        yield f"{path}: not described: {sorted(extra)}"
    for key in shape.keys() & document.keys():
        yield from problems(document[key], shape[key], f"{path}.{key}")


def _metric_problems(document: Json, path: str) -> Iterator[str]:
    known = {"value", "unit", "reason", "useful", "foa", "formula"}
    if not isinstance(document, dict) or not {"value", "unit"} <= document.keys() <= known:
        yield f"{path}: no metric"
    elif document["value"] is None:
        if not document.get("reason"):
            yield f"{path}: null without a reason"
    elif not _is_a(document["value"], float):
        yield f"{path}: {document['value']!r} is no number"


def _is_a(value: Json, shape: Any) -> bool:
    if isinstance(shape, tuple):
        return any(_is_a(value, one) for one in shape)
    if shape is float:
        number = isinstance(value, int | float) and not isinstance(value, bool)
        return number and math.isfinite(value)
    if shape is int:
        return isinstance(value, int) and not isinstance(value, bool)
    return isinstance(value, shape)
