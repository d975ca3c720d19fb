"""Input queues: a run whose exact answer follows from the recurrence of producer and consumer."""

from dataclasses import dataclass, replace
from functools import cache

import numpy as np
import pytest

from perfscope.metrics.compute import compute
from perfscope.metrics.results import Options
from perfscope.replay.model import Edit, RefusedEditError
from perfscope.replay.producers import Gets, learned_depth, mean_service_ns
from perfscope.replay.segments import SegmentReplay
from perfscope.schema.enums import Account, PhaseKind
from perfscope.trace.model import Trace
from tests.support.trace_builder import TraceBuilder

EVALUATION = Edit(Account.EVALUATION)
INIT_S = 1.0


@dataclass(frozen=True)
class Plan:
    """Ranks that take batches from queues of their own; one evaluates while its queue refills."""

    ranks: int = 3
    steps: int = 120
    depth: int = 6
    service_s: float = 0.118
    spread: float = 0.25  # standard deviation of a batch's time over the mean
    compute_s: float = 0.1
    allreduce_s: float = 0.01
    evaluate_s: float = 0.5
    evaluate_every: int = 5
    producers: int = 1
    overhead_s: float = 0.0001  # of a get whose batch is there
    records_puts: bool = True
    broadcasts: bool = True  # a call that is no cut, in every step
    messages: bool = False
    loader: tuple[int, int] | None = None  # workers and prefetch factor that the program tells
    queued: float | None = None  # seconds that threads wait for CPUs, per second; None: not seen
    seed: int = 1


def length_of(plan: Plan, builder: TraceBuilder | None = None) -> float:
    """Seconds of the run, from put_k = max(put_{k-1} + s_k, get_{k-Q}), get_k = max(t, put_k)."""
    random = np.random.default_rng(plan.seed)
    shape = 1.0 / plan.spread**2
    service = random.gamma(shape, plan.service_s / shape, (plan.ranks, plan.steps + 9)).tolist()
    free = [
        [INIT_S + service[rank].pop() for _ in range(plan.producers)] for rank in range(plan.ranks)
    ]
    got = np.zeros((plan.steps, plan.ranks))
    clock = INIT_S
    for step in range(plan.steps):
        arrived = np.empty(plan.ranks)
        for rank in range(plan.ranks):
            maker = int(np.argmin(free[rank]))  # who has its batch ready first
            ready = free[rank][maker]
            put = max(ready, got[step - plan.depth, rank] if step >= plan.depth else -np.inf)
            free[rank][maker] = put + service[rank].pop()
            got[step, rank] = max(clock + plan.overhead_s, put)
            work = got[step, rank] + plan.compute_s
            evaluates = rank == 0 and plan.evaluate_s and (step + 1) % plan.evaluate_every == 0
            arrived[rank] = work + (plan.evaluate_s if evaluates else 0.0)
            if builder is None:
                continue
            made = builder.rank(rank)
            if plan.records_puts:
                tid = made.main_tid + 1 + maker
                made.queue(ready, put, depth=plan.depth, is_get=False, tid=tid)
                made.queue(clock, got[step, rank], depth=plan.depth, is_get=True)
            made.phase(PhaseKind.INPUT, clock, got[step, rank])
            made.phase(PhaseKind.FORWARD, got[step, rank], work)
            if evaluates:
                made.phase(PhaseKind.EVALUATE, work, arrived[rank])
        clock = float(arrived.max()) + plan.allreduce_s
        for rank in range(plan.ranks if builder else 0):
            assert builder is not None
            builder.rank(rank).op("MPI_Allreduce", arrived[rank], clock, sent=8, received=8)
        if plan.broadcasts and builder:
            for rank in range(plan.ranks):
                builder.rank(rank).op("MPI_Bcast", clock, clock, peer=0, sent=8, received=8)
    return clock - INIT_S


def recorded(plan: Plan) -> Trace:
    builder = TraceBuilder(plan.ranks, end_s=1e6)
    for rank in range(plan.ranks):
        builder.rank(rank).init(INIT_S)
    end = INIT_S + length_of(plan, builder)
    for rank in range(plan.ranks):
        for tick in range(int(end * 10) if plan.queued is not None else 0):
            at = tick * 0.1
            builder.rank(rank).process_sample(at, cpu_s=at, queue_delay_s=at * (plan.queued or 0.0))
        builder.rank(rank).finalize(end)
        builder.rank(rank).end_s = end + 0.1
        if plan.loader:
            made = {"workers": plan.loader[0], "prefetch_factor": plan.loader[1]}
            builder.rank(rank).set(metadata={"frameworks": {"torch": {"loaders": [made]}}})
    return builder.build()


