"""Lists that a rank's program searches, read defensively from its metadata."""

import struct
from collections.abc import Iterator, Mapping, Sequence
from enum import Enum
from typing import Any

from perfscope.judging import MAIN
from perfscope.structures import dataclass
from perfscope.trace.counts import whole
from perfscope.trace.model import Frame
from perfscope.trace.operands import CACHE_LINE_BYTES, LONGEST_NAME, frame_of

MOST_SEARCHED = 64
POINTER_BYTES = struct.calcsize("P")
DEQUE = "deque"


class How(Enum):
    """What an instruction does with a list, as the agent writes it."""

    IN = "in"
    FIND = "index"
    COUNT = "count"
    REMOVE = "remove"
    SHIFT = "shift"


@dataclass(frozen=True)
class Searched:
    """One instruction that goes through a list, and what looks at that saw."""

    frame: Frame
    name: str  # `played`, `self.rows`
    how: How
    kind: str  # `list` or `deque`
    looks: int
    asked: int  # how often it was looked at, whatever it was then
    length: float  # mean
    most: int
    instructions: int  # of the interpreter, in its line

    @property
    def part(self) -> float:
        """Of the time of its line, what goes through the list, about.

        To compare one item takes about as long as one instruction of the interpreter. A search
        meets half of the items on average; what counts meets all of them, and so does what removes
        one. What is moved goes by a cache line of pointers at once. Where it was something else
        than a list in some looks, it is a list in that part of its time at most.
        """
        at_once = CACHE_LINE_BYTES // POINTER_BYTES if self.how is How.SHIFT else 1
        met = MAIN if self.how in (How.IN, How.FIND) else 1.0
        steps = met * self.length / at_once
        return (
            self.looks
            / max(self.asked, self.looks, 1)
            * steps
            / (steps + max(self.instructions, 1))
        )


def has_looked(metadata: Mapping[str, Any]) -> bool:
    """Whether a rank looked for such instructions at all."""
    told = metadata.get("operands")
    return isinstance(told, Mapping) and isinstance(told.get("searched"), list)


def searched(metadata: Mapping[str, Any]) -> tuple[Searched, ...]:
    """Those of a rank; none where it did not tell, or what it wrote is odd."""
    told = metadata.get("operands")
    rows = told.get("searched") if isinstance(told, Mapping) else None
    return tuple(_searched(rows[:MOST_SEARCHED])) if isinstance(rows, list) else ()


def _searched(rows: Sequence[Any]) -> Iterator[Searched]:
    known = {one.value: one for one in How}
    for row in rows:
        if not isinstance(row, Mapping):
            continue
        frame, how = frame_of(row.get("place")), known.get(str(row.get("how")))
        length, kind = row.get("length"), str(row.get("kind", ""))[:LONGEST_NAME]
        if frame is None or how is None or not isinstance(length, int | float):
            continue
        if how is How.SHIFT and kind == DEQUE:  # its begin is no other end
            continue
        most = whole(row.get("most"))
        yield Searched(
            frame,
            str(row.get("name", ""))[:LONGEST_NAME],
            how,
            kind,
            whole(row.get("looks")),
            whole(row.get("asked")),
            float(min(max(length, 0), most)),  # an integer may be longer than a float can be
            most,
            whole(row.get("instructions")),
        )
