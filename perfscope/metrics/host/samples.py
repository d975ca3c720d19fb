"""Samples that each rank processed: whether ranks that work longer also process more."""

import numpy as np

from perfscope.attribution.focus import Focus
from perfscope.trace.model import Trace


def samples_by_rank(trace: Trace, focus: Focus) -> tuple[int, ...] | None:
    """Samples of the steps that each rank finished in the focus; None when one is unknown."""
    counts = []
    for rank in trace.ranks:
        samples = focus.ending(rank.steps)["samples"]
        if not len(samples) or not np.all(samples > 0):
            return None
        counts.append(int(samples.sum()))
    return tuple(counts)


def fullest_epochs(trace: Trace) -> tuple[int, ...]:
    """Samples that each rank processed in its fullest epoch; 0 where epochs were not told."""
    found = []
    for rank in trace.ranks:
        steps = rank.steps[rank.steps["epoch"] >= 0]
        _, places = np.unique(steps["epoch"], return_inverse=True)
        sums = np.bincount(places, steps["samples"])
        found.append(int(sums.max()) if len(sums) else 0)
    return tuple(found)
