"""What an attempt of a job has done when it ends: its steps, and its complete checkpoints."""

import numpy as np

from perfscope.schema.enums import PhaseKind
from perfscope.structures import dataclass
from perfscope.trace.model import Rank, RowFlag, Table, Trace


@dataclass(frozen=True)
class Progress:
    """What an attempt did."""

    first_step_ns: int | None  # when its first step began, None without steps
    steps: int  # of the rank that made most
    redone_steps: int  # of these, those that ended behind its last complete checkpoint
    checkpoint_ends_ns: tuple[int, ...]  # when each checkpoint was complete, ascending
    checkpoint_s: float  # that they took together, of the slowest rank


def progress(trace: Trace) -> Progress:
    """What was done in a trace.

    The k-th checkpoint is complete when every rank that writes any has ended its k-th; one that a
    rank was still in when it ended is none.
    """
    found = [rows for rank in trace.ranks if len(rows := _written(rank))]
    whole = min((int(np.count_nonzero(_is_over(rows))) for rows in found), default=0)
    ends = tuple(max(int(rows["t1"][number]) for rows in found) for number in range(whole))
    spent = [int((rows["t1"][:whole] - rows["t0"][:whole]).sum()) for rows in found]
    steps = [rank.steps for rank in trace.ranks if len(rank.steps)]
    last_ns = ends[-1] if ends else -1
    return Progress(
        first_step_ns=min((int(rows["t0"].min()) for rows in steps), default=None),
        steps=max(map(len, steps), default=0),
        redone_steps=max((int((rows["t1"] > last_ns).sum()) for rows in steps), default=0),
        checkpoint_ends_ns=ends,
        checkpoint_s=max(spent, default=0) / 1e9,
    )


def _written(rank: Rank) -> Table:
    rows: Table = rank.phases[rank.phases["kind"] == PhaseKind.CHECKPOINT]
    order = np.argsort(rows["t0"], kind="stable")
    found: Table = rows[order]
    return found


def _is_over(rows: Table) -> Table:
    return np.asarray((rows["flags"] & RowFlag.OPEN) == 0)
