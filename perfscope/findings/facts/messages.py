"""Messages between two ranks, where they make most of the transfer: how many, and of what size."""

from perfscope.findings.core.gain import moved_s
from perfscope.judging import MAIN
from perfscope.metrics.results import Results
from perfscope.structures import dataclass
from perfscope.trace.metadata import noted_frameworks
from perfscope.trace.operations import BY_NAME, OperationClass

SENDING = (OperationClass.SEND, OperationClass.SENDRECV, OperationClass.ISEND)
MOVING = (
    *SENDING,
    *(OperationClass.RECV, OperationClass.IRECV, OperationClass.PROBE),
    *(OperationClass.WAIT, OperationClass.TEST),
)
PICKLED = frozenset({"MPI_Mprobe", "MPI_Mrecv"})
"""What mpi4py's lower-case calls receive by: they do not know the size of an object before."""


@dataclass(frozen=True)
class Messages:
    """Those of all ranks over their lives."""

    calls: int
    size_bytes: float  # mean
    is_pickled: bool  # objects of Python that become bytes and the reverse


def main_messages(results: Results) -> Messages | None:
    """The messages of a run; None where collectives, or nothing, make most of its transfer."""
    rows = results.communication.operations
    of_class = {row.name: BY_NAME[row.name].cls for row in rows if row.name in BY_NAME}
    spent_s = sum(row.transfer_s or 0.0 for row in rows if of_class.get(row.name) in MOVING)
    sent = [row for row in rows if of_class.get(row.name) in SENDING and row.bytes_sent]
    if not sent or spent_s <= MAIN * moved_s(results):
        return None
    calls = sum(row.calls for row in sent)
    is_pickled = not PICKLED.isdisjoint(of_class) and any(
        "mpi4py" in noted_frameworks(rank.metadata) for rank in results.trace.ranks
    )
    return Messages(calls, sum(row.bytes_sent or 0 for row in sent) / calls, is_pickled)
