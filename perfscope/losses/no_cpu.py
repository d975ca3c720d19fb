"""Whether the ranks that others wait for were late because they had no CPU."""

import numpy as np

from perfscope.arrays import Floats, Ints, counter_growth
from perfscope.metrics.results import Results
from perfscope.replay.steps import Steps
from perfscope.structures import dataclass

SAMPLES = 4
"""Of the waiting for CPUs, that a stretch of the run must have to be told from others."""


@dataclass(frozen=True)
class Queue:
    """Nanoseconds that each rank waited for a CPU, shape (stretches, ranks), of so many steps."""

    waited: Floats
    steps: int

    def least(self, charged: Floats) -> float:
        """The share of a loss that ranks cause while they lack a CPU for longer than the others.

        A rank that waits longer for a CPU than another one is late by the difference, and each of
        the others waits as long for it at most. Where a stretch has many steps, ranks that lack a
        CPU by turns in it are not seen.

        Args:
            charged: the loss by step and by the rank that causes it, shape (steps, ranks).
        """
        return self._share(charged, self.waited - self.waited.min(axis=1, keepdims=True))

    def most(self, charged: Floats) -> float:
        """The share of a loss that ranks cause in stretches in which they lack a CPU for as long.

        Each of the others may have waited for all of that. What is beyond it has another cause.

        Args:
            charged: the loss by step and by the rank that causes it, shape (steps, ranks).
        """
        return self._share(charged, self.waited)

    def _share(self, charged: Floats, late: Floats) -> float:
        caused, others = _in_stretches(charged, self.steps), charged.shape[1] - 1
        if not caused.any():
            return 0.0
        return float(np.minimum(caused, others * late).sum() / caused.sum())


def queue_of(results: Results, steps: Steps) -> Queue | None:
    """That of a run; None where it was not sampled."""
    starts, ranks = results.steps.starts_ns[:: steps.size], results.trace.ranks
    sampled = all(len(rank.main_samples) > SAMPLES for rank in ranks)
    if not sampled or len(starts) != steps.count or not len(steps.numbers):
        return None
    edges = np.append(starts, results.focus.end_ns)
    sampled_ns: list[Ints] = [rank.main_samples["t"] for rank in ranks]
    queued = [
        counter_growth(edges, times_ns, rank.main_samples["queue_delay_ns"])
        for times_ns, rank in zip(sampled_ns, ranks, strict=True)
    ]
    period = max(float(np.median(np.diff(times_ns))) for times_ns in sampled_ns)
    stretch = max(1, int(np.ceil(SAMPLES * period / max(1.0, float(np.median(np.diff(edges)))))))
    return Queue(_in_stretches(np.stack(queued, axis=1), stretch), stretch)


def _in_stretches(values: Floats, stretch: int) -> Floats:
    """Sums of so many rows each."""
    found: Floats = np.add.reduceat(values, np.arange(0, len(values), stretch), axis=0)
    return found
