"""What an input queue tells of a rank that waits: how fast it is filled, and how fast emptied."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from perfscope.findings.finding import Evidence
from perfscope.findings.price import NS

if TYPE_CHECKING:
    from perfscope.trace.model import Rank, Table

FEWEST = 4
"""Batches of which a queue tells something."""


def queue_evidence(rank: Rank) -> list[Evidence]:
    """Producer against consumer in the queue that the rank empties most; nothing of no queue.

    A producer's time for a batch is that from one batch which it put to the next one being ready,
    so that its waiting for a place in the queue is left out; the program's is that between taking
    one batch and asking for the next.
    """
    gets = rank.queues[rank.queues["is_get"]]
    if len(gets) < FEWEST:
        return []
    number = int(np.bincount(gets["queue"]).argmax())
    gets = np.sort(gets[gets["queue"] == number], order="t0")
    puts = rank.queues[~rank.queues["is_get"] & (rank.queues["queue"] == number)]
    rows = []
    if (depth := int(gets["depth"].max())) > 0:
        rows.append(Evidence("Batches that the input queue holds at most", depth))
    made = _between(puts)
    if len(made):
        producers = len(np.unique(puts["tid"]))
        rows.append(Evidence("Threads that put batches into it", producers))
        rows.append(Evidence("One of them makes a batch in, median", float(np.median(made)), "s"))
    used = _between(gets)
    if len(used):
        label = "The training works on a batch for, median"
        rows.append(Evidence(label, float(np.median(used)), "s"))
    return rows


def _between(table: Table) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Seconds from the end of one row of a thread to the start of its next one."""
    rows = table[np.lexsort((table["t0"], table["tid"]))]
    same = rows["tid"][1:] == rows["tid"][:-1]
    seconds: np.ndarray[tuple[int], np.dtype[np.float64]] = (rows["t0"][1:] - rows["t1"][:-1])[
        same
    ] * NS
    return seconds
