"""Exposed communication in closed form: readiness of the ranks, one reduction a step."""

from dataclasses import replace

import numpy as np
import pytest

from perfscope.attribution.exposed import with_exposed_communication
from perfscope.metrics.communication.horovod import NO_BITS
from perfscope.metrics.compute import compute
from perfscope.metrics.results import Results
from perfscope.replay.segments import SegmentReplay
from perfscope.schema.enums import Account, PhaseKind
from perfscope.schema.horovod import FusionBytes
from perfscope.trace import model
from perfscope.trace.model import OPERATION_DTYPE, Rank, Trace
from perfscope.trace.operations import HOROVOD_CONTROL, HOROVOD_EXPOSED, code_of
from perfscope.trace.tensors import READINESS_DTYPE
from tests.support.trace_builder import TraceBuilder, to_ns

STEPS = 10
STEP_S = 1.0
READY_S = (0.3, 0.5)  # within the step, by rank
REDUCED_S = 0.6
THREAD = 77


def call(name: str, start_s: float, end_s: float, seq: int, sent: int) -> tuple[object, ...]:
    return (to_ns(start_s), to_ns(end_s), code_of(name), 0, THREAD, 0, seq, -1, -1, sent, sent, 0)


def with_horovod(rank: Rank, *, has_bits: bool = True, early: bool = False) -> Rank:
    """A rank whose Horovod thread reduces once a step, and `early` in mid-step as well."""
    calls, ready = [], []
    ready_s = READY_S[rank.number]
    cycles = (to_ns(0.6), to_ns(0.7), HOROVOD_CONTROL, 2, THREAD, 0, -1, -1, -1, 0, 1000, 50)
    for step in range(STEPS):
        begin = 1.0 + step * STEP_S
        if early:
            ready.append((to_ns(begin + 0.1), to_ns(begin + 0.12), THREAD, 0, 1, 1, False))
            calls.append(call("MPI_Allreduce", begin + 0.15, begin + 0.2, 2 * step, 100))
        ready.append((to_ns(begin + ready_s), to_ns(begin + 0.51), THREAD, 0, 2, 2, False))
        calls.append(call("MPI_Allreduce", begin + 0.55, begin + REDUCED_S, 2 * step + 1, 4000))
    rows = np.array([cycles, *calls], OPERATION_DTYPE)
    bits = np.array(ready if has_bits else [], READINESS_DTYPE)
    return replace(rank, background=np.sort(rows, order="t0"), readiness=bits)


def job(
    *,
    has_bits: bool = True,
    early: bool = False,
    calls_per_step: int = 1,
    is_waiting: bool = False,
    returns_s: float = 0.22,
    is_seen: bool = True,
) -> Trace:
    builder = TraceBuilder(2, end_s=13.0)
    for number in (0, 1):
        rank = builder.rank(number).init(0.5).finalize(12.0)
        for _step, begin in rank.steps(STEPS, STEP_S):
            if is_waiting:
                rank.phase(PhaseKind.USER, begin + 0.05, begin + returns_s, name="hvd.allreduce")
                waits = ("horovod.torch.wait" if is_seen else "compile", "<built-in>", 0)
                rank.stack(begin + 0.06, [("main", "/job/train.py", 3), waits])
            if calls_per_step > 1:
                rank.phase(PhaseKind.TRAIN, begin + 0.05, begin + 0.22, name="first")
                rank.phase(PhaseKind.TRAIN, begin + 0.25, begin + 0.7, name="second")
    trace = builder.build()
    ranks = [with_horovod(rank, has_bits=has_bits, early=early) for rank in trace.ranks]
    return replace(trace, ranks=ranks)


def seconds(results: Results, account: Account) -> list[float]:
    spent: list[float] = (results.ledger.ns[list(Account).index(account)] / 1e9).tolist()
    return spent


@pytest.mark.parametrize("early", [False, True])
def test_wait_ends_with_the_slowest_rank(early: bool) -> None:
    results = compute(job(early=early))
    assert results.horovod is not None
    exposed = results.horovod.exposed
    assert exposed.reason is None
    assert exposed.step_wait_s is not None
    assert exposed.step_transfer_s is not None
    # what is reduced while a rank still computes is hidden, so `early` changes nothing
    assert exposed.step_wait_s == pytest.approx(np.tile([0.2, 0.0], (STEPS, 1)))
    assert exposed.step_transfer_s == pytest.approx(np.tile([0.1, 0.1], (STEPS, 1)))
    assert seconds(results, Account.COMMUNICATION_WAIT) == pytest.approx([2.0, 0.0])
    assert seconds(results, Account.COMMUNICATION_TRANSFER) == pytest.approx([1.0, 1.0])
    assert results.communication.wait_s_by_rank == pytest.approx((2.0, 0.0))
    [late] = results.communication.late_arrivals
    assert (late.rank, late.instances) == (1, STEPS)
    assert late.waiting_s == pytest.approx(2.0)


def test_the_run_can_be_replayed() -> None:
    replay = SegmentReplay(compute(job()))
    assert replay.available, replay.reason
    assert replay.relative_error == pytest.approx(0.0, abs=1e-9)
    # without transfer each step is as long as the slower rank works
    assert replay.ideal_runtime_s == pytest.approx(11.5 - STEPS * 0.1)


