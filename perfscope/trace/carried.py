"""Variables that loops make anew from what they were, read defensively from a rank's metadata."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from perfscope.judging import FEWEST_SAMPLES, MAIN
from perfscope.structures import dataclass
from perfscope.trace.counts import whole
from perfscope.trace.model import Frame
from perfscope.trace.operands import LONGEST_NAME, frame_of

MOST_CARRIED = 64

RARE = 0.25
"""Of how often one grew, how often it may have shrunk: where it begins anew, as in each epoch."""


@dataclass(frozen=True)
class Carried:
    """What looks at one call saw of a variable that it takes, and that is given its result."""

    frame: Frame  # the line of the call
    name: str  # `table`, `self.rows`
    is_innermost: bool  # whether the call was never seen to run other code of the program
    is_read: bool  # whether the loop reads it elsewhere as well, or something else may
    looks: int
    fewest: int  # values that it held, of all looks
    most: int
    grew: int  # looks in which it held more than in the one before
    shrank: int
    since: int  # looks since it last had grown
    is_window: bool = False  # whether the call takes all but one end of it, and something beside

    @property
    def moves(self) -> bool:
        """Whether it is a window of one length, of which each piece drops as much as it adds."""
        return self.is_window and self.looks >= FEWEST_SAMPLES and self.fewest == self.most > 0

    @property
    def grows(self) -> bool:
        """Whether it holds ever more: what is only filled once, or varies, does not."""
        is_often = self.grew >= FEWEST_SAMPLES and self.shrank <= RARE * self.grew
        return is_often and self.since <= MAIN * self.looks and self.fewest <= MAIN * self.most


def carried(metadata: Mapping[str, Any]) -> tuple[Carried, ...]:
    """Those of a rank; none where it did not tell, or what it wrote is odd."""
    told = metadata.get("operands")
    rows = told.get("carried") if isinstance(told, Mapping) else None
    return tuple(_carried(rows[:MOST_CARRIED])) if isinstance(rows, list) else ()


def _carried(rows: Sequence[Any]) -> Iterator[Carried]:
    for row in rows:
        if not isinstance(row, Mapping):
            continue
        frame, values = frame_of(row.get("place")), row.get("values")
        if frame is None or not isinstance(values, list):
            continue
        yield Carried(
            frame,
            str(row.get("name", ""))[:LONGEST_NAME],
            row.get("is_innermost") is True,
            row.get("is_read") is True,
            whole(row.get("looks")),
            min(map(whole, values), default=0),
            max(map(whole, values), default=0),
            whole(row.get("grew")),
            whole(row.get("shrank")),
            whole(row.get("since")),
            row.get("is_window") is True,
        )
