"""Instructions, cycles and cache misses by phase, from the hardware counters of a trace."""

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from perfscope.attribution.ledger import IS_COMMUNICATION
from perfscope.metrics.results import Results
from perfscope.structures import dataclass
from perfscope.trace.counters import CounterKind
from perfscope.trace.model import Rank

INSTRUCTIONS, CYCLES = "PAPI_TOT_INS", "PAPI_TOT_CYC"
MISSES = ("PAPI_L3_TCM", "PAPI_L3_LDM", "PAPI_L2_TCM")
"""Misses of the last cache that a trace counts, the outermost first."""

OUTSIDE = "work in no phase"


@dataclass(frozen=True)
class CountedWork:
    """What was counted in one phase, or of one rank where phases are not told apart."""

    name: str  # the phase, or `rank 3`
    instructions: float
    cycles: float
    misses: float | None = None  # of the last cache; None where they were not counted
    seconds: float | None = None  # of useful time; None where it is not known

    @property
    def ipc(self) -> float:
        """Instructions per cycle."""
        return self.instructions / self.cycles

    @property
    def misses_per_1000(self) -> float | None:
        """Misses of the last cache per thousand instructions."""
        if self.misses is None or self.instructions <= 0:
            return None
        return 1000.0 * self.misses / self.instructions


def counted_work(results: Results) -> tuple[CountedWork, ...]:
    """Counters by phase where the trace has samples of them, else by rank; empty without any.

    Time inside communication is left out: a rank that polls retires many instructions.
    """
    return _by_phase(results) or tuple(_by_rank(results))


def _by_rank(results: Results) -> Iterator[CountedWork]:
    for rank in results.trace.ranks:
        totals = rank.compute
        if totals is not None and totals.instructions and totals.cycles:
            yield CountedWork(
                f"rank {rank.number}",
                float(totals.instructions),
                float(totals.cycles),
                seconds=totals.useful_ns * 1e-9,
            )


def _by_phase(results: Results) -> tuple[CountedWork, ...]:
    kinds = results.trace.counter_kinds
    names = {
        name: place
        for place, name in enumerate(results.trace.names)
        if kinds.get(name, CounterKind.GROWING) is CounterKind.GROWING
    }
    if INSTRUCTIONS not in names or CYCLES not in names:
        return ()
    miss = next((name for name in MISSES if name in names), None)
    wanted = (INSTRUCTIONS, CYCLES, *([miss] if miss else []))
    counted = [
        [_growth_by_phase(results, place, rank, names[name]) for name in wanted]
        for place, rank in enumerate(results.trace.ranks)
    ]
    if miss and all(rows[2] is None for rows in counted):
        miss, counted = None, [rows[:2] for rows in counted]
    sums = np.zeros((len(wanted), len(results.phase_ids) + 1))
    for rows in counted:
        usable = [row for row in rows if row is not None]
        if len(usable) == len(rows):  # else its ratios would be of different ranks
            sums[: len(rows)] += usable
    labels = (*results.phase_ids, OUTSIDE)
    return tuple(
        CountedWork(label, sums[0][i], sums[1][i], sums[2][i] if miss else None)
        for i, label in enumerate(labels)
        if sums[1][i] > 0 and sums[0][i] > 0
    )


def _growth_by_phase(
    results: Results, place: int, rank: Rank, name: int
) -> npt.NDArray[np.float64] | None:
    """How much a counter of the main location grew in each phase, by index; outside them last.

    None where it did not only grow, and so says nothing of the time between samples.
    """
    sums = np.zeros(len(results.phase_ids) + 1)
    rows = rank.counters[(rank.counters["name"] == name) & (rank.counters["tid"] == rank.main_tid)]
    growth = np.diff(rows["value"])
    if len(rows) < 2 or np.any(growth < 0) or not np.all(np.isfinite(growth)):
        return None
    timeline = results.timelines[place]
    segment = timeline.at(rows["t"][:-1] + np.diff(rows["t"]) // 2)  # between two samples
    kept = ~IS_COMMUNICATION[timeline.accounts[segment]]
    phase = timeline.phases[segment].astype(np.int64)
    np.add.at(sums, np.where(phase < 0, len(sums) - 1, phase)[kept], growth[kept])
    return sums
