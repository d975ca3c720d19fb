"""Memory that keeps growing: warm-up and steady growth told apart."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from perfscope.metrics.preparation import Prepared
from perfscope.metrics.resource_use import theil_sen
from perfscope.metrics.timeline import Timeline
from perfscope.trace.model import PhaseKind

Ints = npt.NDArray[np.int64]

QUARTERS = 4
MIN_QUARTER_SAMPLES = 5
"""Samples that the median of a quarter is taken of, at least."""

CALLED = (PhaseKind.PREDICT, PhaseKind.EVALUATE, PhaseKind.CHECKPOINT, PhaseKind.TRAIN)
"""Kinds of phases that are counted beside steady growth."""


@dataclass(frozen=True)
class MemoryGrowth:
    """How the resident memory of one rank grew over its focus of analysis.

    Warm-up is the first half, in which libraries load, compile and fill their caches; what still
    grows in the second half, in every quarter of it, is steady. `calls` counts the phases that
    began in the second half, by id. `peak_phase` is the phase in which the rank's memory was
    largest, "" outside any.
    """

    rank: int
    host: str
    warm_up_bytes: int
    steady_bytes: int  # slope times length of the second half; 0 where growth is not steady
    steady_s: float  # length of the second half
    slope_bytes_per_s: float  # 0 where growth is not steady
    calls: dict[str, int]
    peak_phase: str


def memory_growth(prepared: Prepared) -> tuple[MemoryGrowth, ...]:
    """The growth of every rank with enough samples, in the order of the ranks."""
    found = []
    for position, part in enumerate(prepared.parts):
        rows = part.rank.process_samples
        focus = prepared.focus
        rows = rows[(rows["t"] >= focus.start_ns) & (rows["t"] < focus.end_ns)]
        if len(rows) < 2 * QUARTERS * MIN_QUARTER_SAMPLES:
            continue
        times, rss = rows["t"].astype(np.int64), rows["rss_bytes"].astype(np.int64)
        half = int(np.searchsorted(times, (times[0] + times[-1]) // 2))
        steady = _steady_slope(times[half:], rss[half:])
        seconds = float(times[-1] - times[half]) / 1e9
        timeline = prepared.timelines[position]
        found.append(
            MemoryGrowth(
                rank=part.rank.number,
                host=part.rank.host,
                warm_up_bytes=int(np.median(rss[half : half + 3]) - rss[0]),
                steady_bytes=round(steady * seconds),
                steady_s=seconds,
                slope_bytes_per_s=steady,
                calls=_calls(prepared, position, int(times[half])),
                peak_phase=_phase_at(prepared, timeline, int(times[int(np.argmax(rss))])),
            )
        )
    return tuple(found)


def _steady_slope(times: Ints, rss: Ints) -> float:
    """Bytes per second where the median of each quarter is above that of the one before; else 0.

    What is allocated and freed again leaves the medians level, and a cache that fills up levels
    off in the last quarters.
    """
    edges = np.linspace(times[0], times[-1], QUARTERS + 1)[1:-1]
    parts = np.split(rss, np.searchsorted(times, edges))
    if min(len(part) for part in parts) < MIN_QUARTER_SAMPLES:
        return 0.0
    medians = np.array([np.median(part) for part in parts])
    if np.any(np.diff(medians) <= 0):
        return 0.0
    return max(0.0, theil_sen(times, rss) or 0.0)


def _calls(prepared: Prepared, position: int, from_ns: int) -> dict[str, int]:
    """How often phases that may keep memory began after a moment, by id."""
    part, catalog = prepared.parts[position], prepared.catalog
    rows = part.phases[(part.phases["t0"] >= from_ns) & np.isin(part.phases["kind"], CALLED)]
    counts = np.bincount(catalog.of_rows(prepared.trace, rows), minlength=len(catalog.ids))
    return {catalog.ids[index]: int(counts[index]) for index in np.flatnonzero(counts).tolist()}


def _phase_at(prepared: Prepared, timeline: Timeline, moment_ns: int) -> str:
    place = int(np.searchsorted(timeline.boundaries, moment_ns, side="right")) - 1
    if not 0 <= place < len(timeline.phases):
        return ""
    phase = int(timeline.phases[place])
    return prepared.catalog.ids[phase] if phase >= 0 else ""
