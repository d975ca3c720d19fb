"""Which communication kernels no rank can leave before the last one has come."""

import re
from collections.abc import Sequence

import numpy as np

from perfscope.arrays import Bools
from perfscope.trace.model import Table

_MEETING = ("allreduce", "allgather", "reducescatter", "alltoall", "barrier", "crossdevicereduce")
"""What such calls and kernels contain, in small letters alone; each rank needs data of all.

Not a broadcast, gather, scatter, plain reduce, send or receive: there some ranks only give, and
leave early. A kernel that serves any call (`ncclDevKernel_Generic`) tells nothing.
"""
_NO_LETTER = re.compile(r"[^a-z]+")


def meets(operation: str, kernel: str) -> bool:
    """Whether a collective waits for all of its ranks.

    Args:
        operation: the call as the profiler names it, "" where it does not; NCCL runs many calls in
            kernels that are named like another one, so that it counts alone where it is known.
        kernel: the name of the kernel.
    """
    text = _NO_LETTER.sub("", (operation or kernel).lower())
    return any(word in text for word in _MEETING)


def meeting_rows(rows: Table, names: Sequence[str]) -> Bools:
    """The same for rows of communication kernels; `names` are those of the trace."""
    width = max(len(names), 1)
    pairs = (rows["op"].astype(np.int64) + 1) * width + rows["name"]
    distinct, place = np.unique(pairs, return_inverse=True)
    told = [(pair // width - 1, pair % width) for pair in distinct.tolist()]
    found = [meets(names[op] if op >= 0 else "", names[name]) for op, name in told]
    result: Bools = np.array(found, np.bool_)[place.reshape(-1)]
    return result
