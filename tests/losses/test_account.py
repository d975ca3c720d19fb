"""The loss account is a partition on every run, and names causes that were made on purpose."""

import pytest
from hypothesis import given, settings

from perfscope.losses.account import loss_account
from perfscope.losses.entry import Entry, LossAccount, Saving
from perfscope.metrics.compute import compute
from perfscope.metrics.results import Options
from perfscope.replay.segments import SegmentReplay
from perfscope.schema.enums import Account, LossKind, LossPattern, PhaseKind
from perfscope.trace.model import Trace
from tests.replay.message_programs import Spec as Messages
from tests.replay.message_programs import programs as message_programs
from tests.replay.message_programs import to_trace as message_trace
from tests.support.random_traces import traces
from tests.support.trace_builder import TraceBuilder

STEPS = 40
STEP_S = 0.1


def account_of(trace: Trace) -> LossAccount:
    results = compute(trace, Options())
    return loss_account(results, SegmentReplay(results))


def check_partition(account: LossAccount) -> None:
    assert sum(entry.ns for entry in account.entries) == account.lost_ns
    assert all(entry.own_ns >= 0 and entry.waiting_ns >= 0 for entry in account.entries)
    assert 0 <= account.training_ns <= account.window_ns <= account.life_ns


@settings(max_examples=30, deadline=None)
@given(traces())
def test_entries_are_the_lost_time_of_any_trace(trace: Trace) -> None:
    check_partition(account_of(trace))


@settings(max_examples=40, deadline=None)
@given(message_programs())
def test_all_waiting_of_a_random_program_is_charged(spec: Messages) -> None:
    trace = message_trace(spec)
    results = compute(trace, Options())
    account = loss_account(results, SegmentReplay(results))
    check_partition(account)
    wait = list(Account).index(Account.COMMUNICATION_WAIT)
    assert sum(entry.waiting_ns for entry in account.entries) == int(results.ledger.ns[wait].sum())


def training(extra: dict[tuple[int, int], float], kind: PhaseKind = PhaseKind.TRAIN) -> Trace:
    """Two ranks that train 50 ms a step, (step, rank) longer or less; then all meet."""
    builder = TraceBuilder(2, end_s=60.0)
    at = 1.0
    ranks = [builder.rank(number).init(1.0) for number in (0, 1)]
    for step in range(STEPS):
        done = [at + 0.05 + extra.get((step, rank), 0.0) for rank in (0, 1)]
        end = max(done) + 0.001
        for number, rank in enumerate(ranks):
            rank.phase(PhaseKind.TRAIN, at, min(done[number], at + 0.05))
            if done[number] > at + 0.05:
                rank.phase(kind, at + 0.05, done[number])
            rank.op("MPI_Allreduce", done[number], end, sent=8, received=8)
            rank.step(step, at, end)
        at = end
    for rank in ranks:
        rank.finalize(at)
    return builder.build()


def largest(trace: Trace, kind: LossKind) -> Entry:
    found = account_of(trace)
    check_partition(found)
    return next(entry for entry in found.entries if entry.cause.kind is kind)


def test_a_rank_that_is_always_slower() -> None:
    entry = largest(training({(step, 1): 0.02 for step in range(STEPS)}), LossKind.WAITING)
    assert entry.pattern is LossPattern.STATIC
    assert entry.ranks == (1,)
    assert entry.steps == (0, STEPS - 1)
    assert entry.waiting_ns == pytest.approx(STEPS * 0.02e9, rel=1e-6)


@pytest.mark.parametrize(("sampled_at", "place"), [([0.07], "evaluate"), ([], None)])
def test_a_loss_is_where_samples_inside_of_it_are(
    sampled_at: list[float], place: str | None
) -> None:
    """A sample from before an evaluation, whose stack speaks for its first part, names no place."""
    builder = TraceBuilder(1, end_s=8.0)
    rank = builder.rank(0)
    for epoch in range(5):
        at = 1.0 + epoch
        rank.phase(PhaseKind.TRAIN, at, at + 0.9).step(epoch, at, at + 0.9)
        rank.phase(PhaseKind.EVALUATE, at + 0.9, at + 1.0)
        for moment in (0.2, 0.5, 0.89):
            rank.stack(at + moment, [("train", "/job/train.py", 5)])
        for moment in sampled_at:
            rank.stack(at + 0.9 + moment, [("evaluate", "/job/train.py", 70)])
    found = account_of(builder.build())
    (entry,) = [one for one in found.entries if one.cause.account is Account.EVALUATION]
    assert (entry.frame and entry.frame.function) == place


