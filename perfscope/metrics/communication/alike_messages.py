"""Messages that are like each other, of which those that cost most are told."""

from collections import Counter

import numpy as np

from perfscope.attribution.preparation import Prepared
from perfscope.engine import engine
from perfscope.matching.codes import CODES
from perfscope.matching.pool import Rows
from perfscope.metrics.communication.call_sites import Places, places
from perfscope.structures import dataclass
from perfscope.trace.operations import OperationClass, name_of

SENDING = (OperationClass.SEND, OperationClass.SENDRECV, OperationClass.ISEND)


@dataclass(frozen=True)
class AlikeMessages:
    """Messages that one operation sends, with sizes within a factor of two.

    None of them is for `MPI_PROC_NULL`: ranks at the border of a grid send to nobody what others
    send to their neighbors.
    """

    name: str  # of the operation that sends them
    share: float  # of its calls
    size_bytes: float  # mean
    places: Places  # where main threads were seen while they moved


def costliest_messages(prepared: Prepared) -> AlikeMessages | None:
    """Those alike that take most transfer, of calls that were recorded one by one; None if none.

    Transfer of a message is that of its send, its receive, and the calls that complete these.
    """
    waits = prepared.waits
    is_sampled = any(len(rank.stacks) for rank in prepared.trace.ranks)
    code, messages, calls, size, moving = engine.alike_messages(
        waits, CODES, waits.messages.send_of, *waits.requests, tells_calls=is_sampled
    )
    if not messages:
        return None
    return AlikeMessages(
        name=name_of(code),
        share=messages / calls,
        size_bytes=size / messages,
        places=_places(prepared, moving),
    )


def _places(prepared: Prepared, calls: Rows) -> Places:
    """Where main threads were seen in the focus while some of their calls moved data."""
    waits, pool, seen = prepared.waits, prepared.waits.pool, Counter[int]()
    for rank, rows in zip(prepared.trace.ranks, pool.by_rank(calls), strict=True):
        own = rows[pool.tid[rows] == rank.main_tid]
        if not len(own):
            continue
        samples = prepared.focus.within(rank.main_stacks)
        at = samples["t"].astype(np.int64)
        last = np.searchsorted(pool.enter[own], at, side="right") - 1
        call = own[np.maximum(last, 0)]
        begin = np.maximum(waits.need[call], pool.enter[call])
        inside = (last >= 0) & (at >= begin) & (at < pool.exit[call])
        seen.update(samples["stack"][inside].tolist())
    return places(prepared.trace, prepared.labels, seen)
