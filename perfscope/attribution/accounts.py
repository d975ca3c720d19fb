"""The ledger of one rank as a timeline, for those who have a trace and a focus only."""

import numpy as np
import numpy.typing as npt

from perfscope.attribution.focus import Focus
from perfscope.attribution.preparation import prepare
from perfscope.matching.intervals import Times
from perfscope.trace.model import Rank, Trace


def partition(trace: Trace, rank: Rank, focus: Focus) -> tuple[Times, npt.NDArray[np.uint8]]:
    """The ledger of one rank as boundaries (n + 1,) and indices in `list(Account)` (n,).

    Digests the whole trace for one rank: who has `Results` takes its `timelines` instead.
    """
    prepared = prepare(trace, focus=focus)
    timeline = prepared.timelines[[r.number for r in trace.ranks].index(rank.number)]
    return timeline.boundaries, timeline.accounts
