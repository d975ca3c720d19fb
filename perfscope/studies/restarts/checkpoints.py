"""The checkpoints of an attempt, and which of them were complete."""

import numpy as np
import numpy.typing as npt

from perfscope.schema.enums import PhaseKind
from perfscope.structures import dataclass
from perfscope.trace.model import Rank, RowFlag, Table, Trace


@dataclass(frozen=True)
class Checkpoints:
    """Complete ones alone.

    Attributes:
        ends_ns: when each was complete, ascending.
        seconds: that they took together, of the slowest rank.
    """

    ends_ns: tuple[int, ...]
    seconds: float


def checkpoints(trace: Trace) -> Checkpoints:
    """Checkpoints that every rank which writes any has written to the end.

    The k-th is complete when the last of these ranks has ended its k-th; one that a rank was still
    in when it ended is none.
    """
    found = [rows for rank in trace.ranks if len(rows := _written(rank))]
    whole = min((int(np.count_nonzero(_is_over(rows))) for rows in found), default=0)
    ends = [max(int(rows["t1"][number]) for rows in found) for number in range(whole)]
    spent = [int((rows["t1"][:whole] - rows["t0"][:whole]).sum()) for rows in found]
    return Checkpoints(tuple(ends), max(spent, default=0) / 1e9)


def _written(rank: Rank) -> Table:
    rows: Table = rank.phases[rank.phases["kind"] == PhaseKind.CHECKPOINT]
    order = np.argsort(rows["t0"], kind="stable")
    found: Table = rows[order]
    return found


def _is_over(rows: Table) -> npt.NDArray[np.bool_]:
    return np.asarray((rows["flags"] & RowFlag.OPEN) == 0)
