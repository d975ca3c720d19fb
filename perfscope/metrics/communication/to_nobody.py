"""Which part of what was sent had somebody to reach: ranks at a border send to `MPI_PROC_NULL`."""

from collections.abc import Mapping

import numpy as np

from perfscope.matching.pool import Pool
from perfscope.structures import dataclass
from perfscope.trace.model import PEER_PROC_NULL
from perfscope.trace.operations import name_of


@dataclass(frozen=True)
class Reached:
    """The shares of an operation's calls, and of its bytes, that are not for `MPI_PROC_NULL`.

    Of the calls that were recorded one by one. Ranks at the border of a grid send to nobody what
    others send to their neighbors.
    """

    calls: float = 1.0
    sent: float = 1.0


def reached(pool: Pool) -> Mapping[str, Reached]:
    """Those of the operations some of whose calls were for nobody, by name."""
    nobody = np.flatnonzero(pool.peer_number == PEER_PROC_NULL)  # mostly none
    found = {}
    for code in np.unique(pool.op[nobody]).tolist():
        lost, own = nobody[pool.op[nobody] == code], pool.op == code
        calls, sent = int(np.count_nonzero(own)), int(pool.sent[own].sum())
        found[name_of(code)] = Reached(
            (calls - len(lost)) / calls,
            (sent - int(pool.sent[lost].sum())) / sent if sent else 1.0,
        )
    return found
