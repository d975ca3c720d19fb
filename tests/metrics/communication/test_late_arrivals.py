"""Who kept the others waiting, doing what."""

import pytest

from perfscope.metrics.compute import compute
from perfscope.metrics.results import Options
from perfscope.schema.enums import PhaseKind
from tests.support.trace_builder import TraceBuilder

FILE = "/home/user/train.py"
TRAIN = (("<module>", FILE, 300), ("train", FILE, 100))
EVALUATE = (*TRAIN, ("evaluate", FILE, 212))


def job(*, marked: bool) -> TraceBuilder:
    """Three ranks; every second allreduce rank 0 comes 2 s late from its evaluation."""
    builder = TraceBuilder(3, end_s=20.0)
    for number in range(3):
        rank = builder.rank(number).init(1.0).finalize(17.0)
        for turn in range(4):
            at = 1.0 + 4.0 * turn
            late = number == 0 and turn % 2 == 1
            rank.op("MPI_Allreduce", at + 1.0 + 2.0 * late, at + 4.0)
            for tenth in range(1, 30 if late else 10):
                rank.stack(at + tenth / 10, EVALUATE if late and tenth > 8 else TRAIN)
            if marked and late:
                rank.phase(PhaseKind.EVALUATE, at + 0.8, at + 3.0)
    return builder


@pytest.mark.parametrize("marked", [False, True])
def test_evaluation_on_one_rank(marked: bool) -> None:
    results = compute(job(marked=marked).build())
    first = results.communication.late_arrivals[0]
    assert (first.rank, first.phase, first.instances) == (0, "evaluate", 2)
    assert first.waiting_s == pytest.approx(8.0)
    assert first.stall_s == pytest.approx(4.0)
    assert (first.first_s, first.last_s) == (8.0, 16.0)
    assert first.frame is not None
    assert (first.frame.function, first.frame.file, first.frame.line) == ("evaluate", FILE, 212)
    assert first.caller is not None
    assert first.caller.function == "train"


def test_only_waits_inside_the_focus_count() -> None:
    results = compute(job(marked=True).build(), Options(focus="7:8"))
    assert [a.waiting_s for a in results.communication.late_arrivals] == [pytest.approx(2.0)]


def test_nobody_waits() -> None:
    builder = TraceBuilder(1, end_s=3.0)
    builder.rank(0).init(0.0).op("MPI_Barrier", 1.0, 2.0)
    assert compute(builder.build()).communication.late_arrivals == ()


def test_the_whole_way_to_the_collective_counts() -> None:
    """Messages between do not hide what the late rank did before them."""
    builder = TraceBuilder(2, end_s=10.0)
    for number in (0, 1):
        builder.rank(number).init(0.0).finalize(9.0)
    builder.rank(0).stack(2.0, EVALUATE).op("MPI_Send", 5.0, 5.1, peer=1, tag=1)
    builder.rank(0).stack(5.3, TRAIN).op("MPI_Barrier", 5.5, 6.0)
    builder.rank(1).op("MPI_Irecv", 0.1, 0.1, peer=0, tag=1, request=1)
    builder.rank(1).op("MPI_Barrier", 1.0, 6.0)
    first = compute(builder.build()).communication.late_arrivals[0]
    assert (first.rank, first.phase) == (0, "evaluate")
    assert first.waiting_s == pytest.approx(4.5)
