"""The efficiency tree with answers computed by hand."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perfscope.metrics.compute import compute
from perfscope.metrics.results import Options
from perfscope.schema.enums import PhaseKind
from tests.support.trace_builder import TraceBuilder


def imbalanced() -> TraceBuilder:
    """T = 10 s; work of rank 0: 6 + 2, of rank 1: 3 + 3; an allreduce from 7 to 8 s joins them."""
    builder = TraceBuilder(2, end_s=12.0)
    builder.rank(0).init(1.0).op("MPI_Allreduce", 7.0, 8.0).op("MPI_Barrier", 10.0, 11.0)
    builder.rank(1).init(1.0).op("MPI_Allreduce", 4.0, 8.0).op("MPI_Barrier", 11.0, 11.0)
    builder.rank(0).finalize(11.0)
    builder.rank(1).finalize(11.0)
    return builder


@pytest.mark.parametrize(("ranks", "why"), [(1, "one process"), (2, "never communicate")])
def test_ranks_without_any_call_of_communication_have_no_efficiency(ranks: int, why: str) -> None:
    """They seem to work all the time: nobody saw what they waited for."""
    builder = TraceBuilder(ranks, end_s=4.0)
    for rank in range(ranks):
        builder.rank(rank).phase(PhaseKind.FORWARD, 1.0, 3.0)
    results = compute(builder.build())
    for tree in (results.efficiency, *(phase.efficiency for phase in results.phases)):
        for name in ("parallel_efficiency", "load_balance", "communication_efficiency"):
            assert getattr(tree, name).value is None
            assert why in getattr(tree, name).reason
    for rank in range(ranks):
        builder.rank(rank).op("MPI_Barrier", 3.0, 3.5)
    assert compute(builder.build()).efficiency.parallel_efficiency.value is not None


def test_by_hand() -> None:
    tree = compute(imbalanced().build()).efficiency
    assert tree.window_s == 10.0
    assert tree.outside_s == (8.0, 6.0)
    assert tree.parallel_efficiency.value == pytest.approx(14 / 20)
    assert tree.load_balance.value == pytest.approx(7 / 8)
    assert tree.communication_efficiency.value == pytest.approx(0.8)
    # on an ideal network: 6 s to the allreduce, 3 s to the barrier, nothing after it
    assert tree.serialization_efficiency.value == pytest.approx(8 / 9)
    assert tree.transfer_efficiency.value == pytest.approx(0.9)
    assert tree.parallel_efficiency.useful == "outside_communication"
    assert tree.parallel_efficiency.foa == "communication_lifetime"
    assert tree.parallel_efficiency.formula == "pop"
    assert tree.training_efficiency.value is None
    assert "--phase" in (tree.training_efficiency.reason or "")


def test_training_is_part_of_the_work() -> None:
    builder = imbalanced()
    for rank in (0, 1):
        builder.rank(rank).step(0, 1.0, 8.0)
    builder.rank(0).phase(PhaseKind.EVALUATE, 8.0, 10.0).phase(PhaseKind.INPUT, 1.0, 2.0)
    builder.rank(1).phase(PhaseKind.CHECKPOINT, 8.0, 9.0)
    tree = compute(builder.build()).efficiency
    assert tree.useful_s == (5.0, 3.0)
    assert tree.productive_share.value == pytest.approx(8 / 14)
    assert tree.training_efficiency.value == pytest.approx(14 / 20 * 8 / 14)
    split = tree.productive_split
    assert split["evaluation"] == pytest.approx(2 / 14)
    assert split["input"] == pytest.approx(1 / 14)
    assert split["checkpoint"] == pytest.approx(1 / 14)
    assert split["other"] == pytest.approx(2 / 14)


def test_messages_need_a_replay() -> None:
    builder = imbalanced()
    builder.rank(1).op("MPI_Recv", 2.0, 2.5, peer=0, tag=1)
    builder.rank(0).op("MPI_Send", 2.0, 2.1, peer=1, tag=1)
    tree = compute(builder.build()).efficiency
    assert tree.serialization_efficiency.value is None
    assert "MPI_Recv (1)" in (tree.serialization_efficiency.reason or "")


def test_operations_that_take_no_time_do_not_spoil_the_formula() -> None:
    builder = imbalanced()
    builder.rank(1).op("MPI_Comm_free", 2.0, 2.000001)
    assert compute(builder.build()).efficiency.transfer_efficiency.value == pytest.approx(0.9)


def test_rooted_collectives_that_synchronize_are_covered() -> None:
    builder = TraceBuilder(3, end_s=12.0)
    for number in range(3):
        rank = builder.rank(number).init(1.0).finalize(11.0)
        for turn in range(3):
            arrives = 2.0 + 3 * turn + (number == turn) * 1.0
            rank.op("MPI_Bcast", arrives, 3.1 + 3 * turn, peer=0, sent=8, received=8)
    tree = compute(builder.build()).efficiency
    assert tree.transfer_efficiency.value == pytest.approx((10 - 0.3) / 10, abs=1e-3)


def test_a_narrowed_focus() -> None:
    tree = compute(imbalanced().build(), Options(focus="1:4")).efficiency
    assert tree.parallel_efficiency.value == 1.0
    tree = compute(imbalanced().build(), Options(focus="4:8")).efficiency
    assert tree.outside_s == (3.0, 0.0)
    assert tree.parallel_efficiency.value == pytest.approx(3 / 8)
    assert tree.serialization_efficiency.value == pytest.approx(1.0)


def test_no_work_at_all() -> None:
    builder = TraceBuilder(1, end_s=3.0)
    builder.rank(0).init(1.0).op("MPI_Barrier", 1.0, 2.0).finalize(2.0)
    tree = compute(builder.build()).efficiency
    assert tree.load_balance.value is None
    assert tree.communication_efficiency.value == 0.0


@settings(max_examples=30, deadline=None)
@given(
    work=st.lists(st.tuples(st.integers(1, 50), st.integers(1, 50)), min_size=1, max_size=6),
    transfer=st.integers(0, 5),
)
def test_ideal_network_against_a_simulation(work: list[tuple[int, int]], transfer: int) -> None:
    """Rounds of work and barriers: the closed formula gives the runtime without transfer."""
    total = sum(max(pair) + transfer for pair in work)
    builder = TraceBuilder(2, end_s=1.0 + total)
    for number in (0, 1):
        builder.rank(number).init(0.0).finalize(float(total))
    now = 0
    for pair in work:
        leaves = now + max(pair) + transfer
        for number in (0, 1):
            builder.rank(number).op("MPI_Barrier", now + pair[number], leaves)
        now = leaves
    tree = compute(builder.build()).efficiency
    ideal = sum(max(pair) for pair in work)
    assert tree.transfer_efficiency.value == pytest.approx(ideal / total)
    longest = max(np.sum(work, axis=0))
    assert tree.serialization_efficiency.value == pytest.approx(longest / ideal)
    parts = (tree.load_balance.value, tree.communication_efficiency.value)
    assert parts[0] is not None
    assert parts[1] is not None
    assert tree.parallel_efficiency.value == parts[0] * parts[1]


def test_a_rank_whose_records_are_lost_from_the_start_gives_no_efficiency() -> None:
    builder = TraceBuilder(2, end_s=10.0)
    for number in (0, 1):
        builder.rank(number).init(1.0).finalize(9.0)
    builder.rank(1).set(detail_end_ns=10**9 // 2, dropped_records=100)
    tree = compute(builder.build()).efficiency
    assert tree.parallel_efficiency.value is None
    assert tree.load_balance.value is None
    reason = tree.parallel_efficiency.reason or ""
    assert "records were lost from before every rank had started" in reason
