"""What the accelerators of each rank did: kernels, copies and fills."""

from collections.abc import Iterator

import numpy as np

from perfscope.dataframes import columns as col
from perfscope.dataframes.columns import (
    Block,
    Interner,
    Maybe,
    TableSpec,
    Texts,
    constant,
    pieces,
    where_known,
)
from perfscope.dataframes.source import Source
from perfscope.trace.devices import LAUNCH_UNKNOWN, DeviceKind

KINDS = tuple(kind.name.lower() for kind in DeviceKind)


def _blocks(source: Source) -> Iterator[Block]:
    names = Interner()
    texts = np.append(names.codes(source.trace.names), np.int32(-1))  # the last one is for none
    for rank in source.trace.ranks:
        activity = rank.devices
        if activity is None:
            continue
        for rows in pieces(len(activity.rows)):
            table = activity.rows[rows]
            yield {
                "rank": constant(rank.number, len(table)),
                "device": table["device"].astype(np.int64),
                "stream": table["stream"].astype(np.int64),
                "kind": Texts(table["kind"].astype(np.int32), KINDS),
                "name": Texts(texts[table["name"]], names.texts),
                "t0_ns": table["t0"].astype(np.int64),
                "t1_ns": table["t1"].astype(np.int64),
                "duration_ns": (table["t1"] - table["t0"]).astype(np.int64),
                "launch_ns": Maybe(table["launch"], table["launch"] != LAUNCH_UNKNOWN),
                "correlation": where_known(table["correlation"]),
                "bytes": where_known(table["bytes"]),
                "communicator": where_known(table["comm"]),
                "operation": Texts(texts[table["op"]], names.texts),
                "sequence": where_known(table["seq"]),
                "members": where_known(table["members"].astype(np.int64), table["members"] > 0),
            }


TABLE = TableSpec(
    name="kernels",
    summary="One row for each kernel, copy or fill of each rank's accelerators.",
    columns=(
        col.RANK,
        col.integer("device", "number of the device in its host"),
        col.integer("stream", "queue of the device"),
        col.text("kind", "compute, communication (NCCL, RCCL, ...), memcpy or memset"),
        col.text("name", "of the kernel"),
        *col.span("it"),
        col.optional("launch_ns", "when the host launched it", "ns"),
        col.optional("correlation", "number that it shares with its launch"),
        col.optional("bytes", "moved by it", "bytes"),
        col.optional("communicator", "of a collective: its number in the trace"),
        col.text("operation", "of a collective: its name"),
        col.optional("sequence", "of a collective: which one on its communicator"),
        col.optional("members", "of a collective: ranks that took part"),
    ),
    blocks=_blocks,
    reason=lambda source: source.missing("devices", "no accelerator was watched"),
)