@cache
def replayed(plan: Plan) -> SegmentReplay:
    found = SegmentReplay(compute(recorded(plan), Options()))
    assert found.available, found.reason
    return found


def gain_s(plan: Plan, *edits: Edit) -> float:
    prediction = replayed(plan).predict(edits)
    assert prediction is not None
    return prediction.gain_s


PLANS = {
    "slow producers": Plan(),
    "fast producers": Plan(service_s=0.09),
    "only cuts": Plan(broadcasts=False),
    "two producers": Plan(producers=2, service_s=0.23),
    "a queue of one": Plan(depth=1),
}


@pytest.mark.parametrize("name", PLANS)
def test_a_run_without_evaluation_takes_what_the_recurrence_says(name: str) -> None:
    plan = PLANS[name]
    without = replace(plan, evaluate_s=0.0)
    given_back = length_of(plan) - length_of(without)
    # two producers change places when they have time: which one makes which batch is kept
    near = 1e-6 if plan.producers == 1 else 0.01
    assert gain_s(plan, EVALUATION) == pytest.approx(given_back, abs=near * length_of(plan))
    assert replayed(plan).relative_error == pytest.approx(0.0, abs=1e-9)


def test_without_the_coupling_refill_is_mistaken_for_gain() -> None:
    plan = Plan()
    true = length_of(plan) - length_of(replace(plan, evaluate_s=0.0))
    found = replayed(plan)
    blind = SegmentReplay(compute(recorded(plan), Options()))
    blind.__dict__["_queues"] = ()
    told = blind.predict([EVALUATION])
    assert told is not None
    assert (told.gain_s - true) / (length_of(plan) - true) > 0.07  # of the predicted run
    assert any("not modeled" in text for text in told.assumptions)
    coupled = found.predict([EVALUATION])
    assert coupled is not None
    assert any("queues of 3 of 3 ranks are replayed" in text for text in coupled.assumptions)


@pytest.mark.parametrize(("before", "after"), [(1, 2), (1, 3), (2, 1)])
def test_other_numbers_of_producers(before: int, after: int) -> None:
    """The first batch of a producer counts as usual, so some milliseconds may differ."""
    plan = Plan(producers=before, evaluate_s=0.0, service_s=0.15)
    given_back = length_of(plan) - length_of(replace(plan, producers=after))
    edit = Edit(factor=1.0, producers=after, ranks=(0, 1, 2))
    assert gain_s(plan, edit) == pytest.approx(given_back, abs=0.02 * length_of(plan))


LOADER = Plan(
    producers=4,
    loader=(4, 2),
    depth=4,  # 8 batches in all: 4 in the queue and 4 in the hands of workers
    service_s=0.6,
    spread=0.02,
    records_puts=False,
    evaluate_s=0.0,
)


@pytest.mark.parametrize("producers", [1, 2, 3, 5, 8])
def test_other_numbers_of_workers_of_a_loader(producers: int) -> None:
    """What is learned is the interval at which all workers together come with a batch."""
    given_back = length_of(LOADER) - length_of(replace(LOADER, producers=producers))
    edit = Edit(factor=1.0, producers=producers, ranks=(0, 1, 2))
    near = 0.02 * (length_of(LOADER) - given_back)
    assert gain_s(LOADER, edit) == pytest.approx(given_back, abs=near)


@pytest.mark.parametrize("loader", [None, (1 << 40, 2), (-1, 2), (4, 1 << 40), (4, -1)])
def test_producers_are_not_changed_where_nobody_tells_how_many_there_are(
    loader: tuple[int, int] | None,
) -> None:
    """Neither by tf.data and Keras, nor by damaged metadata, which must not exhaust memory."""
    plan = replace(LOADER, loader=loader)
    with pytest.raises(RefusedEditError, match="not known how many producers fill"):
        gain_s(plan, Edit(factor=1.0, producers=2, ranks=(0,)))


