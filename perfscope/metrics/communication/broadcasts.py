"""The largest broadcast of a rank: whether parameters were sent around."""

from perfscope.trace.model import Rank
from perfscope.trace.operations import BY_NAME

_NAMES = ("MPI_Bcast", "MPI_Ibcast", "MPI_Bcast_init")
_CODES = [BY_NAME[name].code for name in _NAMES if name in BY_NAME]


def largest_broadcast_bytes(rank: Rank) -> int:
    """Bytes of the largest single broadcast in which the rank took part, of all its threads."""
    largest = 0
    for table in (rank.operations, rank.background):
        for code in _CODES:
            rows = table[table["op"] == code]
            if len(rows):
                largest = max(largest, int(rows["sent"].max()), int(rows["received"].max()))
    return largest
