"""The requests of nonblocking calls, and when each was over."""

from collections.abc import Iterator

import numpy as np

from perfscope.dataframes import columns as col
from perfscope.dataframes.columns import Block, TableSpec, constant, pieces, where_known
from perfscope.dataframes.source import Source
from perfscope.dataframes.tables.operations import names_column


def _blocks(source: Source) -> Iterator[Block]:
    for rank in source.trace.ranks:
        for piece in pieces(len(rank.completions)):
            rows = rank.completions[piece]
            yield {
                "rank": constant(rank.number, len(rows)),
                "tid": rows["tid"].astype(np.int64),
                "request": rows["request"],
                "name": names_column(rows["op"]),
                "completed_ns": rows["t0"],
                "communicator": where_known(rows["comm"]),
                "sequence": where_known(rows["seq"]),
                "partner": where_known(rows["peer"]),
                "tag": where_known(rows["tag"]),
                "sent_bytes": where_known(rows["sent"], rows["sent"] > 0),
                "received_bytes": where_known(rows["received"], rows["received"] > 0),
            }


TABLE = TableSpec(
    name="requests",
    summary="One row for each request of a nonblocking call that was seen to be over.",
    columns=(
        col.RANK,
        col.TID,
        col.integer("request", "its number on the rank, as `operations` has it"),
        col.text("name", "the operation that created it"),
        col.instant("completed_ns", "when a call was told that it is over"),
        col.optional("communicator", "its number in the trace, 0 is the world"),
        col.optional("sequence", "of a collective: which one on its communicator"),
        col.optional("partner", "rank that it sent to or received from; of a collective the root"),
        col.optional("tag", "of the message"),
        col.optional("sent_bytes", "by this rank", "bytes"),
        col.optional("received_bytes", "by this rank", "bytes"),
    ),
    blocks=_blocks,
    reason=lambda source: source.missing("operations", "no request was seen to be over"),
)
