"""A damaged size of a message neither ends the analysis nor the replay."""

import numpy as np
import pytest

from perfscope.matching.rendezvous import size_classes
from perfscope.metrics.compute import compute
from perfscope.metrics.results import Options
from perfscope.replay.segments import SegmentReplay
from perfscope.schema.enums import PhaseKind
from tests.support.trace_builder import TraceBuilder

LARGEST = (1 << 63) - 1


def test_sizes_are_classed_by_their_bits() -> None:
    sizes = np.array([0, 1, 2, 3, 4, 4096, 8191, 8192, LARGEST, -1, -LARGEST - 1])
    assert size_classes(sizes).tolist() == [0, 1, 2, 2, 3, 13, 13, 14, 63, 0, 0]


@pytest.mark.parametrize("size", [LARGEST, -1, -LARGEST - 1])
def test_damaged_sizes_are_analyzed(size: int) -> None:
    builder = TraceBuilder(2, end_s=1e3)
    for rank in range(2):
        builder.rank(rank).init(1.0)
    for step in range(20):
        at = 1.0 + step
        for rank in range(2):
            made = builder.rank(rank).phase(PhaseKind.TRAIN, at, at + 0.5)
            made.op("MPI_Allreduce", at + 0.5, at + 0.6, sent=size, received=size)
            name = "MPI_Recv" if rank else "MPI_Send"
            made.op(name, at + 0.7, at + 0.8, peer=1 - rank, tag=step, sent=0 if rank else size)
    for rank in range(2):
        builder.rank(rank).finalize(21.0)
    replay = SegmentReplay(compute(builder.build(), Options()))
    assert replay.relative_error == pytest.approx(0.0, abs=1e-6)
