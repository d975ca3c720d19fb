"""Messages from one rank to another: the send and the receive that belong together."""

from collections.abc import Iterator

import numpy as np

from perfscope.arrays import Ints
from perfscope.dataframes import columns as col
from perfscope.dataframes.columns import Block, Maybe, TableSpec, pieces
from perfscope.dataframes.source import Source
from perfscope.dataframes.tables.operations import names_column
from perfscope.trace.model import Table
from perfscope.trace.operations import OperationClass

_RECEIVES = (OperationClass.RECV, OperationClass.IRECV, OperationClass.SENDRECV)


def received_rows(source: Source) -> Ints:
    """Rows of the pool that received a message whose send is known."""
    receives = source.pool.is_of(*_RECEIVES) & (source.messages.send_of >= 0)
    return np.flatnonzero(receives)


def completion_times(completions: Table, requests: Ints) -> Maybe:
    """When the requests of one rank completed."""
    if not len(completions):
        return Maybe(np.zeros(len(requests), np.int64), np.zeros(len(requests), np.bool_))
    order = np.argsort(completions["request"], kind="stable")
    ids, times = completions["request"][order], completions["t0"][order]
    place = np.minimum(np.searchsorted(ids, requests), len(ids) - 1)
    return Maybe(times[place], (ids[place] == requests) & (requests > 0))


def arrival_times(source: Source, rows: Ints) -> Maybe:
    """When each received message was there: the end of the call, or of its request."""
    pool = source.pool
    times, known = pool.exit[rows].copy(), np.ones(len(rows), np.bool_)
    posted = pool.is_of(OperationClass.IRECV)[rows]
    for position, rank in enumerate(source.trace.ranks):
        mine = np.flatnonzero(posted & (pool.rank[rows] == position))
        found = completion_times(rank.completions, pool.request[rows[mine]])
        times[mine], known[mine] = found.values, found.known
    return Maybe(times, known)


def message_threads(source: Source) -> tuple[list[int], list[int]]:
    """The threads that sent and received the messages, in the order of the table."""
    rows = received_rows(source)
    sends = source.messages.send_of[rows]
    return source.pool.tid[sends].tolist(), source.pool.tid[rows].tolist()


def _blocks(source: Source) -> Iterator[Block]:
    pool, waits = source.pool, source.waits
    every = received_rows(source)
    arrivals = arrival_times(source, every)
    is_posted = pool.is_of(OperationClass.IRECV)
    for part in pieces(len(every)):
        rows = every[part]
        sends = source.messages.send_of[rows]
        yield {
            "source": source.rank_numbers[pool.rank[sends]],
            "target": source.rank_numbers[pool.rank[rows]],
            "communicator": pool.comm[rows].astype(np.int64),
            "tag": pool.tag[sends].astype(np.int64),
            "bytes": pool.sent[sends],
            "send": names_column(pool.op[sends]),
            "send_t0_ns": pool.enter[sends],
            "send_t1_ns": pool.exit[sends],
            "receive": names_column(pool.op[rows]),
            "receive_t0_ns": pool.enter[rows],
            "receive_t1_ns": pool.exit[rows],
            "arrival_ns": Maybe(arrivals.values[part], arrivals.known[part]),
            "wait_ns": Maybe(
                np.maximum(waits.need[rows] - pool.enter[rows], 0),
                waits.known[rows] & ~is_posted[rows],
            ),
        }


TABLE = TableSpec(
    name="messages",
    summary="One row for each message whose send and receive were both recorded.",
    columns=(
        col.integer("source", "rank that sent it"),
        col.integer("target", "rank that received it"),
        col.integer("communicator", "its number in the trace, 0 is the world"),
        col.integer("tag", "of the message"),
        col.integer("bytes", "sent", "bytes"),
        col.text("send", "the operation that sent it"),
        col.instant("send_t0_ns", "start of the send"),
        col.instant("send_t1_ns", "end of the call that sent, which may be before it left"),
        col.text("receive", "the operation that received it"),
        col.instant("receive_t0_ns", "start of the receive, or when it was posted"),
        col.instant("receive_t1_ns", "end of the call that received or posted"),
        col.optional("arrival_ns", "when it had been received", "ns"),
        col.optional("wait_ns", "how long a blocking receive waited for the sender", "ns"),
    ),
    blocks=_blocks,
    reason=lambda source: source.missing(
        "messages", "no message was recorded by both its sender and its receiver"
    ),
)
