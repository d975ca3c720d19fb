"""The compiled replay of messages and collectives against plain programs."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.replay import oracle
from perfscope.metrics.compute import compute
from perfscope.metrics.results import Options
from perfscope.replay.extract import extract
from perfscope.replay.model import Edit
from perfscope.replay.program import Program, segment_lengths
from perfscope.replay.segments import SegmentReplay
from perfscope.trace.model import PEER_PROC_NULL
from tests.replay.message_programs import Spec, edited, programs, simulate, to_trace
from tests.support.trace_builder import TraceBuilder

NS = 1e-9


def replay_of(spec: Spec) -> SegmentReplay:
    return SegmentReplay(compute(to_trace(spec), Options()))


def program_of(spec: Spec) -> Program:
    return extract(compute(to_trace(spec), Options()))


@settings(max_examples=25, deadline=None)
@given(programs())
def test_unedited_replay_is_the_measured_run(spec: Spec) -> None:
    replay = replay_of(spec)
    assert replay.reason == ""
    assert replay.relative_error is not None
    assert replay.relative_error < 1e-12


@settings(max_examples=25, deadline=None)
@given(programs())
def test_ideal_network_is_the_simulation_without_transfer(spec: Spec) -> None:
    everyone = tuple(range(spec.ranks))
    ideal = simulate(edited(spec, transfer=0.0, ranks=everyone))
    assert replay_of(spec).ideal_runtime_s == pytest.approx(ideal * NS, abs=2e-9)


@settings(max_examples=25, deadline=None)
@given(programs(), st.sampled_from([0.0, 0.5, 2.0]), st.sampled_from([(0,), (1,), (0, 1)]))
def test_scaled_work_is_the_simulation_of_it(
    spec: Spec, factor: float, ranks: tuple[int, ...]
) -> None:
    before, after = simulate(spec), simulate(edited(spec, work=factor, ranks=ranks))
    prediction = replay_of(spec).predict([Edit(None, ranks, factor=factor)])
    assert prediction is not None
    assert prediction.gain_s == pytest.approx((before - after) * NS, abs=2e-9)


@settings(max_examples=25, deadline=None)
@given(programs())
def test_engine_agrees_with_plain_python(spec: Spec) -> None:
    """Also that segments between cuts replay independently: the oracle knows none."""
    program = program_of(spec)
    for transfer in (program.transfer_ns, oracle.without_transfer(program)):
        plain = oracle.replay(program, transfer_ns=transfer)
        lengths = segment_lengths(program, program.work, transfer)
        arrival, need, _ = program.engine.times(program.gaps_ns(program.work), transfer)
        assert lengths.sum() == plain.length
        assert arrival.tolist() == plain.arrival
        rows, arrived = np.arange(program.row_count, dtype=np.int32), np.array(plain.arrival)
        for units in (rows % 3, rows // 4 % 3):
            last = program.engine.last_arrivals(program.gaps_ns(program.work), transfer, units, 4)
            own = [arrived[units == unit].max(initial=0.0) for unit in range(3)]
            assert last.tolist() == [*own, 0.0]
        # ends wait for the last rank there, which the oracle leaves out
        inner = np.setdiff1d(np.arange(program.row_count), program.cut_rows[[0, -1]])
        assert need[inner].tolist() == [plain.need[row] for row in inner.tolist()]


def large_sends(lag_s: float, *, waits: bool) -> TraceBuilder:
    """Rank 0 sends 1 MiB, 40 times; rank 1 comes `lag_s` later, and the send waits or not."""
    builder = TraceBuilder(2, end_s=100.0)
    sender, receiver = builder.rank(0).init(1.0), builder.rank(1).init(1.0)
    for turn in range(40):
        start = 2.0 + 2 * turn
        came = start + lag_s
        sender.op(
            "MPI_Send", start, came + 0.1 if waits else start + 0.1, peer=1, tag=0, sent=1 << 20
        )
        receiver.op("MPI_Recv", came, came + 0.1, peer=0, tag=0, received=1 << 20)
        for rank in (sender, receiver):
            rank.op("MPI_Barrier", start + 1.5, start + 1.5)
    sender.finalize(99.0)
    receiver.finalize(99.0)
    return builder


def test_large_sends_wait_where_they_were_seen_to() -> None:
    """A faster receiver then helps the sender, too; an eager library would not care."""
    for waits in (True, False):
        results = compute(large_sends(1.0, waits=waits).build(), Options())
        program = extract(results)
        senders_need = np.diff(program.needs.need_starts)[program.row_rank == 0].sum()
        assert senders_need == (40 if waits else 0)


def test_polling_is_not_replayed() -> None:
    builder = TraceBuilder(2, end_s=10.0)
    for number in (0, 1):
        rank = builder.rank(number).init(1.0).finalize(9.0)
        rank.op("MPI_Barrier", 2.0 + number, 3.1)
    builder.rank(0).op("MPI_Iprobe", 4.0, 5.0, peer=1, tag=1)
    replay = SegmentReplay(compute(builder.build(), Options()))
    assert "asks for 1.00 s" in replay.reason


def test_messages_without_partner_are_counted() -> None:
    builder = TraceBuilder(2, end_s=10.0)
    for number in (0, 1):
        rank = builder.rank(number).init(1.0).finalize(9.0)
        rank.op("MPI_Barrier", 2.0 + number, 3.1)
    builder.rank(1).op("MPI_Recv", 4.0, 5.0, peer=0, tag=1)
    replay = SegmentReplay(compute(builder.build(), Options()))
    assert replay.reason == "1 message call without a partner, the first of MPI_Recv on rank 1"


@pytest.mark.parametrize("start", ["MPI_I{}", "MPI_Start_{}"])
def test_a_run_is_replayed_in_which_ranks_at_the_edge_exchange_with_nobody(start: str) -> None:
    """Rank 0 sends what it has worked 1 s for, five times; rank 1 works 0.2 s and waits for it."""
    send, receive = start.format("send"), start.format("recv")
    builder = TraceBuilder(2, end_s=8.0)
    first, last = (builder.rank(number).init(1.0).finalize(6.5) for number in range(2))
    for step in range(5):
        begin, end, odd, even = 1.0 + step, 2.0 + step, 2 * step + 1, 2 * step + 2
        first.op(send, end, end, peer=1, tag=1, sent=8, request=odd)
        first.op(receive, end, end, peer=PEER_PROC_NULL, request=even)
        first.op("MPI_Waitall", end, end, request=2)
        first.completion(send, end, odd).completion(receive, end, even, peer=PEER_PROC_NULL)
        last.op(send, begin, begin, peer=PEER_PROC_NULL, tag=1, request=odd)
        last.op(receive, begin, begin, peer=0, tag=1, request=even)
        last.op("MPI_Waitall", begin + 0.2, end, request=2)
        last.completion(send, end, odd).completion(receive, end, even, peer=0, tag=1)
    replay = SegmentReplay(compute(builder.build(), Options()))
    assert replay.reason == ""
    prediction = replay.predict([Edit(None, (0,), factor=0.5)])
    assert prediction is not None
    assert prediction.gain_s == pytest.approx(2.5)
