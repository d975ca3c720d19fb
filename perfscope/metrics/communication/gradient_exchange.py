"""What is exposed of a gradient exchange that overlaps with the backward pass."""

import numpy as np

from perfscope.arrays import Ints
from perfscope.attribution.preparation import Prepared
from perfscope.judging import FEWEST_SAMPLES
from perfscope.schema.common import Metric
from perfscope.schema.communication import GradientExchange
from perfscope.schema.enums import PhaseKind
from perfscope.trace.model import RowFlag
from perfscope.trace.operations import BY_NAME, GRADIENT_EXCHANGE

_CODE = BY_NAME[f"torch.distributed.{GRADIENT_EXCHANGE}"].code


def gradient_exchange(prepared: Prepared) -> GradientExchange | None:
    """Exposed communication of overlapped gradient exchanges, by rank; None where none was seen."""
    pool, waits, focus = prepared.waits.pool, prepared.waits, prepared.focus
    inside = (pool.enter >= focus.start_ns) & (pool.exit <= focus.end_ns) & (pool.op == _CODE)
    reason = _not_measured(prepared)
    if reason:
        return GradientExchange(0, Metric(None, "s", reason), (), (), ())
    if not np.any(inside):
        return None
    by_rank = pool.by_rank(np.flatnonzero(inside))
    exposed = tuple(_median_s((pool.exit - pool.enter)[rows]) for rows in by_rank)
    split = bool(np.all(waits.known[inside]))
    return GradientExchange(
        exchanges=max(len(rows) for rows in by_rank),
        exposed_s=Metric(max(exposed), "s", foa=focus.kind),
        exposed_s_by_rank=exposed,
        wait_s_by_rank=tuple(_median_s((waits.need - pool.enter)[rows]) for rows in by_rank)
        if split
        else (),
        transfer_s_by_rank=tuple(_median_s((pool.exit - waits.need)[rows]) for rows in by_rank)
        if split
        else (),
        per_update=_per_update(prepared, [pool.exit[rows] for rows in by_rank]),
    )


def _per_update(prepared: Prepared, exchanged: list[Ints]) -> float | None:
    """How often gradients are exchanged before they are used, on the rank where that is fewest.

    Optimizers that step one behind the other use the same exchanges. Not known where models
    exchange at different times: two exchanges are then of different gradients.
    """
    counts = []
    for part, ends in zip(prepared.parts, exchanged, strict=True):
        told = part.rank.frameworks.get("torch.distributed", {})
        updates = part.phases[part.phases["kind"] == PhaseKind.OPTIMIZER]
        updates = updates[updates["flags"] & RowFlag.SAMPLED == 0]
        before = np.diff(np.searchsorted(ends, np.sort(updates["t0"])))
        before = before[before > 0]
        if told.get("exchanges_apart") or len(before) < FEWEST_SAMPLES:
            return None
        counts.append(float(np.median(before)))
    return min(counts, default=None)


def _median_s(spent_ns: Ints) -> float:
    return float(np.median(spent_ns)) / 1e9 if len(spent_ns) else 0.0


def _not_measured(prepared: Prepared) -> str | None:
    """Why the end of the backward pass does not tell what was exposed, as the agent saw it."""
    for rank in prepared.trace.ranks:
        for told in rank.frameworks.values():
            reason = told.get("exposed_reason")
            if isinstance(reason, str) and reason:
                return reason
    return None
