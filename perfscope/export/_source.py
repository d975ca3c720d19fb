"""What every export makes of a trace first.

Horovod's exposed communication becomes a thread of its own, which other formats can hold; what none
has a place for stands beside the events: see `perfscope.readers.common.exported`.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from perfscope.attribution.exposed import with_exposed_communication
from perfscope.dataframes.source import Source
from perfscope.readers.common.exported import facts
from perfscope.trace.exported import Judged
from perfscope.trace.model import Rank, ThreadInfo, Trace
from perfscope.trace.operations import HOROVOD_EXPOSED

NAME = "exposed communication of Horovod"


def with_exposed_source(source: Source) -> Source:
    """The same of a trace that is exported."""
    trace = with_exposed_thread(source.trace)
    return source if trace is source.trace else Source(trace)


def with_exposed_thread(trace: Trace) -> Trace:
    """The trace with the time in which ranks only waited for Horovod, beside their main threads.

    When tensors were ready, from which that follows, has no place in other formats. On the main
    thread these operations would cut its phases in two. Unchanged where Horovod was not used.
    """
    told = with_exposed_communication(trace)
    if told is trace:
        return trace
    return replace(told, ranks=[_moved(rank) for rank in told.ranks])


def _moved(rank: Rank) -> Rank:
    tids = [thread.tid for thread in rank.threads]
    for table in (rank.operations, rank.background, rank.phases, rank.completions):
        tids += np.unique(table["tid"]).tolist()
    free = max(rank.main_tid, *tids) + 1
    operations = rank.operations.copy()
    operations["tid"][operations["op"] == HOROVOD_EXPOSED] = free
    threads = (*rank.threads, ThreadInfo(free, NAME, 0, 0, 0, 0))
    return replace(rank, operations=operations, threads=threads)


def facts_of(source: Source) -> dict[str, Any]:
    """Over which time the recording is judged, what is wrong with it, and how its ranks ended."""
    prepared = source.prepared
    focus = prepared.focus
    judged = Judged(focus.start_ns, focus.end_ns, focus.kind, focus.reason, prepared.damage)
    return facts(source.trace, judged)
