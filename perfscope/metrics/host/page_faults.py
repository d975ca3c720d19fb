"""CPU time that the kernel spends on memory that a program takes anew."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from perfscope.attribution.ledger import IS_COMMUNICATION

if TYPE_CHECKING:
    from perfscope.attribution.preparation import Prepared
    from perfscope.trace.model import Rank, Table

COPIED_BYTES_PER_S = 1e9
SWITCH_S = 5e-6
"""What the kernel takes at most to copy bytes of files, and to exchange threads."""

FAULT_S = 5e-4
"""At most, for a huge page of 2 MiB that is filled with zeros; an ordinary page takes 0.5 us."""


@dataclass(frozen=True)
class FaultTime:
    """What page faults cost one rank in the focus of analysis.

    Attributes:
        rank: the rank.
        kernel_s: CPU time of the process in the kernel.
        cpu_s: all its CPU time.
        faults: pages that were first touched.
        fault_s: of the kernel's time between calls what files and switches do not explain.
        work_s: all time between calls.
        threads: that were runnable at a time, on average.
    """

    rank: int
    kernel_s: float
    cpu_s: float
    faults: int
    fault_s: float
    work_s: float
    threads: float


def fault_times(prepared: Prepared) -> tuple[FaultTime, ...]:
    """Of every rank whose main thread was sampled."""
    found = []
    for rank, timeline in zip(prepared.trace.ranks, prepared.timelines, strict=False):
        focus = prepared.focus
        ends = np.array([focus.start_ns, focus.end_ns])
        if len(rank.main_samples) < 2 or len(rank.process_samples) < 2 or focus.length_ns <= 0:
            continue
        work = timeline.inside(focus) & ~IS_COMMUNICATION[timeline.accounts]
        work_s = float(timeline.lengths[work].sum()) / 1e9
        kernel_s = _grown(rank.main_samples, "kernel_ns", ends) / 1e9
        faults = _grown(rank.main_samples, "minor_faults", ends)
        left_s = max(0.0, kernel_s - _explained_s(rank, ends))
        in_work_s = min(left_s, faults * FAULT_S) * work_s / (focus.length_ns / 1e9)
        inside = rank.process_samples["t"] >= focus.start_ns
        inside &= rank.process_samples["t"] < focus.end_ns
        runnable = rank.process_samples["runnable"][inside]
        found.append(
            FaultTime(
                rank=rank.number,
                kernel_s=kernel_s,
                cpu_s=_grown(rank.process_samples, "cpu_ns", ends) / 1e9,
                faults=round(faults),
                fault_s=in_work_s,
                work_s=work_s,
                threads=max(1.0, float(runnable.mean()) if len(runnable) else 1.0),
            )
        )
    return tuple(found)


def _explained_s(rank: Rank, ends: np.ndarray[tuple[int], np.dtype[np.int64]]) -> float:
    """Seconds in the kernel that reading, writing and exchanging threads may have taken."""
    rows = rank.system_samples
    copied = _grown(rows, "read_bytes", ends) + _grown(rows, "written_bytes", ends)
    switches = _grown(rows, "voluntary_switches", ends) + _grown(rows, "involuntary_switches", ends)
    return copied / COPIED_BYTES_PER_S + switches * SWITCH_S


def _grown(rows: Table, column: str, ends: np.ndarray[tuple[int], np.dtype[np.int64]]) -> float:
    """How much a counter grew between two moments."""
    if len(rows) < 2:
        return 0.0
    first, last = np.interp(ends, rows["t"], rows[column])
    return float(max(0.0, last - first))
