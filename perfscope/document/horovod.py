"""Horovod in the document: its thread on each rank, and the communication that it exposed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    from perfscope.metrics.communication.horovod import Exposed, HorovodLocation
    from perfscope.metrics.results import Results

Json = dict[str, Any]


def horovod(results: Results) -> Json | None:
    """Horovod's locations and exposed communication; None where the job did not use it."""
    found = results.horovod
    if found is None:
        return None
    return {
        "locations": [_location(location) for location in found.locations],
        "exposed": _exposed(found.exposed),
    }


def _location(location: HorovodLocation) -> Json:
    sizes = location.fusion_bytes
    return {
        "rank": location.rank,
        "thread": location.tid,
        "data_s": location.data_s,
        "control_s": location.control_s,
        "other_s": location.other_s,
        "idle_s": location.idle_s,
        "control_cycles": location.control_cycles,
        "data_calls": dict(location.data_calls),
        "data_bytes": location.data_bytes,
        "fusion_bytes": {
            "allreduces": len(sizes),
            "least": int(sizes.min()) if len(sizes) else None,
            "median": float(np.median(sizes)) if len(sizes) else None,
            "most": int(sizes.max()) if len(sizes) else None,
        },
    }


def _exposed(exposed: Exposed) -> Json:
    return {
        "reason": exposed.reason,
        "wait_s_by_rank": list(exposed.wait_s),
        "transfer_s_by_rank": list(exposed.transfer_s),
        "step_wait_s_median_by_rank": _medians(exposed.step_wait_s),
        "step_transfer_s_median_by_rank": _medians(exposed.step_transfer_s),
        "steps": list(exposed.steps),
        "step_wait_s": [] if exposed.step_wait_s is None else exposed.step_wait_s.tolist(),
        "step_transfer_s": (
            [] if exposed.step_transfer_s is None else exposed.step_transfer_s.tolist()
        ),
    }


def _medians(table: npt.NDArray[np.float64] | None) -> list[float | None]:
    """The median over the steps that a rank has, by rank."""
    if table is None:
        return []
    columns = (column[~np.isnan(column)] for column in table.T)
    return [float(np.median(column)) if len(column) else None for column in columns]
