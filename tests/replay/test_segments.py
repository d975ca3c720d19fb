"""The replay against a plain simulation of random programs of collectives."""

from copy import deepcopy

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perfscope.matching.collectives import match_collectives
from perfscope.matching.pool import Pool
from perfscope.metrics.compute import compute
from perfscope.metrics.results import Options
from perfscope.replay.model import Edit, Level, RefusedEditError
from perfscope.replay.segments import SegmentReplay
from perfscope.schema.enums import Account
from perfscope.trace.model import Trace
from tests.findings.training_runs import Plan, training_run
from tests.replay.random_programs import (
    ROOTED,
    Event,
    Spec,
    as_measured,
    edit_factor,
    edit_shared,
    simulate,
    to_trace,
)

NS = 1e-9
ACCOUNTS = (Account.TRAINING, Account.EVALUATION, Account.CHECKPOINT)
WHOLE = ("MPI_Allreduce", "MPI_Barrier", "MPI_Allgather", "MPI_Alltoall")


@st.composite
def programs(draw: st.DrawFn, *, rooted: bool = False) -> Spec:
    """Programs of world collectives, and of others on communicators of some ranks."""
    ranks = draw(st.integers(2, 4))
    groups = draw(st.lists(st.sets(st.integers(0, ranks - 1), min_size=2).map(sorted), max_size=2))
    communicators = [tuple(group) for group in groups]
    names = (*WHOLE, *ROOTED) if rooted else WHOLE
    work = st.dictionaries(
        st.sampled_from(ACCOUNTS), st.integers(0, 40).map(lambda ms: ms * 1_000_000), max_size=2
    )
    events = []
    for _ in range(draw(st.integers(1, 8))):
        comm = draw(st.integers(0, len(communicators)))
        members = communicators[comm - 1] if comm else tuple(range(ranks))
        op = draw(st.sampled_from(names))
        silent = draw(st.sets(st.sampled_from(members), max_size=len(members) - 1))
        events.append(
            Event(
                op=op,
                comm=comm,
                members=members,
                root=draw(st.sampled_from(members)),
                work={rank: draw(work) for rank in members},
                transfer={rank: draw(st.integers(1, 3000)) * 1000 for rank in members},
                silent=() if op in {*ROOTED, "MPI_Barrier"} else tuple(sorted(silent)),
            )
        )
    return Spec(ranks, communicators, events, {rank: draw(work) for rank in range(ranks)})


def replay_of(trace: Trace) -> SegmentReplay:
    return SegmentReplay(compute(trace, Options()))


def prepared(spec: Spec) -> tuple[SegmentReplay, Spec]:
    """The replay of the program, and the program as the analysis understands it."""
    trace = to_trace(spec)
    pool = Pool.of(trace.ranks, [rank.operations for rank in trace.ranks])
    found = match_collectives(trace, pool).instances
    decided = {
        (int(comm), int(seq)): bool(flag)
        for comm, seq, flag in zip(found.comm, found.seq, found.synchronizing, strict=True)
    }
    order: dict[int, int] = {}
    flags = []
    for event in spec.events:
        seq = order.get(event.comm, 0)
        order[event.comm] = seq + 1
        flags.append(decided[event.comm, seq])
    as_measured(spec, flags)
    return replay_of(trace), spec


def busiest_s(spec: Spec) -> float:
    """What the rank with most work does, in seconds."""
    spent = [
        sum(sum(one.work.get(rank, {}).values()) for one in spec.events)
        + sum(spec.tail[rank].values())
        for rank in range(spec.ranks)
    ]
    return max(spent) * NS


def test_no_interval_leaves_less_time_than_the_work_that_stays() -> None:
    """Of 12 steps one is long for what can go: drawn twice it would take all of the run."""
    work = [{0: {Account.TRAINING: 10**9, Account.INPUT_WAIT: 0}} for _ in range(12)]
    work[3][0][Account.INPUT_WAIT] = 20 * 10**9
    events = [
        Event("MPI_Allreduce", 0, (0, 1), 0, {**own, 1: {Account.TRAINING: 10**9}}, {0: 1, 1: 1})
        for own in work
    ]
    tail = {rank: {Account.TRAINING: 1} for rank in (0, 1)}
    found = replay_of(to_trace(Spec(2, [], events, tail))).predict([Edit(Account.INPUT_WAIT)])
    assert found is not None
    assert found.interval_s is not None
    assert found.gain_s == pytest.approx(20.0)
    assert found.interval_s[1] == pytest.approx(20.0, abs=1e-3), "of 32 s ranks work 12"


