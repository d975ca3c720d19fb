"""What an input queue tells of a rank that waits: how fast it is filled, and how fast emptied."""

import numpy as np

from perfscope.arrays import Floats
from perfscope.findings.core.finding import Evidence
from perfscope.metrics.host.input_parts import main_queue
from perfscope.structures import dataclass
from perfscope.trace.model import Rank, Table
from perfscope.units import NS

KEEPS_UP_SHARE = 0.5  # of the training's time for a batch: who makes one so fast is not too slow
Seconds = Floats

FEWEST = 4
"""Batches of which a queue tells something."""


@dataclass(frozen=True)
class Pace:
    """How fast the queue that a rank empties most is filled, and how fast emptied."""

    depth: int  # batches that it holds at most
    producers: int  # threads that fill it, the most at a time
    # seconds of a producer for each batch: from one batch which it put to the next one being ready,
    # so that its waiting for a place in the queue is left out
    made_s: Seconds
    used_s: Seconds  # seconds between taking a batch and asking for the next one
    got_s: float  # seconds of all gets together

    @property
    def keeps_up(self) -> bool:
        """Whether the producers need far less time for a batch than the training, on average."""
        if not len(self.made_s) or not len(self.used_s) or not self.producers:
            return False
        made_s = float(self.made_s.mean()) / self.producers
        return made_s <= KEEPS_UP_SHARE * float(self.used_s.mean())


def queue_pace(rank: Rank) -> Pace | None:
    """Producer against consumer; None where hardly any batch was seen to be taken."""
    rows = rank.queues[rank.queues["queue"] == main_queue(rank)]
    gets, puts = rows[rows["is_get"]], rows[~rows["is_get"]]
    if len(gets) < FEWEST:
        return None
    return Pace(
        depth=int(gets["depth"].max()),
        producers=_at_a_time(puts),
        made_s=_between(puts),
        used_s=_between(gets),
        got_s=float((gets["t1"] - gets["t0"]).sum()) * NS,
    )


def _at_a_time(puts: Table) -> int:
    """The most threads between their first and their last put: new ones may replace old ones."""
    spans = [puts[puts["tid"] == tid] for tid in np.unique(puts["tid"])]
    starts = np.array([rows["t0"].min() for rows in spans], np.int64)
    ends = np.array([rows["t1"].max() for rows in spans], np.int64)
    alive = [int(((starts <= start) & (ends >= start)).sum()) for start in starts]
    return max(alive, default=0)


def queue_evidence(rank: Rank) -> list[Evidence]:
    """The queue of a rank that waits for input, in rows; nothing of no queue."""
    pace = queue_pace(rank)
    if pace is None:
        return []
    rows = []
    if pace.depth > 0:
        rows.append(Evidence("Batches that the input queue holds at most", pace.depth))
    if len(pace.made_s):
        rows.append(Evidence("Threads that put batches into it", pace.producers))
        label = "One of them makes a batch in, median"
        rows.append(Evidence(label, float(np.median(pace.made_s)), "s"))
    if len(pace.used_s):
        label = "The training works on a batch for, median"
        rows.append(Evidence(label, float(np.median(pace.used_s)), "s"))
    return rows


def _between(table: Table) -> Seconds:
    """Seconds from the end of one row of a thread to the start of its next one."""
    rows = table[np.lexsort((table["t0"], table["tid"]))]
    same = rows["tid"][1:] == rows["tid"][:-1]
    seconds: Seconds = (rows["t0"][1:] - rows["t1"][:-1])[same] * NS
    return seconds
