"""Edits of communication where other calls stand between the allreduces that they are of."""

from typing import Any

import numpy as np
import pytest

from perfscope.metrics.compute import compute
from perfscope.metrics.results import Options
from perfscope.replay.coupled import Hubs
from perfscope.replay.edit_parser import parse_edit
from perfscope.replay.model import Prediction, RefusedEditError
from perfscope.replay.program import Needs
from perfscope.replay.segments import SegmentReplay
from perfscope.schema.enums import PhaseKind
from tests.support.trace_builder import TraceBuilder

CALL_S = 10e-6
SIZES = (1 << 10, 1 << 13, 1 << 16, 1 << 20)
STEPS = 40
PHASES = ("forward", "backward", "optimizer")


def seconds_of(*sizes: int, ranks: int = 2) -> float:
    """Seconds that allreduces of these sizes take one after the other, without what is between."""
    return sum(200e-6 + 2 * (ranks - 1) / ranks * size * 4e-9 for size in sizes)


class Run:
    """Two ranks, each with a clock; what is recorded takes the time that it says."""

    def __init__(self) -> None:
        self._builder = TraceBuilder(2, end_s=1e3)
        self._messages = self.batches = 0
        self.clock = [1.0, 1.0]
        for rank in range(2):
            self._builder.rank(rank).init(1.0)

    def work(self, kind: PhaseKind, seconds: float, *ranks: int) -> None:
        for rank in ranks or (0, 1):
            begin, end = self.clock[rank], self.clock[rank] + seconds
            self._builder.rank(rank).phase(kind, begin, end)
            self.clock[rank] = end

    def meet(self, *sizes: int) -> None:
        """Allreduces in quick succession."""
        for place, size in enumerate(sizes):
            enter = [at + (CALL_S if place else 0.0) for at in self.clock]
            end = max(enter) + seconds_of(size)
            for rank in range(2):
                made = self._builder.rank(rank)
                made.op("MPI_Allreduce", enter[rank], end, sent=size, received=size)
            self.clock = [end, end]

    def take(self, service_s: float) -> None:
        """Each rank takes a batch from a queue of its own, into which one comes every so often."""
        self.batches += 1
        for rank, at in enumerate(self.clock):
            made = self._builder.rank(rank)
            put = 1.0 + self.batches * service_s
            got = max(at + CALL_S, put)
            made.queue(put, put, depth=1000, is_get=False, tid=made.main_tid + 1)
            made.queue(at, got, depth=1000, is_get=True)
            made.phase(PhaseKind.INPUT, at, got)
            self.clock[rank] = got

    def message(self) -> None:
        """From the first rank to the second, who come at the same time: it takes none."""
        self._messages += 1
        tag = self._messages
        self.call(0, "MPI_Send", self.clock[0], peer=1, tag=tag, sent=8)
        self.call(1, "MPI_Recv", self.clock[1], peer=0, tag=tag, received=8)

    def call(self, rank: int, name: str, until: float, **columns: Any) -> None:
        self._builder.rank(rank).op(name, self.clock[rank], until, **columns)
        self.clock[rank] = until

    def complete(self, rank: int, name: str, request: int, **columns: int) -> None:
        """A wait that ends now."""
        at = self.clock[rank]
        self._builder.rank(rank).completion(name, at, request, **columns)

    def replayed(self) -> SegmentReplay:
        for rank in range(2):
            self._builder.rank(rank).finalize(max(self.clock))
        found = SegmentReplay(compute(self._builder.build(), Options()))
        assert found.available, found.reason
        return found


def told(replay: SegmentReplay, *texts: str) -> Prediction:
    edits = [parse_edit(text, ranks=range(2), phases=PHASES).edit for text in texts]
    prediction = replay.predict(edits)
    assert prediction is not None
    return prediction


def with_a_posted_receive() -> SegmentReplay:
    """A large send ends when its receiver, who works for 20 ms, comes to the first allreduce."""
    run = Run()
    for step in range(STEPS):
        request, arrival = step + 1, run.clock[1] + 0.02
        run.call(1, "MPI_Irecv", run.clock[1], peer=0, tag=step, received=1 << 20, request=request)
        run.work(PhaseKind.FORWARD, 0.02, 1)
        run.work(PhaseKind.FORWARD, 0.001, 0)
        run.call(0, "MPI_Isend", run.clock[0], peer=1, tag=step, sent=1 << 20, request=request)
        run.call(0, "MPI_Wait", arrival, request=1)
        run.complete(0, "MPI_Isend", request, peer=1, tag=step)
        run.work(PhaseKind.FORWARD, 0.01, 0)
        run.meet(*SIZES)
        run.call(1, "MPI_Wait", run.clock[1], request=1)
        run.complete(1, "MPI_Irecv", request, peer=0, tag=step, received=1 << 20)
        run.work(PhaseKind.OPTIMIZER, 0.005)
    return run.replayed()


def test_who_waited_for_a_rank_to_come_to_a_fused_call_still_does() -> None:
    each = seconds_of(*SIZES) + 3 * CALL_S - seconds_of(sum(SIZES))
    assert told(with_a_posted_receive(), "fuse:64M").gain_s == pytest.approx(STEPS * each, rel=0.01)


def test_a_call_in_between_parts_a_group_and_does_not_dissolve_it() -> None:
    run, small = Run(), [1 << 10] * 10
    for _ in range(STEPS):
        run.work(PhaseKind.FORWARD, 0.02)
        run.meet(*SIZES, *small)
        run.message()
        run.meet(*small)
        run.work(PhaseKind.OPTIMIZER, 0.005)
    two = seconds_of(sum((*SIZES, *small)), sum(small))
    each = seconds_of(*SIZES, *small, *small) + 22 * CALL_S - two
    assert told(run.replayed(), "fuse:64M").gain_s == pytest.approx(STEPS * each, rel=0.01)