@settings(max_examples=20, deadline=None)
@given(programs(rooted=True))
def test_unedited_replay_is_the_measured_run(spec: Spec) -> None:
    replay = replay_of(to_trace(spec))
    assert replay.reason == ""
    assert replay.relative_error is not None
    assert replay.relative_error < 1e-12
    nothing = replay.predict(())
    assert nothing is not None
    assert nothing.gain_s == 0.0


@settings(max_examples=20, deadline=None)
@given(programs(rooted=True))
def test_ideal_network_is_the_simulation_without_transfer(spec: Spec) -> None:
    replay, measured = prepared(spec)
    length = simulate(measured)
    ideal = deepcopy(measured)
    for event in ideal.events:
        event.transfer = dict.fromkeys(event.transfer, 0)
    assert replay.ideal_runtime_s == pytest.approx(simulate(ideal) * NS, abs=2e-9)
    if all(transfer >= 0 for event in measured.events for transfer in event.transfer.values()):
        assert (replay.ideal_runtime_s or 0.0) <= length * NS + 1e-9


@settings(max_examples=20, deadline=None)
@given(
    programs(rooted=True),
    st.sampled_from([None, *ACCOUNTS]),
    st.sets(st.integers(0, 1), min_size=1),
    st.sampled_from([0, 2]),
)
def test_scaled_work_is_the_simulation_of_it(
    spec: Spec, account: Account | None, ranks: set[int], factor: int
) -> None:
    replay, measured = prepared(spec)
    before = simulate(measured)
    edited = deepcopy(measured)
    edit_factor(edited, account, tuple(ranks), factor)
    prediction = replay.predict([Edit(account, tuple(ranks), factor=float(factor))])
    assert prediction is not None
    assert prediction.gain_s == pytest.approx((before - simulate(edited)) * NS, abs=2e-9)
    if (
        factor < 1 and prediction.interval_s is not None
    ):  # no saving of less work is beyond all of it
        left_s = before * NS - prediction.interval_s[1]
        assert left_s >= min(busiest_s(edited), simulate(edited) * NS) - 2e-9


@settings(max_examples=20, deadline=None)
@given(spec=programs(rooted=True), account=st.sampled_from(ACCOUNTS))
def test_shared_work_is_the_simulation_of_it(spec: Spec, account: Account) -> None:
    replay, measured = prepared(spec)
    before = simulate(measured)
    edited = deepcopy(measured)
    edit_shared(edited, account)
    prediction = replay.predict([Edit(account, level=Level.SHARED)])
    assert prediction is not None
    assert prediction.gain_s == pytest.approx((before - simulate(edited)) * NS, abs=5e-9)


@settings(max_examples=20, deadline=None)
@given(programs(), st.sampled_from([None, *ACCOUNTS]))
def test_less_work_never_takes_longer(spec: Spec, account: Account | None) -> None:
    replay = replay_of(to_trace(spec))
    gains = [
        prediction.gain_s
        for factor in (1.0, 0.7, 0.3, 0.0)
        if (prediction := replay.predict([Edit(account, factor=factor)])) is not None
    ]
    assert gains == sorted(gains)


@settings(max_examples=20, deadline=None)
@given(programs(rooted=True), st.sampled_from(ACCOUNTS))
def test_gains_of_combined_edits_count_what_the_first_left(spec: Spec, account: Account) -> None:
    replay = replay_of(to_trace(spec))
    first, second = Edit(account, (0,)), Edit(level=Level.SHARED)
    both = replay.predict([first, second])
    alone = replay.predict([first])
    beyond = replay.predict([second], after=[first])
    assert both is not None
    assert alone is not None
    assert beyond is not None
    assert both.gain_s == pytest.approx(alone.gain_s + beyond.gain_s, abs=1e-9)


def test_an_answer_is_kept_and_so_is_a_refusal() -> None:
    replay = SegmentReplay(compute(training_run(Plan(steps=10)), Options()))
    edits = [Edit(level=Level.SHARED)]
    assert replay.predict(edits) is replay.predict(tuple(edits))
    assert replay.predict(edits, after=[Edit(Account.EVALUATION)]) is not replay.predict(edits)
    for _ in range(2):
        with pytest.raises(RefusedEditError, match="nothing is known about the input queues"):
            replay.predict([Edit(producers=2, ranks=(0,))])
