"""Messages that are like each other, of which those that cost most are told."""

from collections import Counter

import numpy as np
import numpy.typing as npt

from perfscope.arrays import Floats, Ints, blocks
from perfscope.attribution.preparation import Prepared
from perfscope.matching.pool import Rows, dense
from perfscope.matching.waits import Waits
from perfscope.metrics.communication.call_sites import Places, places
from perfscope.structures import dataclass
from perfscope.trace.model import PEER_PROC_NULL
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
    waits, pool = prepared.waits, prepared.waits.pool
    sends = np.flatnonzero(pool.is_of(*SENDING))
    mine = sends[(pool.sent[sends] > 0) & (pool.peer_number[sends] != PEER_PROC_NULL)]
    if not len(mine):
        return None
    bits = np.floor(np.log2(pool.sent[mine])).astype(np.int64)
    kind_of_send = dense(pool.op[mine], bits)
    kind = np.full(len(pool), -1, np.int16)
    kind[mine] = kind_of_send
    size_class = np.zeros(int(kind_of_send.max()) + 1, np.int8)
    size_class[kind_of_send] = bits
    _tell_others(kind, waits, size_class)
    most = int(np.argmax(_transfer_by_kind(waits, kind, len(size_class))))
    alike = mine[kind_of_send == most]
    code = int(pool.op[alike[0]])
    return AlikeMessages(
        name=name_of(code),
        share=len(alike) / int(np.count_nonzero(pool.op[sends] == code)),
        size_bytes=float(pool.sent[alike].mean()),
        places=_places(prepared, _moving(waits, kind, most)),
    )


def _tell_others(
    kind: npt.NDArray[np.int16], waits: Waits, size_class: npt.NDArray[np.int8]
) -> None:
    """Gives receives and completing calls the kind of the message that they move.

    A call that completes several gets that of the largest one, as most of its time is for that.
    """
    send_of, (started, finished) = waits.messages.send_of, waits.requests
    receives = np.flatnonzero((send_of >= 0) & (kind < 0))
    kind[receives] = kind[send_of[receives]]
    paired = (started >= 0) & (finished >= 0)
    started, finished = started[paired], finished[paired]
    known = kind[started] >= 0
    started, finished = started[known], finished[known]
    order = np.argsort(size_class[kind[started]], kind="stable")  # the last one stays
    kind[finished[order]] = kind[started[order]]


def _transfer_by_kind(waits: Waits, kind: npt.NDArray[np.int16], count: int) -> Floats:
    """Nanoseconds in which calls of each kind moved data, shape (count,); -1 are of none."""
    spent = np.zeros(count + 1)
    for rows in blocks(len(kind)):
        place = kind[rows].astype(np.int64) + 1
        spent += np.bincount(place, _transfer_ns(waits, rows), count + 1)
    return spent[1:]


def _moving(waits: Waits, kind: npt.NDArray[np.int16], one: int) -> Rows:
    """The calls of a kind that are known to have moved data for some time."""
    every = [np.empty(0, np.int64)]
    for rows in blocks(len(kind)):
        moved = (kind[rows] == one) & (_transfer_ns(waits, rows) > 0)
        every.append(rows.start + np.flatnonzero(moved))
    return np.concatenate(every)


def _transfer_ns(waits: Waits, rows: slice) -> Ints:
    """Nanoseconds in which neighboring calls moved data; 0 where that is not known."""
    begin = np.maximum(waits.need[rows], waits.pool.enter[rows])
    spent: Ints = np.maximum(waits.pool.exit[rows] - begin, 0) * waits.known[rows]
    return spent


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