def test_a_rank_that_is_slower_for_a_while() -> None:
    entry = largest(training({(step, 0): 0.02 for step in range(10, 26)}), LossKind.WAITING)
    assert (entry.pattern, entry.ranks, entry.steps) == (LossPattern.WINDOW, (0,), (10, 25))


@pytest.mark.parametrize("first", [5, 10], ids=["most of the run", "a part of it"])
def test_work_that_shifts_to_a_rank_is_dealt_out_again(first: int) -> None:
    """What the late rank does more of the other one does less of: half of the difference is won."""
    shifted = {(step, 0): 0.02 for step in range(first, 26)}
    shifted |= {(step, 1): -0.02 for step in range(first, 26)}
    entry = largest(training(shifted), LossKind.WAITING)
    assert (entry.pattern, entry.ranks) == (LossPattern.SHIFTING, (0,))
    assert isinstance(entry.saving, Saving)
    assert entry.saving.seconds == pytest.approx((26 - first) * 0.02, rel=1e-6)


def test_a_rank_that_is_slower_while_both_have_less_to_do_is_just_slower() -> None:
    slower = {(step, 0): 0.04 for step in range(10, 26)}
    slower |= {(step, 1): -0.01 for step in range(10, 26)}
    assert largest(training(slower), LossKind.WAITING).pattern is LossPattern.WINDOW


def test_another_rank_each_step_in_turn() -> None:
    late = {(step, step % 2): 0.02 for step in range(STEPS)}
    entry = largest(training(late), LossKind.WAITING)
    assert entry.pattern is LossPattern.ALTERNATING
    assert sorted(entry.ranks) == [0, 1]


def test_what_one_rank_does_alone_holds_its_time_and_that_of_those_who_wait() -> None:
    alone = {(step, 0): 0.4 for step in (9, 19, 29, 39)}
    entry = largest(training(alone, PhaseKind.EVALUATE), LossKind.OTHER_WORK)
    assert entry.cause.account is Account.EVALUATION
    assert (entry.pattern, entry.ranks) == (LossPattern.BURSTS, (0,))
    assert entry.own_ns == pytest.approx(4 * 0.4e9, abs=2)
    assert entry.waiting_ns == pytest.approx(4 * 0.4e9, rel=1e-6)


def test_stages_of_a_pipeline_take_turns() -> None:
    builder = TraceBuilder(2, end_s=60.0)
    first, second = (builder.rank(number).init(1.0) for number in (0, 1))
    at = 1.0
    for step in range(STEPS):
        half, end = at + 0.05, at + 0.1
        first.phase(PhaseKind.TRAIN, at, half)
        first.op("MPI_Send", half, half, peer=1, tag=1, sent=8)
        second.op("MPI_Recv", at, half, peer=0, tag=1, received=8)
        second.phase(PhaseKind.TRAIN, half, end)
        for rank, came in ((first, half), (second, end)):
            rank.op("MPI_Allreduce", came, end, sent=8, received=8)
            rank.step(step, at, end)
        at = end
    first.finalize(at)
    second.finalize(at)
    found = account_of(builder.build())
    check_partition(found)
    waiting = [entry for entry in found.entries if entry.cause.kind is LossKind.WAITING]
    assert {entry.pattern for entry in waiting} == {LossPattern.SERIAL}
    assert sum(entry.ns for entry in waiting) == pytest.approx(STEPS * 0.1e9, rel=1e-6)


def test_a_run_that_cannot_be_replayed_is_told_by_who_came_last() -> None:
    builder = TraceBuilder(2, end_s=10.0)
    for number in (0, 1):
        rank = builder.rank(number).init(1.0).finalize(9.0)
        rank.op("MPI_Allreduce", 2.0 + number, 3.5, sent=8, received=8)
        rank.op("MPI_Win_fence", 5.0, 6.0)
    results = compute(builder.build(), Options())
    replay = SegmentReplay(results)
    assert not replay.available
    found = loss_account(results, replay)
    check_partition(found)
    (waiting,) = [one for one in found.entries if one.waiting_ns]
    assert (waiting.ranks, waiting.waiting_ns) == ((1,), 10**9)
