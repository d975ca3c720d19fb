"""Clocks of several hosts: jobs whose true times are known, told by clocks that are wrong."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from perfscope.metrics.compute import compute
from perfscope.metrics.results import Results
from perfscope.readers import open_recording
from perfscope.readers.common.clocks import WALL_CLOCK_ERROR_NS, measure
from perfscope.trace.model import Rank, Trace
from perfscope.trace.moving import move
from tests.support.trace_builder import TraceBuilder
from tests.support.trace_invariants import check_trace
from tests.support.write_recording import REAL_START_NS, ProcessWriter, write_run

Times = npt.NDArray[np.int64]
LATENCY_S = 20e-6
NS = 1e-9


@dataclass(frozen=True)
class Job:
    """Rounds of work and one collective; host b works `late_s` longer than host a, with noise."""

    rounds: int = 200
    period_s: float = 0.1
    late_s: float = 0.02
    noise_s: float = 0.005
    ranks: int = 4
    hosts: tuple[str, ...] = ("a", "b")
    seed: int = 1

    def build(self, name: str = "MPI_Allreduce") -> Trace:
        random = np.random.default_rng(self.seed)
        end = self.rounds * self.period_s + 2.0
        builder = TraceBuilder(self.ranks, end_s=end, hosts=self.hosts)
        for turn in range(self.rounds):
            begin = 1.0 + turn * self.period_s
            enters = begin + random.uniform(0, self.noise_s, self.ranks)
            late = np.array([rank % len(self.hosts) == 1 for rank in range(self.ranks)])
            enters += self.late_s * late
            exits = enters.max() + LATENCY_S * random.exponential(1.0, self.ranks) + 5e-6
            for rank in range(self.ranks):
                builder.rank(rank).op(
                    name, float(enters[rank]), float(exits[rank]), sent=8, received=8
                )
        return in_domains(builder.build(), self.hosts)


def in_domains(trace: Trace, hosts: tuple[str, ...]) -> Trace:
    for rank in trace.ranks:
        rank.clock_domain = hosts.index(rank.host)
        rank.clock_error_ns = WALL_CLOCK_ERROR_NS if rank.clock_domain else 0
    return trace


def told_by(offset_s: float, drift_ppm: float = 0.0) -> Callable[[Times], Times]:
    """What a clock shows that is ahead by `offset_s` at the start and runs too fast."""

    def clock(moments: Times) -> Times:
        gained: Times = np.rint(moments * drift_ppm * 1e-6).astype(np.int64)
        return moments + round(offset_s * 1e9) + gained

    return clock


def distort(trace: Trace, domain: int, clock: Callable[[Times], Times]) -> None:
    for rank in trace.ranks:
        if rank.clock_domain == domain:
            move(rank, clock)


def farthest_s(trace: Trace, truth: Trace) -> float:
    """The largest difference between where an operation was put and where it was."""
    largest_ns = 0
    for found, true in zip(trace.ranks, truth.ranks, strict=True):
        for end in ("t0", "t1"):
            apart: Times = found.operations[end] - true.operations[end]
            largest_ns = max(largest_ns, int(np.abs(apart).max()))
    return largest_ns * NS


@pytest.mark.parametrize("late_s", [0.0, 0.02, -0.02])
@pytest.mark.parametrize("drift_ppm", [0.0, 50.0, -50.0])
@pytest.mark.parametrize("offset_s", [0.0, -0.003, 10.0, -10.0])
def test_offset_and_drift_are_recovered(offset_s: float, drift_ppm: float, late_s: float) -> None:
    job = Job(rounds=300, late_s=late_s)
    truth, trace = job.build(), job.build()
    distort(trace, 1, told_by(offset_s, drift_ppm))
    assert measure(trace.ranks) == []
    error_s = farthest_s(trace, truth)
    far = [rank for rank in trace.ranks if rank.clock_domain]
    assert error_s < 30e-6
    assert all(error_s <= rank.clock_error_ns * NS < 100e-6 for rank in far)
    assert all(rank.clock_offset_ns * NS == pytest.approx(-offset_s, abs=1e-4) for rank in far)
    assert all(rank.clock_drift_ppm == pytest.approx(-drift_ppm, abs=3) for rank in far)


def test_collectives_of_frameworks_tell_the_clocks_too() -> None:
    trace = Job().build("torch.distributed.all_reduce")
    distort(trace, 1, told_by(-2.0))
    assert measure(trace.ranks) == []
    assert trace.ranks[1].clock_offset_ns * NS == pytest.approx(2.0, abs=3e-5)


def test_ranks_of_one_clock_are_never_moved_against_each_other() -> None:
    job = Job()
    truth, trace = job.build(), job.build()
    distort(trace, 1, told_by(4.0, 50.0))
    measure(trace.ranks)
    for rank in (0, 2):
        np.testing.assert_array_equal(trace.ranks[rank].operations, truth.ranks[rank].operations)
        assert trace.ranks[rank].clock_error_ns == 0
    assert trace.ranks[1].clock_offset_ns == trace.ranks[3].clock_offset_ns
    moved = trace.ranks[1].operations["t0"] - truth.ranks[1].operations["t0"]
    beside = trace.ranks[3].operations["t0"] - truth.ranks[3].operations["t0"]
    assert np.abs(moved - beside).max() < 1000  # 50 ppm of some ms between their enters


def test_a_drift_that_changes_is_followed() -> None:
    """The clock of b is slewed by 50 ppm for half of the run and then no more."""
    job = Job(rounds=1200)
    truth, trace = job.build(), job.build()

    def clock(moments: Times) -> Times:
        gained: Times = np.minimum(moments, 60 * 10**9) // 20_000
        return moments + gained

    distort(trace, 1, clock)
    measure(trace.ranks)
    error_s = farthest_s(trace, truth)
    assert error_s < 200e-6
    assert error_s <= 1.5 * trace.ranks[1].clock_error_ns * NS


def test_wait_and_transfer_of_distorted_clocks() -> None:
    job = Job(rounds=100)
    trace = job.build()
    true = compute(alike(job.build()))
    distort(trace, 1, told_by(7.0, 20.0))
    measure(trace.ranks)
    found = compute(trace)
    wanted = true.communication.operations[0]
    operation = found.communication.operations[0]
    calls = operation.calls
    assert operation.wait_s is not None
    assert operation.transfer_s is not None
    assert wanted.wait_s is not None
    assert operation.wait_s / calls == pytest.approx(wanted.wait_s / calls, abs=3e-5)
    assert found.communication.clocks.reason == ""
    assert found.communication.clocks.violations <= 0.01 * calls


def alike(trace: Trace) -> Trace:
    """The same trace, as if all had read one clock."""
    for rank in trace.ranks:
        rank.clock_domain = rank.clock_error_ns = 0
    return trace


def messages(*, both_ways: bool, nonblocking: bool = False) -> Trace:
    builder = TraceBuilder(2, end_s=32.0, hosts=("a", "b"))
    for turn in range(100):
        at = 1.0 + 0.3 * turn
        ways = ((0, 1), (1, 0)) if both_ways else ((0, 1),)
        for source, target in ways:
            at += 0.1
            builder.rank(source).op("MPI_Send", at, at + 1e-5, peer=target, tag=1, sent=8)
            if nonblocking:
                request = 2 * turn + source + 1
                builder.rank(target).op("MPI_Irecv", at - 0.01, at - 0.009, request=request)
                builder.rank(target).op("MPI_Wait", at - 0.008, at + 3e-5, request=request)
                builder.rank(target).completion(
                    "MPI_Irecv", at + 3e-5, request, peer=source, tag=1, received=8
                )
            else:
                builder.rank(target).op("MPI_Recv", at - 0.01, at + 3e-5, peer=source, tag=1)
    return in_domains(builder.build(), ("a", "b"))


@pytest.mark.parametrize("nonblocking", [False, True])
def test_messages_in_both_directions_are_enough(nonblocking: bool) -> None:
    truth = messages(both_ways=True, nonblocking=nonblocking)
    trace = messages(both_ways=True, nonblocking=nonblocking)
    distort(trace, 1, told_by(-10.0, 50.0))
    assert measure(trace.ranks) == []
    error_s = farthest_s(trace, truth)
    assert error_s <= trace.ranks[1].clock_error_ns * NS + 1e-6
    assert trace.ranks[1].clock_error_ns < 100_000


def test_messages_in_one_direction_tell_no_offset() -> None:
    trace = messages(both_ways=False)
    distort(trace, 1, told_by(0.5))
    notes = measure(trace.ranks)
    assert len(notes) == 1
    assert "not by measurement" in notes[0]
    assert trace.ranks[1].clock_error_ns == WALL_CLOCK_ERROR_NS
    results = compute(trace)
    assert "the clocks may be wrong by 1" in results.communication.clocks.reason
    waits = {operation.name: operation.wait_s for operation in results.communication.operations}
    assert waits == {"MPI_Send": 0.0, "MPI_Recv": None}


def test_messages_bound_what_collectives_leave_open() -> None:
    """All exits of b are late by 3 ms; messages show by how much."""
    job = Job(rounds=60, noise_s=0.0)
    trace = job.build()
    for rank in trace.ranks:
        if rank.clock_domain:
            rank.operations["t1"] += 3_000_000
    without = measured_error_ns(trace)
    truth = messages(both_ways=True)
    merged = [with_operations(rank, truth.ranks[rank.number]) for rank in job.build().ranks[:2]]
    late = merged[1].operations["seq"] >= 0
    merged[1].operations["t1"][late] += 3_000_000
    moved = Trace(2, merged, wall_ns=1)
    distort(moved, 1, told_by(5.0))
    measure(moved.ranks)
    assert moved.ranks[1].clock_error_ns < 50_000 < without
    assert abs(moved.ranks[1].clock_offset_ns + 5 * 10**9) <= moved.ranks[1].clock_error_ns


def measured_error_ns(trace: Trace) -> int:
    measure(trace.ranks)
    return trace.ranks[1].clock_error_ns


def with_operations(rank: Rank, other: Rank) -> Rank:
    rows = np.concatenate([rank.operations, other.operations])
    rank.operations = rows[np.argsort(rows["t0"], kind="stable")]
    return rank


def test_hosts_that_meet_only_over_others() -> None:
    """Three hosts; the third one never meets the first."""
    builder = TraceBuilder(3, end_s=30.0, hosts=("a", "b", "c"))
    pairs = [(members, builder.communicator(members)) for members in ([0, 1], [1, 2])]
    for turn in range(60):
        for place, (members, comm) in enumerate(pairs):
            at = 1.0 + 0.4 * turn + 0.2 * place
            for rank in members:
                builder.rank(rank).op(
                    "MPI_Barrier", at + 0.01 * ((rank + turn) % 2), at + 0.01002, comm=comm
                )
    trace = in_domains(builder.build(), ("a", "b", "c"))
    distort(trace, 1, told_by(1.0))
    distort(trace, 2, told_by(-8.0))
    assert measure(trace.ranks) == []
    assert [round(rank.clock_offset_ns * NS, 4) for rank in trace.ranks] == [0.0, -1.0, 8.0]
    assert 0 < trace.ranks[1].clock_error_ns < trace.ranks[2].clock_error_ns < 100_000


def not_resolvable(results: Results) -> bool:
    split = [operation.wait_s for operation in results.communication.operations]
    reason = results.efficiency.transfer_efficiency.reason or ""
    known = results.efficiency.load_balance.value, results.efficiency.communication_efficiency.value
    return split == [None] * len(split) and "not resolvable" in reason and None not in known


def test_an_error_as_large_as_the_operations_leaves_nothing_to_tell() -> None:
    job = Job(late_s=0.0, noise_s=20e-6)
    trace = job.build()
    for rank in trace.ranks:
        rank.clock_error_ns = 500_000 * rank.clock_domain
    assert not_resolvable(compute(trace))


def test_contradictions_leave_nothing_to_tell() -> None:
    trace = Job().build()
    distort(trace, 1, told_by(0.01))
    for rank in trace.ranks:
        rank.clock_error_ns = 1000 * rank.clock_domain
    results = compute(trace)
    assert "the clocks contradict each other" in results.communication.clocks.reason
    assert results.communication.clocks.violations > 100
    assert not_resolvable(results)


def test_a_step_of_a_clock_is_noticed() -> None:
    """The clock of b jumps by 1 s in the middle, which no offset with a drift can undo."""
    trace = Job(rounds=300).build()
    distort(trace, 1, lambda t: t + np.where(t > 15 * 10**9, 10**9, 0))
    notes = measure(trace.ranks)
    assert any("every effect follows its cause" in note for note in notes)
    assert trace.ranks[1].clock_error_ns > 10**8
    found = compute(trace).efficiency.parallel_efficiency  # of a time that is a second too long
    assert found.value is None
    assert "the clocks contradict each other" in (found.reason or "")


def test_recordings_with_wrong_wall_clocks(tmp_path: Path) -> None:
    """The wall clock of the second host is 9 s ahead; the operations say otherwise."""
    for rank in (0, 1):
        process = ProcessWriter(rank=rank, size=2, host=f"node{rank}", boot_id=f"boot{rank}")
        process.communicator(0, 5, [0, 1])
        for turn in range(50):
            at = 1.0 + 0.1 * turn
            process.op("MPI_Barrier", at + 0.03 * rank, at + 0.03005)
        process.header["exit_ns"] = process.mono(8.0)
        process.header["real0_ns"] = REAL_START_NS + 9 * 10**9 * rank
        process.write(tmp_path)
    write_run(tmp_path, boot_id="boot0")
    trace = open_recording(tmp_path)
    check_trace(trace)
    assert trace.notes == []
    assert abs(trace.ranks[1].clock_offset_ns) < 100_000
    assert 0 < trace.ranks[1].clock_error_ns < 100_000
    waits = compute(trace).communication.wait_s_by_rank
    assert waits[0] == pytest.approx(50 * 0.03, abs=50 * 1e-4)
    assert trace.origin_unix_ns == REAL_START_NS - 500_000_000
