"""Clocks of ranks whose collectives run on devices, where a kernel waits for those of all ranks."""

from collections.abc import Sequence

import numpy as np

from perfscope.readers.common.clocks import measure
from perfscope.trace.elsewhere import communication_of
from perfscope.trace.meeting_kernels import meeting_rows
from perfscope.trace.model import OPERATION_DTYPE, PEER_NONE, Rank, Table, empty
from perfscope.trace.operations import code_of


def measure_clocks(ranks: Sequence[Rank], names: Sequence[str]) -> list[str]:
    """Brings the clocks of the ranks together, by host collectives or by those of devices."""
    if any(len(rank.operations) for rank in ranks):
        return measure(ranks)
    for rank, kernels in zip(ranks, communication_of(ranks), strict=True):
        rank.operations = _as_operations(kernels, names)
    try:
        return measure(ranks)
    finally:
        for rank in ranks:
            rank.operations = empty(OPERATION_DTYPE)


def _as_operations(kernels: Table, names: Sequence[str]) -> Table:
    rows = kernels[kernels["comm"] >= 0]
    rows = rows[meeting_rows(rows, names)]
    table = np.zeros(len(rows), OPERATION_DTYPE)
    for column in ("t0", "t1", "comm", "seq"):
        table[column] = rows[column]
    table["op"], table["peer"] = code_of("torch.distributed.all_reduce"), PEER_NONE
    return table