def test_a_backward_pass_does_not_last_beyond_other_work() -> None:
    """The second allreduce follows 5 ms of other work, in front of a call that is no cut."""
    run = Run()
    for _ in range(STEPS):
        run.work(PhaseKind.BACKWARD, 0.02)
        run.meet(1 << 10)
        run.work(PhaseKind.OPTIMIZER, 0.005)
        run.message()
        run.work(PhaseKind.FORWARD, CALL_S)
        run.meet(1 << 20)
    each = seconds_of(1 << 10)
    assert told(run.replayed(), "overlap").gain_s == pytest.approx(STEPS * each, rel=0.01)


def test_a_backward_pass_counts_in_front_of_a_call_that_is_no_cut() -> None:
    run = Run()
    for _ in range(STEPS):
        run.work(PhaseKind.FORWARD, 0.01)
        run.work(PhaseKind.BACKWARD, 0.02)
        run.message()
        run.meet(1 << 20)
    gain_s = told(run.replayed(), "overlap").gain_s
    assert gain_s == pytest.approx(STEPS * seconds_of(1 << 20), rel=0.01)


def with_a_backward_pass(seconds: float) -> SegmentReplay:
    run = Run()
    for _ in range(STEPS):
        run.work(PhaseKind.FORWARD, 0.01)
        run.work(PhaseKind.BACKWARD, seconds)
        run.meet(*SIZES)
        run.work(PhaseKind.OPTIMIZER, 0.005)
    return run.replayed()


def test_a_fused_allreduce_hides_behind_the_pass_in_front_of_the_first() -> None:
    gain_s = told(with_a_backward_pass(0.02), "fuse:64M", "overlap").gain_s
    assert gain_s == pytest.approx(STEPS * (seconds_of(*SIZES) + 3 * CALL_S), rel=0.01)


def test_a_pass_hides_no_more_for_being_named_twice() -> None:
    replay = with_a_backward_pass(0.002)
    once = told(replay, "overlap").gain_s
    assert once == pytest.approx(STEPS * 0.002, rel=0.01)
    assert told(replay, "overlap", "overlap").gain_s == pytest.approx(once)
    assert told(replay, "overlap:0.2", "overlap:0.1").gain_s == pytest.approx(
        told(replay, "overlap:0.3").gain_s
    )


def test_nothing_is_left_to_hide_on_a_network_without_transfer() -> None:
    replay = with_a_backward_pass(0.02)
    gain_s = told(replay, "network:inf", "overlap").gain_s
    assert gain_s == pytest.approx(told(replay, "network:inf").gain_s)


def test_fusing_leaves_queues_alone_where_that_takes_too_long(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Fused calls are no cuts, so that a run of cuts becomes one to be replayed call by call."""
    run = Run()
    for _ in range(STEPS):
        run.take(0.025)
        run.work(PhaseKind.FORWARD, 0.01)
        run.meet(*SIZES)
    replay = run.replayed()
    fed = told(replay, "fuse:64M")
    assert any("queues of 2 of 2 ranks are replayed" in text for text in fed.assumptions)
    assert fed.gain_s == pytest.approx(0.0, abs=0.02)  # batches do not come sooner
    monkeypatch.setattr("perfscope.replay.coupled.MOST_ROWS", 0)
    blind = told(run.replayed(), "fuse:64M")
    assert any("not modeled" in text for text in blind.assumptions)
    each = seconds_of(*SIZES) + 3 * CALL_S - seconds_of(sum(SIZES))
    assert blind.gain_s == pytest.approx(STEPS * each, rel=0.02)
    with pytest.raises(RefusedEditError, match="too many calls"):
        told(replay, "fuse:64M", "producers:2")
    assert told(replay, "producers:2").gain_s > 0.0


def test_a_long_chain_of_scan_members_is_followed() -> None:
    """Each hub of a scan goes on from the one before; 5,000 deep is beyond a recursion."""
    count = 5000
    hubs = np.arange(count)
    starts = np.arange(count + 1)
    needs = Needs(starts, hubs, hubs - 1, np.zeros(count + 1, np.int64), np.empty(0, np.int64))
    segment = np.zeros(count, np.int32)
    segment[7] = 3  # it arrived before the cut
    found = Hubs(needs, segment, 0)
    arrival = {row: float(row) for row in range(count - 1) if row != 7}
    assert found.latest(count - 1, arrival) is None
    assert found.latest(8, arrival) == 8.0
    arrival[count - 1] = 1.0
    assert found.latest(count - 1, arrival) == count - 2


def test_bytes_of_a_nonblocking_collective_are_refused() -> None:
    """Its time lies in MPI_Wait, of which nobody knows how much is transfer."""
    run = Run()
    for step in range(STEPS):
        run.work(PhaseKind.FORWARD, 0.01)
        for rank in range(2):
            run.call(rank, "MPI_Iallreduce", run.clock[rank], request=step + 1, sent=1 << 22)
            run.call(rank, "MPI_Wait", run.clock[rank] + seconds_of(1 << 22), request=1)
            run.complete(rank, "MPI_Iallreduce", step + 1)
        run.meet(*SIZES)
    replay = run.replayed()
    for text in ("bytes:0.5", "bytes:0.5@iallreduce"):
        with pytest.raises(RefusedEditError, match="MPI_Iallreduce is nonblocking"):
            told(replay, text)
    each = seconds_of(*SIZES) - seconds_of(*(size // 2 for size in SIZES))
    gain_s = told(replay, "bytes:0.5@allreduce").gain_s
    assert gain_s == pytest.approx(STEPS * each, rel=0.01)
