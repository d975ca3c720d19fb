"""Bandwidth and cost of collectives as an object of analysis.json."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from perfscope.metrics.communication.collective_cost import CollectiveCost, Fit
    from perfscope.metrics.communication.collective_fit import Line
    from perfscope.metrics.communication.collective_fusion import Fusion
    from perfscope.metrics.communication.collective_ways import AllreduceCost

Json = dict[str, Any]
ASSUMPTIONS = (
    (
        "Latency is that of the smallest sizes, spread over the rounds of a recursive doubling: "
        "ceil(log2 ranks)."
    ),
    "The time to add numbers up is part of the time per byte.",
    "More ranks, and all links between them, are as fast as those of this run.",
)


def collective_cost_json(found: CollectiveCost | None) -> Json | None:
    """Bandwidths, fits and predictions; None where nothing was computed."""
    if found is None:
        return None
    return {
        "classes": [asdict(item) for item in found.classes],
        "classes_left_out": found.classes_left_out,
        "fits": [_fit(fit) for fit in found.fits],
        "reason": found.reason,
        "allreduce": [_prediction(item) for item in found.predictions],
        "allreduce_measured_s": found.measured_s,
        "fusion": _fusion(found.fusion),
        "assumptions": list(ASSUMPTIONS) if found.predictions else [],
    }


def _fit(fit: Fit) -> Json:
    return {
        "name": fit.name,
        "ranks": fit.ranks,
        "calls": fit.calls,
        "least_bytes": fit.least_bytes,
        "most_bytes": fit.most_bytes,
        **_line(fit.line),
        "pieces": [_line(line) for line in fit.curve.lines],
        "pieces_meet_at_bytes": [x / fit.factor for x in fit.curve.bounds],
    }


def _line(line: Line) -> Json:
    return {
        "latency_s": line.latency_s,
        "latency_interval_s": list(line.latency_interval_s),
        "bytes_per_s": line.bytes_per_s,
        "bytes_per_s_interval": list(line.bytes_per_s_interval),
        "typical_error": line.typical_error,
    }


def _fusion(found: Fusion | None) -> Json | None:
    if found is None:
        return None
    return {
        "calls": found.calls,
        "groups": found.groups,
        "most_bytes": found.most_bytes,
        "seconds": found.seconds,
        "latency_s": found.latency_s,
        "is_dominant": found.is_dominant,
        "saved_s": found.saved_s,
    }


def _prediction(item: AllreduceCost) -> Json:
    torus = item.torus
    return {
        "size_bytes": item.size_bytes,
        "ranks": item.ranks,
        "ring_s": item.ring_s,
        "recursive_doubling_s": item.recursive_doubling_s,
        "rabenseifner_s": item.rabenseifner_s,
        "tree_s": item.tree_s,
        "hierarchical_s": item.hierarchical_s,
        "hierarchical_put_s": item.hierarchical_put_s,
        "torus": _torus(torus) if torus else None,
        "tori": [_torus(shape) for shape in item.tori],
    }


def _torus(shape: tuple[float, int, int]) -> Json:
    return {"seconds": shape[0], "x": shape[1], "y": shape[2]}
