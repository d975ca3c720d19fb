"""Every operation in which a rank could wait for others, with all that is known of it."""

from collections.abc import Iterator
from typing import TypeAlias

import numpy as np

from perfscope.arrays import Bools, Int32s, Ints
from perfscope.dataframes import columns as col
from perfscope.dataframes.columns import Block, Maybe, TableSpec, Texts, pieces, where_known
from perfscope.dataframes.source import Source
from perfscope.trace.model import PEER_PROC_NULL, RowFlag
from perfscope.trace.operations import (
    BY_CODE,
    FIRST_FRAMEWORK_CODE,
    IS_COLLECTIVE,
    MAX_OPERATIONS,
    OperationClass,
    codes_mask,
    name_of,
)

NAMES = tuple(name_of(code) for code in range(MAX_OPERATIONS))
CLASSES = tuple(dict.fromkeys(["unknown", *(cls.value for cls in OperationClass)]))
CLASS_OF = np.array(
    [
        CLASSES.index(BY_CODE[code].cls.value if code in BY_CODE else "unknown")
        for code in range(MAX_OPERATIONS)
    ],
    np.int32,
)
_SENDS = codes_mask([OperationClass.SEND, OperationClass.ISEND, OperationClass.SENDRECV])
_RECEIVES = codes_mask([OperationClass.RECV, OperationClass.IRECV, OperationClass.PROBE])
_EXCHANGES = codes_mask([OperationClass.SENDRECV])
_REQUESTS = codes_mask([OperationClass.ISEND, OperationClass.IRECV, OperationClass.I_COLLECTIVE])


Codes: TypeAlias = np.ndarray[tuple[int], np.dtype[np.uint16]]


def names_column(codes: Codes) -> Texts:
    """A column with the names of operations."""
    return Texts(codes.astype(np.int32), NAMES)


def _blocks(source: Source) -> Iterator[Block]:
    pool, waits = source.pool, source.waits
    background = source.is_background
    for rows in pieces(len(pool)):
        op, peer, seq = pool.op[rows], pool.peer[rows].astype(np.int64), pool.seq[rows]
        world = np.where(peer >= 0, source.rank_numbers[np.maximum(peer, 0)], -1)
        exchange, told = (
            _EXCHANGES[op],
            (op < FIRST_FRAMEWORK_CODE) | (pool.sent[rows] > 0) | (pool.received[rows] > 0),
        )
        coalesced = (pool.flags[rows] & RowFlag.COALESCED) != 0
        known, need = waits.known[rows], waits.need[rows]
        yield {
            "rank": source.rank_numbers[pool.rank[rows]],
            "tid": pool.tid[rows].astype(np.int64),
            "background": background[rows],
            "name": names_column(op),
            "class": Texts(CLASS_OF[op], CLASSES),
            "t0_ns": pool.enter[rows],
            "t1_ns": pool.exit[rows],
            "duration_ns": pool.exit[rows] - pool.enter[rows],
            "wait_ns": Maybe(np.maximum(need - pool.enter[rows], 0), known),
            "communicator": where_known(pool.comm[rows]),
            "sequence": where_known(seq, IS_COLLECTIVE[op] & (seq >= 0)),
            "target": where_known(world, _SENDS[op] & (world >= 0)),
            "source": where_known(
                np.where(exchange, seq, world),
                (_RECEIVES[op] & (world >= 0)) | (exchange & (seq >= 0)),
            ),
            "root": where_known(world, IS_COLLECTIVE[op] & (world >= 0)),
            "nobody": _is_nobody(op, pool.peer_number[rows], seq),
            "tag": where_known(pool.tag[rows]),
            "received_tag": where_known(
                pool.request[rows] - 1, exchange & (pool.request[rows] > 0)
            ),
            "sent_bytes": Maybe(pool.sent[rows], told),
            "received_bytes": Maybe(pool.received[rows], told),
            "request": where_known(pool.request[rows], _REQUESTS[op] & (pool.request[rows] > 0)),
            "calls": np.where(coalesced, np.maximum(pool.request[rows], 1), 1).astype(np.int64),
            "open": (pool.flags[rows] & RowFlag.OPEN) != 0,
        }


def _is_nobody(op: Codes, peer: Int32s, seq: Ints) -> Bools:
    """Which calls of messages name MPI_PROC_NULL as a partner; combined ones have two."""
    found: Bools = (peer == PEER_PROC_NULL) | (_EXCHANGES[op] & (seq == PEER_PROC_NULL))
    return found & (_SENDS[op] | _RECEIVES[op])


TABLE = TableSpec(
    name="operations",
    summary="One row for each recorded operation of MPI or of a framework, rank after rank.",
    columns=(
        col.RANK,
        col.TID,
        col.flag("background", "in Horovod's own thread, beside the work of the rank"),
        col.text("name", "MPI_Allreduce, torch.distributed.all_reduce, ..."),
        col.text("class", "who waits for whom in it: n_to_n, one_to_n, send, recv, wait, ..."),
        *col.span("the call"),
        col.optional("wait_ns", "the part in which it waited for another rank", "ns"),
        col.optional("communicator", "its number in the trace, 0 is the world"),
        col.optional("sequence", "which collective on its communicator"),
        col.optional("target", "rank that it sent to"),
        col.optional("source", "rank that it received from"),
        col.optional("root", "rank that is the root of the collective"),
        col.flag("nobody", "it named MPI_PROC_NULL where no partner is told"),
        col.optional("tag", "of the message"),
        col.optional("received_tag", "of the message that a combined call received"),
        col.optional("sent_bytes", "by this rank", "bytes"),
        col.optional("received_bytes", "by this rank", "bytes"),
        col.optional("request", "the request that a nonblocking call created"),
        col.integer("calls", "calls that the row stands for"),
        col.flag("open", "the process ended inside it"),
    ),
    blocks=_blocks,
    reason=lambda source: source.missing("operations", "no operation was recorded"),
)
