"""What an input queue tells of a rank that waits: how fast it is filled, and how fast emptied."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from perfscope.findings import thresholds
from perfscope.findings.finding import Evidence
from perfscope.findings.price import NS

if TYPE_CHECKING:
    from perfscope.trace.model import Rank, Table

FEWEST = 4
"""Batches of which a queue tells something."""


@dataclass(frozen=True)
class Pace:
    """How fast the queue that a rank empties most is filled, and how fast emptied.

    `made_s` is the median time of a producer for a batch: from one batch which it put to the next
    one being ready, so that its waiting for a place in the queue is left out. `used_s` is the
    median time between taking one batch and asking for the next. None: not recorded.
    """

    depth: int
    producers: int
    made_s: float | None
    used_s: float | None

    @property
    def keeps_up(self) -> bool:
        """Whether the producers need far less time for a batch than the training."""
        if self.made_s is None or self.used_s is None:
            return False
        return self.made_s / self.producers <= thresholds.KEEPS_UP_SHARE * self.used_s


def queue_pace(rank: Rank) -> Pace | None:
    """Producer against consumer; None where hardly any batch was seen to be taken."""
    gets = rank.queues[rank.queues["is_get"]]
    if len(gets) < FEWEST:
        return None
    number = int(np.bincount(gets["queue"]).argmax())
    gets = np.sort(gets[gets["queue"] == number], order="t0")
    puts = rank.queues[~rank.queues["is_get"] & (rank.queues["queue"] == number)]
    made, used = _between(puts), _between(gets)
    return Pace(
        depth=int(gets["depth"].max()),
        producers=len(np.unique(puts["tid"])),
        made_s=float(np.median(made)) if len(made) else None,
        used_s=float(np.median(used)) if len(used) else None,
    )


def queue_evidence(rank: Rank) -> list[Evidence]:
    """The queue of a rank that waits for input, in rows; nothing of no queue."""
    pace = queue_pace(rank)
    if pace is None:
        return []
    rows = []
    if pace.depth > 0:
        rows.append(Evidence("Batches that the input queue holds at most", pace.depth))
    if pace.made_s is not None:
        rows.append(Evidence("Threads that put batches into it", pace.producers))
        rows.append(Evidence("One of them makes a batch in, median", pace.made_s, "s"))
    if pace.used_s is not None:
        rows.append(Evidence("The training works on a batch for, median", pace.used_s, "s"))
    return rows


def _between(table: Table) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Seconds from the end of one row of a thread to the start of its next one."""
    rows = table[np.lexsort((table["t0"], table["tid"]))]
    same = rows["tid"][1:] == rows["tid"][:-1]
    seconds: np.ndarray[tuple[int], np.dtype[np.float64]] = (rows["t0"][1:] - rows["t1"][:-1])[
        same
    ] * NS
    return seconds
