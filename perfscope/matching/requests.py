"""Which call started what completes in which call."""

import numpy as np

from perfscope.engine import engine
from perfscope.matching.codes import CODES
from perfscope.matching.pool import Pool, Rows
from perfscope.trace.model import Trace


def completed_requests(trace: Trace, pool: Pool) -> tuple[Rows, Rows]:
    """For each completed request the row that created it and the wait or test, -1 not known."""
    tables = [np.ascontiguousarray(rank.completions).view(np.uint8) for rank in trace.ranks]
    return engine.completed_requests(pool, CODES, tables)
