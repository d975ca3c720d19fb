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
