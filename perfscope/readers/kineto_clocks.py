"""Clocks of ranks whose collectives run on devices, where a kernel waits for those of all ranks."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from perfscope.readers.clocks import measure
from perfscope.trace.devices import DeviceKind
from perfscope.trace.model import OPERATION_DTYPE, PEER_NONE, Rank, Table, empty
from perfscope.trace.operations import code_of

_ONE_SIDED = ("broadcast", "reduce", "send", "recv", "gather", "scatter")
"""Collectives that a rank may leave before the last one has come, by NCCL's name."""

_KERNELS = ("allreduce", "allgather", "reducescatter", "alltoall")
"""What names of kernels contain that synchronise all ranks, where nothing else names the call."""


def measure_clocks(ranks: Sequence[Rank], names: Sequence[str]) -> list[str]:
    """Brings the clocks of the ranks together, by host collectives or by those of devices."""
    if any(len(rank.operations) for rank in ranks):
        return measure(ranks)
    for rank in ranks:
        rank.operations = _as_operations(rank, names)
    try:
        return measure(ranks)
    finally:
        for rank in ranks:
            rank.operations = empty(OPERATION_DTYPE)


def _as_operations(rank: Rank, names: Sequence[str]) -> Table:
    if rank.devices is None:
        return empty(OPERATION_DTYPE)
    rows = rank.devices.rows
    rows = rows[(rows["kind"] == DeviceKind.COMMUNICATION) & (rows["comm"] >= 0)]
    meets = {place: _meets(names[place], _ONE_SIDED) for place in np.unique(rows["op"]).tolist()}
    kernels = {place: names[place].lower() for place in np.unique(rows["name"]).tolist()}
    chosen = [
        meets[op] if op >= 0 else any(word in kernels[name] for word in _KERNELS)
        for op, name in zip(rows["op"].tolist(), rows["name"].tolist(), strict=True)
    ]
    rows = rows[np.array(chosen, np.bool_)]
    table = np.zeros(len(rows), OPERATION_DTYPE)
    for column in ("t0", "t1", "comm", "seq"):
        table[column] = rows[column]
    table["op"], table["peer"] = code_of("torch.distributed.all_reduce"), PEER_NONE
    return table


def _meets(name: str, others: Sequence[str]) -> bool:
    return not any(name.lower().lstrip("_").startswith(other) for other in others) or (
        "scatter" in name.lower() and name.lower().lstrip("_").startswith("reduce_scatter")
    )
