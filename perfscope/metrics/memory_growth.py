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

LEAST_STEADY_S = 8.0
"""Length of the second half from which on growth in it is called steady, in seconds."""

LEVELLING = 0.5
"""A last quarter that rises by less than this share of the mean rise levels off."""

CALLED = (PhaseKind.PREDICT, PhaseKind.EVALUATE, PhaseKind.CHECKPOINT, PhaseKind.TRAIN)
"""Kinds of phases that are counted beside steady growth."""


@dataclass(frozen=True)
class MemoryGrowth:
    """How the resident memory of one rank grew over its focus of analysis.

    What comes before the first step or phase, and the first half of what comes after it, is
    warm-up: libraries load, compile and fill their caches. What still grows in the second half, in
    every quarter of it, is steady. `calls` counts the marked phases that began there, by name, and
    `steps` the steps that ended there. `peak_phase` is the phase in which the rank's memory was
    largest, "" outside any.
    """

    rank: int
    host: str
    warm_up_bytes: int
    steady_bytes: int  # slope times length of the second half; 0 where growth is not steady
    steady_s: float  # length of the second half
    slope_bytes_per_s: float  # 0 where growth is not steady
    calls: dict[str, int]
    steps: int
    peak_phase: str


def memory_growth(prepared: Prepared) -> tuple[MemoryGrowth, ...]:
    """The growth of every rank with enough samples, in the order of the ranks."""
    found = (_growth(prepared, position) for position in range(len(prepared.parts)))
    return tuple(growth for growth in found if growth is not None)


def _growth(prepared: Prepared, position: int) -> MemoryGrowth | None:
    """The growth of one rank; None where its samples are too few or span too little time."""
    rank, focus = prepared.parts[position].rank, prepared.focus
    rows = rank.process_samples
    rows = rows[(rows["t"] >= focus.start_ns) & (rows["t"] < focus.end_ns)]
    if len(rows) < 2 * QUARTERS * MIN_QUARTER_SAMPLES:
        return None
    times, rss = rows["t"].astype(np.int64), rows["rss_bytes"].astype(np.int64)
    begin = max(int(times[0]), _first_work(prepared, position))
    half = int(np.searchsorted(times, (begin + int(times[-1])) // 2))
    seconds = float(times[-1] - times[half]) / 1e9
    if seconds < LEAST_STEADY_S:
        return None
    steady = _steady_slope(times[half:], rss[half:])
    return MemoryGrowth(
        rank=rank.number,
        host=rank.host,
        warm_up_bytes=int(np.median(rss[half : half + 3]) - rss[0]),
        steady_bytes=round(steady * seconds),
        steady_s=seconds,
        slope_bytes_per_s=steady,
        calls=_calls(prepared, position, int(times[half])),
        steps=int(np.count_nonzero(rank.steps["t1"] >= times[half])),
        peak_phase=_phase_at(
            prepared, prepared.timelines[position], int(times[int(np.argmax(rss))])
        ),
    )


def _first_work(prepared: Prepared, position: int) -> int:
    """When the first step or marked phase began; 0 where there is none."""
    part = prepared.parts[position]
    starts = [int(table["t0"][0]) for table in (part.rank.steps, part.phases) if len(table)]
    return min(starts, default=0)


def _steady_slope(times: Ints, rss: Ints) -> float:
    """Bytes per second where the median of each quarter is above that of the one before; else 0.

    What is allocated and freed again leaves the medians level; a cache that fills up levels off in
    the last quarter.
    """
    edges = np.linspace(times[0], times[-1], QUARTERS + 1)[1:-1]
    parts = np.split(rss, np.searchsorted(times, edges))
    if min(len(part) for part in parts) < MIN_QUARTER_SAMPLES:
        return 0.0
    medians = np.array([np.median(part) for part in parts])
    rises = np.diff(medians)
    if np.any(rises <= 0) or rises[-1] < LEVELLING * rises.mean():
        return 0.0
    return max(0.0, theil_sen(times, rss) or 0.0)


def _calls(prepared: Prepared, position: int, from_ns: int) -> dict[str, int]:
    """How often marked phases that may keep memory began after a moment, by name."""
    rows = prepared.parts[position].rank.phases
    rows = rows[(rows["t0"] >= from_ns) & np.isin(rows["kind"], CALLED)]
    names, counts = np.unique(rows["name"], return_counts=True)
    known = prepared.trace.names
    return {
        known[name]: count
        for name, count in zip(names.tolist(), counts.tolist(), strict=True)
        if 0 <= name < len(known)
    }


def _phase_at(prepared: Prepared, timeline: Timeline, moment_ns: int) -> str:
    place = int(np.searchsorted(timeline.boundaries, moment_ns, side="right")) - 1
    if not 0 <= place < len(timeline.phases):
        return ""
    phase = int(timeline.phases[place])
    return prepared.catalog.ids[phase] if phase >= 0 else ""
