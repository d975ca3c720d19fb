"""Whether lateness persists: that of a slow CPU does, that of a few larger steps does not."""

from math import sqrt

import numpy as np

from perfscope.arrays import Floats, Ints, rows_by
from perfscope.replay.model import Persistence

FEWEST_SEGMENTS = 16  # of a kind, below which one segment says nothing about the next
PER_STEP = 1.1  # segments of a kind in a step: of several, one that is long makes the others long
STALLS = 0.05  # of the segments, whose lateness counts as that of the others: a stall is no rule


def persistence(work: Floats, kinds: Ints, steps: int) -> Persistence | None:
    """How far a rank that is late in one step is late in the next one.

    The autocorrelation, from one segment to the next of its kind, of the work of each rank beyond
    the mean of the ranks in the segment and beyond the usual of that rank. Kinds that come several
    times in a step do not count; where no steps are known, all do, and the value may be too large.
    None with too few segments, or where no rank is ever late.

    Args:
        work: by segment and rank, in any unit, shape (segments, ranks).
        kinds: which segments are alike, shape (segments,).
        steps: how many steps there are, 0 unknown.
    """
    together = spread = 0.0
    pairs = 0
    for rows in rows_by(kinds):
        late = work.take(rows, axis=0)
        if len(late) < FEWEST_SEGMENTS or (steps and len(late) > PER_STEP * steps):
            continue
        late = late - late.mean(axis=1, keepdims=True)
        late = late - np.median(np.ascontiguousarray(late.T), axis=1)
        by_rank = np.ascontiguousarray(late.T)  # along which NumPy is several times as fast
        least = np.quantile(by_rank.min(axis=0), STALLS)
        late = np.clip(late, least, np.quantile(by_rank.max(axis=0), 1.0 - STALLS))
        late = late - late.mean(axis=0)
        together += float((late[1:] * late[:-1]).sum())
        spread += float((late * late).sum()) * (len(late) - 1) / len(late)
        pairs = max(pairs, (len(late) - 1) * (late.shape[1] - 1))  # kinds share their steps
    return Persistence(together / spread, 1.0 / sqrt(pairs)) if spread > 0 else None
