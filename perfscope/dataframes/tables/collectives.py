"""Collective operations: when each rank came, and how long it waited for the last one."""

from collections.abc import Iterator

import numpy as np

from perfscope.dataframes import columns as col
from perfscope.dataframes.columns import Block, Maybe, TableSpec, pieces, where_known
from perfscope.dataframes.source import Source
from perfscope.dataframes.tables.operations import names_column
from perfscope.matching.codes import NONBLOCKING_CODES
from perfscope.trace.operations import FIRST_FRAMEWORK_CODE


def _blocks(source: Source) -> Iterator[Block]:
    pool, instances = source.pool, source.instances
    number_of = instances.instance_of_member
    sizes = np.diff(instances.starts)
    for part in pieces(len(instances.members)):
        rows, which = instances.members[part], number_of[part]
        op, peer = pool.op[rows], pool.peer[rows].astype(np.int64)
        need = np.clip(instances.need[part], pool.enter[rows], pool.exit[rows])
        cause = instances.cause[part]
        blocking, told = (
            ~NONBLOCKING_CODES[op],
            (op < FIRST_FRAMEWORK_CODE) | (pool.sent[rows] > 0) | (pool.received[rows] > 0),
        )
        yield {
            "collective": which.astype(np.int64),
            "name": names_column(op),
            "communicator": pool.comm[rows].astype(np.int64),
            "sequence": pool.seq[rows],
            "members": sizes[which].astype(np.int64),
            "rank": source.rank_numbers[pool.rank[rows]],
            "tid": pool.tid[rows].astype(np.int64),
            "background": source.is_background[rows],
            "root": where_known(np.where(peer >= 0, source.rank_numbers[np.maximum(peer, 0)], -1)),
            "sent_bytes": Maybe(pool.sent[rows], told),
            "received_bytes": Maybe(pool.received[rows], told),
            "t0_ns": pool.enter[rows],
            "t1_ns": pool.exit[rows],
            "duration_ns": pool.exit[rows] - pool.enter[rows],
            "wait_ns": Maybe(need - pool.enter[rows], blocking),
            "transfer_ns": Maybe(pool.exit[rows] - need, blocking),
            "last_rank": source.rank_numbers[pool.rank[instances.last[which]]],
            "waited_for": Maybe(
                source.rank_numbers[pool.rank[cause]], (cause != rows) & (need > pool.enter[rows])
            ),
        }


TABLE = TableSpec(
    name="collectives",
    summary="One row for each rank of each collective operation that all its ranks recorded.",
    columns=(
        col.integer("collective", "number of the operation; its ranks share it"),
        col.text("name", "MPI_Allreduce, ..."),
        col.integer("communicator", "its number in the trace, 0 is the world"),
        col.integer("sequence", "which collective on its communicator"),
        col.integer("members", "ranks that took part"),
        col.RANK,
        col.TID,
        col.flag("background", "in Horovod's own thread, beside the work of the rank"),
        col.optional("root", "rank that is the root"),
        col.optional("sent_bytes", "by this rank", "bytes"),
        col.optional("received_bytes", "by this rank", "bytes"),
        *col.span("the call on this rank"),
        col.optional(
            "wait_ns", "until the ranks that it needs had come; missing: nonblocking", "ns"
        ),
        col.optional("transfer_ns", "duration_ns - wait_ns", "ns"),
        col.integer("last_rank", "the rank that came last"),
        col.optional("waited_for", "the rank that this one waited for; missing: nobody"),
    ),
    blocks=_blocks,
    reason=lambda source: source.missing(
        "operations", "no collective operation was recorded by all its ranks"
    ),
)
