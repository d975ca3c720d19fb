"""Bandwidth and cost of collectives as an object of analysis.json."""

from perfscope.metrics.communication import collective_cost as measured
from perfscope.schema.common import CostLine
from perfscope.schema.communication import CollectiveCost, CollectiveFit

ASSUMPTIONS = (
    (
        "Latency is that of the smallest sizes, divided by the rounds of recursive doubling: "
        "ceil(log2 ranks)."
    ),
    "The time for the reduction itself is part of the time per byte.",
    "Additional ranks and all links between them are assumed as fast as those of this run.",
)


def collective_cost(found: measured.CollectiveCost | None) -> CollectiveCost | None:
    """Bandwidths, fits and predictions; None where nothing was computed."""
    if found is None:
        return None
    return CollectiveCost(
        classes=found.classes,
        classes_left_out=found.classes_left_out,
        fits=tuple(_fit(fit) for fit in found.fits),
        reason=found.reason,
        allreduce=found.predictions,
        allreduce_measured_s=found.measured_s,
        fusion=found.fusion,
        assumptions=ASSUMPTIONS if found.predictions else (),
    )


def _fit(fit: measured.Fit) -> CollectiveFit:
    return CollectiveFit(
        name=fit.name,
        ranks=fit.ranks,
        calls=fit.calls,
        least_bytes=fit.least_bytes,
        most_bytes=fit.most_bytes,
        **vars(fit.line),
        pieces=tuple(CostLine(**vars(line)) for line in fit.curve.lines),
        pieces_meet_at_bytes=tuple(x / fit.factor for x in fit.curve.bounds),
    )
