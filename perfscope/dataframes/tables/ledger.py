"""The ledger: every nanosecond of every rank's life in exactly one account."""

from collections.abc import Iterator

import numpy as np

from perfscope.attribution.ledger import ACCOUNTS
from perfscope.dataframes import columns as col
from perfscope.dataframes.columns import Block, TableSpec, Texts, constant
from perfscope.dataframes.source import Source

NAMES = tuple(account.value for account in ACCOUNTS)


def _blocks(source: Source) -> Iterator[Block]:
    for rank, timeline in zip(source.trace.ranks, source.prepared.timelines, strict=True):
        yield {
            "rank": constant(rank.number, len(ACCOUNTS)),
            "account": Texts(np.arange(len(ACCOUNTS), dtype=np.int32), NAMES),
            "time_ns": timeline.spent()[0],
        }


TABLE = TableSpec(
    name="ledger",
    summary="One row for each account of each rank; the rows of a rank add up to its life.",
    columns=(
        col.RANK,
        col.text("account", "training, evaluation, communication_wait, ... as in analysis.json"),
        col.integer("time_ns", "of the main thread", "ns"),
    ),
    blocks=_blocks,
    reason=lambda _: "no rank left a recording",
)