def test_producers_do_not_matter_to_ranks_that_never_starve() -> None:
    plan = Plan(evaluate_s=0.0, service_s=0.15)
    never = Edit(Account.INPUT_WAIT)
    both = gain_s(plan, Edit(factor=1.0, producers=2, ranks=(0, 1, 2)), never)
    assert both == pytest.approx(gain_s(plan, never))


def test_edits_combine_with_producers() -> None:
    plan = Plan(service_s=0.15)
    true = length_of(plan) - length_of(replace(plan, producers=2, evaluate_s=0.0))
    both = (EVALUATION, Edit(factor=1.0, producers=2, ranks=(0, 1, 2)))
    assert gain_s(plan, *both) == pytest.approx(true, rel=0.02)


def test_never_starved_takes_the_waiting_away() -> None:
    plan = Plan(evaluate_s=0.0)
    fast = replace(plan, service_s=1e-6, overhead_s=0.0)
    true = length_of(plan) - length_of(fast)
    assert gain_s(plan, Edit(Account.INPUT_WAIT)) == pytest.approx(true, rel=0.01)


def test_the_mean_service_time_is_used_where_nothing_else_is_known() -> None:
    plan = Plan(records_puts=False, evaluate_s=2.0, evaluate_every=20)
    true = length_of(plan) - length_of(replace(plan, evaluate_s=0.0))
    told = replayed(plan).predict([EVALUATION])
    assert told is not None
    assert told.gain_s == pytest.approx(true, abs=0.022 * length_of(plan))
    blind = SegmentReplay(compute(recorded(plan), Options()))
    blind.__dict__["_queues"] = ()
    unaware = blind.predict([EVALUATION])
    assert unaware is not None
    assert abs(told.gain_s - true) < 0.5 * abs(unaware.gain_s - true)
    assert any("only the mean time to make a batch is known" in text for text in told.assumptions)


@pytest.mark.parametrize("evaluate_s", [0.0, 2.0])
def test_work_of_the_rank_itself_is_no_queue(evaluate_s: float) -> None:
    """It reads 4 ms before each step, evaluation or not: nothing is refilled meanwhile."""
    plan = Plan(records_puts=False, service_s=1e-9, overhead_s=0.004, evaluate_s=evaluate_s)
    told = replayed(plan).predict([EVALUATION])
    assert told is not None
    assert told.gain_s == pytest.approx(evaluate_s * 24, rel=0.01)
    assert any("not modeled" in text for text in told.assumptions)


def test_nothing_is_known_of_queues_that_nobody_waited_for() -> None:
    plan = Plan(records_puts=False, service_s=0.001, evaluate_s=0.0)
    with pytest.raises(RefusedEditError, match="nothing is known about the input queues"):
        gain_s(plan, Edit(factor=1.0, producers=2, ranks=(0,)))


def test_depth_and_service_are_learned_from_a_pause() -> None:
    """4 batches are there after a pause; each takes 3 ms to make and is consumed in 1 ms."""
    now, made, enter, leave = 0.0, [0.003 * (k + 1) for k in range(200)], [], []
    for k in range(200):
        if k and k % 50 == 0:
            now += 1.0
            made[k:] = [now + max(0, j - 3) * 0.003 for j in range(200 - k)]
        enter.append(now)
        leave.append(max(now, made[k]) + 1e-6)
        now = leave[-1] + 0.001
    empty = np.empty(0, np.int64)
    gets = Gets(np.array(enter) * 1e9, np.array(leave) * 1e9, empty, empty)
    service = mean_service_ns(gets)
    assert service == pytest.approx(3e6, rel=0.01)
    assert learned_depth(gets, 3e6) in (3, 4)


def test_lost_records_of_a_queue_are_noticed() -> None:
    """Without its first puts every batch would be taken before it was there."""
    plan = Plan(service_s=0.09)
    trace = recorded(plan)
    for rank in trace.ranks:
        puts = np.flatnonzero(~rank.queues["is_get"])
        rank.queues = np.delete(rank.queues, puts[:10])
    replay = SegmentReplay(compute(trace, Options()))
    told = replay.predict([EVALUATION])
    assert told is not None
    assert not any("queues of 3 of 3" in text for text in told.assumptions)
