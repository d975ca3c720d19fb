"""What collectives brought that the receiver held already, read defensively from its metadata."""

from collections.abc import Iterator, Mapping
from typing import Any

from perfscope.structures import dataclass
from perfscope.trace.counts import whole
from perfscope.trace.operations import BY_CODE

_MOST_ROWS = 64
_WIDTH = 5


@dataclass(frozen=True)
class ReceivedAgain:
    """Calls of one operation and size, as a rank has looked at its buffer before and after some."""

    operation: str
    bytes: int  # received in each
    looks: int
    same: int  # looks in which the call changed nothing
    calls: int  # in all


def received_again(metadata: Mapping[str, Any]) -> Iterator[ReceivedAgain]:
    """The calls of a rank; none where it did not tell, or what it wrote is odd."""
    rows = metadata.get("received_again")
    for row in rows[:_MOST_ROWS] if isinstance(rows, list) else ():
        told = [whole(one) for one in row] if isinstance(row, list) else []
        if len(told) == _WIDTH and told[0] in BY_CODE and told[4] >= told[2] >= told[3]:
            yield ReceivedAgain(BY_CODE[told[0]].name, *told[1:])
