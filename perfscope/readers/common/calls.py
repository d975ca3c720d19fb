"""Calls in files of other tools: one at a time on a thread, with the partners that exports name."""

import numpy as np

from perfscope.arrays import Ints
from perfscope.trace.model import Table
from perfscope.trace.operations import OperationClass, codes_mask

EXCHANGES = codes_mask([OperationClass.SENDRECV])
"""Combined calls, by code."""
_SENDS = codes_mask([OperationClass.SEND, OperationClass.ISEND, OperationClass.SENDRECV])
_RECEIVES = codes_mask([OperationClass.RECV, OperationClass.IRECV, OperationClass.PROBE])


def set_partners(table: Table, target: Ints, source: Ints, root: Ints, received_tag: Ints) -> None:
    """Sets whom calls name: ranks or PEER_*; `received_tag` of combined ones, -1 unknown."""
    op = table["op"]
    sends, exchanges = _SENDS[op], EXCHANGES[op]
    partner = np.where(sends, target, source)
    table["peer"] = np.where(sends | _RECEIVES[op], partner, root)
    table["seq"][exchanges] = source[exchanges]
    most = np.iinfo(np.int32).max
    told = np.where((received_tag >= 0) & (received_tag <= most), received_tag, -1)
    table["request"][exchanges] = told[exchanges] + 1


def one_at_a_time(table: Table) -> None:
    """A thread is in one call at a time: what begins earlier ends before the next one begins."""
    for tid in np.unique(table["tid"]).tolist():
        mine = np.flatnonzero(table["tid"] == tid)
        reach = np.maximum.accumulate(table["t1"][mine])
        table["t0"][mine[1:]] = np.maximum(table["t0"][mine[1:]], reach[:-1])
        table["t1"][mine] = np.maximum(table["t1"][mine], table["t0"][mine])