def test_each_training_call_of_a_step_exposes_its_own() -> None:
    results = compute(job(early=True, calls_per_step=2))
    assert results.horovod is not None
    exposed = results.horovod.exposed
    # ready at 0.1 on both, reduced at 0.2; then as before
    assert exposed.wait_s == pytest.approx((2.0, 0.0))
    assert exposed.transfer_s == pytest.approx((2.0, 2.0))


def test_a_call_that_the_program_waits_in_is_exposed_as_a_whole() -> None:
    """From 0.05, where the call begins, to 0.22; ready on both at 0.1 by what Horovod has seen."""
    trace = job(early=True, is_waiting=True)
    results = compute(trace)
    assert results.horovod is not None
    exposed = results.horovod.exposed
    assert exposed.transfer_s == pytest.approx((2.7, 2.7))
    assert exposed.wait_s == pytest.approx((2.0, 0.0))
    first = [rank.operations for rank in with_exposed_communication(trace).ranks]
    for rows in first:
        own = rows[rows["op"] == HOROVOD_EXPOSED]
        assert len(own) == 2 * STEPS
        assert np.all(own["t0"][1:] >= own["t1"][:-1])


def test_of_a_call_that_does_something_else_only_the_wait_is_exposed() -> None:
    results = compute(job(early=True, is_waiting=True, is_seen=False))
    assert results.horovod is not None
    assert results.horovod.exposed.transfer_s == pytest.approx((2.0, 2.0))  # from 0.1 to 0.2


def test_a_call_that_returns_before_its_reduction_is_over_hides_it() -> None:
    results = compute(job(early=True, is_waiting=True, returns_s=0.17))
    assert results.horovod is not None
    assert results.horovod.exposed.transfer_s == pytest.approx((1.0, 1.0))


def test_the_thread_is_a_location_of_its_own() -> None:
    results = compute(job(early=True))
    assert results.horovod is not None
    [first, _] = results.horovod.locations
    assert first.data_s == pytest.approx(STEPS * 0.1)
    assert first.control_s == pytest.approx(1e-6)
    whole = first.data_s + first.control_s + first.other_s + first.idle_s
    assert whole == pytest.approx(results.focus.length_ns / 1e9)
    assert first.control_cycles == 50
    assert first.data_calls == {"MPI_Allreduce": 2 * STEPS}
    assert first.fusion_bytes == FusionBytes(2 * STEPS, 100, 2050.0, 4000)
    operations = {operation.name for operation in results.communication.operations}
    assert "Horovod (exposed)" in operations


def test_without_readiness_there_is_a_reason_and_no_number() -> None:
    results = compute(job(has_bits=False))
    assert results.horovod is not None
    assert results.horovod.exposed.reason == NO_BITS
    assert seconds(results, Account.COMMUNICATION_WAIT) == [0.0, 0.0]


def test_a_run_without_horovod_is_left_alone() -> None:
    trace = TraceBuilder(2, end_s=3.0).build()
    assert with_exposed_communication(trace) is trace
    assert compute(trace).horovod is None


def test_exposed_rows_lie_on_the_main_location_and_apart_from_each_other() -> None:
    trace = with_exposed_communication(job(early=True))
    for rank in trace.ranks:
        rows = rank.operations[rank.operations["op"] == HOROVOD_EXPOSED]
        assert len(rows) == STEPS
        assert set(rows["tid"].tolist()) == {rank.main_tid}
        assert np.all(rows["t0"][1:] >= rows["t1"][:-1])
        assert set(rows["sent"].tolist()) == {4100}
        assert np.all(rows["peer"] == model.PEER_NONE)
    assert with_exposed_communication(trace) is trace


def without_calls(trace: Trace, number: int, chosen: slice) -> Trace:
    """The trace in which the Horovod thread of a rank did not record some of its reductions."""
    rank = trace.ranks[number]
    data = np.flatnonzero(rank.background["op"] != HOROVOD_CONTROL)[chosen]
    kept = replace(rank, background=np.delete(rank.background, data))
    ranks = [kept if other is rank else other for other in trace.ranks]
    return replace(trace, ranks=ranks)


def test_reductions_that_a_rank_did_not_record_are_counted() -> None:
    """Rank 1 lacks the last three: three of rank 0 have no partner, seven are exposed as ever."""
    whole = compute(job())
    assert whole.communication.unmatched == {}
    cut = compute(without_calls(job(), 1, slice(-3, None)))
    assert cut.communication.unmatched == {"MPI_Allreduce (Horovod)": 3}
    assert cut.horovod is not None
    assert cut.horovod.exposed.transfer_s == pytest.approx((0.7, 0.7))


def test_where_no_reduction_is_on_all_ranks_every_call_is_counted() -> None:
    """The first half on rank 0 and the other half on rank 1 are ten calls and no reduction."""
    half = without_calls(job(), 0, slice(STEPS // 2, None))
    none = compute(without_calls(half, 1, slice(0, STEPS // 2)))
    assert none.communication.unmatched == {"MPI_Allreduce (Horovod)": STEPS}
    # without readiness nothing is matched at all, and that is said elsewhere
    assert compute(job(has_bits=False)).communication.unmatched == {}
