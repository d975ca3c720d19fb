"""Work that one rank hands out and others do: nothing is to be balanced among these."""

import pytest

from tests.findings.analyzed import analyze_trace
from tests.support.trace_builder import TraceBuilder


def test_who_only_collects_hands_nothing_out() -> None:
    builder, at = TraceBuilder(3, end_s=60.0), 1.0
    for turn in range(60):
        for worker in (1, 2):
            end, rank = at + 0.2 + 0.001 * worker, builder.rank(worker)
            rank.op("MPI_Send", end, end + 0.001, peer=0, tag=turn, sent=8)
            begin = at if worker == 1 else end - 0.0005
            builder.rank(0).op("MPI_Recv", begin, end + 0.001, peer=worker, tag=turn, received=8)
        at += 0.204
    for number in range(3):
        builder.rank(number).init(1.0).finalize(at + 0.1)
    finding = analyze_trace(builder.build()).findings["load_imbalance"]
    assert "hands out" not in finding.title


@pytest.mark.parametrize(("neighbor", "is_pool"), [(0, True), (1, False)])
def test_who_hands_the_work_out_has_it_not_balanced(neighbor: int, is_pool: bool) -> None:
    """Ranks 1 and 2 compute for 0.2 s what rank 0 sends; where they also meet, nobody deals."""
    builder, at = TraceBuilder(3, end_s=60.0), 1.0
    for turn in range(60):
        for worker in (1, 2):
            begin = at + 0.001 * worker
            builder.rank(0).op("MPI_Send", begin, begin + 0.001, peer=worker, tag=turn, sent=8)
            rank = builder.rank(worker)
            rank.op("MPI_Recv", at, begin + 0.001, peer=0, tag=turn, received=8)
            for look in range(4):
                rank.stack(
                    begin + 0.03 + 0.05 * look, [("main", "/job/t.py", 9), ("task", "/job/t.py", 3)]
                )
            back = neighbor if worker == 2 and turn % 2 else 0
            rank.op("MPI_Send", begin + 0.2, begin + 0.201, peer=back, tag=turn, sent=8)
            last = at if worker == 1 else at + 0.202
            builder.rank(back).op(
                "MPI_Recv", last, begin + 0.201, peer=worker, tag=turn, received=8
            )
        at += 0.204
    for number in range(3):
        builder.rank(number).init(1.0).finalize(at + 0.1)
    finding = analyze_trace(builder.build()).findings["load_imbalance"]
    assert finding.ranks == (1, 2)
    assert finding.title.startswith("Rank 0 hands out the work of ranks 1 and 2") == is_pool
    assert ("Split the work" in finding.actions[0]) != is_pool


@pytest.mark.parametrize(
    ("neighbor", "shared", "is_pool"), [(0, False, True), (1, False, False), (0, True, False)]
)
def test_a_manager_that_falls_behind_is_to_hand_out_larger_pieces(
    neighbor: int, shared: bool, is_pool: bool
) -> None:
    """Rank 0 works 0.2 s before it hands a piece to each of two ranks, which take 10 ms for it.

    Where these are seen in the same function, it is their common work, as at a halo's middle.
    """
    builder, at = TraceBuilder(3, end_s=60.0), 1.0
    for turn in range(60):
        ready = at + 0.2
        for look in range(4):
            frames = [("main", "/job/t.py", 9), ("make_task", "/job/t.py", 3)]
            builder.rank(0).stack(at + 0.03 + 0.05 * look, frames)
        for worker in (1, 2):
            begin, rank = ready + 0.001 * worker, builder.rank(worker)
            builder.rank(0).op("MPI_Send", begin, begin + 0.001, peer=worker, tag=turn, sent=8)
            rank.op("MPI_Recv", at, begin + 0.001, peer=0, tag=turn, received=8)
            if shared:
                rank.stack(begin + 0.005, frames)
            back = neighbor if worker == 2 and turn % 2 else 0
            end = begin + 0.011
            rank.op("MPI_Send", end, end + 0.001, peer=back, tag=turn, sent=8)
            last = ready + 0.003 if worker == 1 else ready + 0.013
            last = end if back else last
            builder.rank(back).op("MPI_Recv", last, end + 0.001, peer=worker, tag=turn, received=8)
        at = ready + 0.015
    for number in range(3):
        builder.rank(number).init(1.0).finalize(at + 0.1)
    finding = analyze_trace(builder.build()).findings["load_imbalance"]
    assert finding.ranks == (0,)
    told = (
        "Rank 0 works in make_task() (t.py:3) while ranks 1 and 2, which get their work from it, "
        "wait"
    )
    assert (finding.title == told) == is_pool
    assert finding.actions[0].startswith("Have rank 0 do less for each piece of work") == is_pool
    assert (
        "120 messages to them were recorded; for each rank 0 works" in finding.actions[0]
    ) == is_pool
