"""Ranks that take turns without any collective: every wait has its step, cause and pattern."""

from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import replace
from statistics import median_low

import numpy as np
import pytest
from hypothesis import given, settings

from benchmarks.replay import oracle
from perfscope import _core
from perfscope.losses.account import loss_account
from perfscope.losses.cause import UNEXPLAINED, LossCause
from perfscope.losses.entry import Entry, Saving
from perfscope.losses.savings import Savings
from perfscope.losses.turns import Turns
from perfscope.metrics.compute import compute
from perfscope.metrics.results import Options
from perfscope.replay.program import Program
from perfscope.replay.segments import SegmentReplay
from perfscope.replay.steps import Steps
from perfscope.schema.enums import LossKind, LossPattern, PhaseKind
from perfscope.trace.operations import code_of
from tests.losses.turn_programs import PROGRAMS, STEPS, run
from tests.replay.message_programs import Spec, programs, to_trace
from tests.support.trace_builder import TraceBuilder


def replayed(replay: SegmentReplay) -> tuple[Program, Steps]:
    """What of a replay turns are told from."""
    assert replay.program is not None
    assert replay.charges is not None
    assert replay.charges.steps is not None
    return replay.program, replay.charges.steps


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("count", [3, 6])
def test_turns_are_serial_in_every_step(name: str, count: int) -> None:
    trace, waited_s = run(name, count, has_steps=count == 3)
    results = compute(trace, Options())
    account = loss_account(results, SegmentReplay(results))
    waiting = [entry for entry in account.entries if entry.waiting_ns]
    assert sum(entry.waiting_ns for entry in waiting) == pytest.approx(waited_s * 1e9, abs=100)
    assert {entry.cause.kind for entry in waiting} == {LossKind.WAITING}
    assert UNEXPLAINED not in [entry.cause for entry in waiting]
    assert {entry.pattern for entry in waiting} == {LossPattern.SERIAL}
    (entry,) = waiting
    assert entry.steps is not None
    assert entry.steps[0] <= 1
    assert entry.steps[1] >= STEPS - 3
    assert isinstance(entry.saving, Saving)
    assert entry.saving.seconds > 0


def test_a_rank_that_works_while_the_other_only_waits_is_chained() -> None:
    """Of two ranks that share a lock only one does anything under it: no turns are taken."""
    trace, _ = run("lock", 2)
    results = compute(trace, Options())
    account = loss_account(results, SegmentReplay(results))
    (entry,) = [one for one in account.entries if one.waiting_ns]
    assert (entry.pattern, entry.ranks) == (LossPattern.CHAINED, (1,))


def test_two_ranks_with_more_of_different_work_are_not_chained() -> None:
    """Once the backward pass of rank 1 is dealt out, the forward pass of rank 0 lasts as long."""
    builder, begin = TraceBuilder(4, end_s=60.0), 1.0
    ranks = [builder.rank(number).init(begin) for number in range(4)]
    for step in range(60):
        end = begin + 0.12
        for number, rank in enumerate(ranks):
            forward = begin + 0.03 + 0.05 * (number == 0)
            came = forward + 0.03 + 0.06 * (number == 1)
            rank.phase(PhaseKind.FORWARD, begin, forward).phase(PhaseKind.BACKWARD, forward, came)
            rank.op("MPI_Allreduce", came, end, seq=step).step(step, begin, end)
        begin = end
    for rank in ranks:
        rank.finalize(begin)
    results = compute(builder.build(), Options())
    (entry,) = [
        one for one in loss_account(results, SegmentReplay(results)).entries if one.waiting_ns
    ]
    assert (entry.pattern, entry.ranks) == (LossPattern.STATIC, (1,))
    assert isinstance(entry.saving, Saving)
    assert entry.saving.interval_s is not None
    low, high = entry.saving.interval_s
    assert low <= entry.saving.seconds == 0 <= high


@pytest.mark.parametrize("name", PROGRAMS)
def test_turns_of_every_step_are_usual(name: str) -> None:
    """All steps are alike, so that the median step loses as much as they do."""
    trace, _ = run(name, 3)
    replay = SegmentReplay(compute(trace, Options()))
    program, steps = replayed(replay)
    whole = Turns.of(program, program.work, steps).idle_ns.sum()
    usual = Turns.usual(program, program.work, steps)[0].idle_ns.sum()
    assert usual == pytest.approx(whole, rel=0.1)


def test_what_is_sent_ahead_hides_its_transfer() -> None:
    """Each of two ranks works for 50 ms in turn, and a batch is on its way for 20 ms of 120."""
    builder, begin, count = TraceBuilder(2, end_s=60.0), 1.0, 60
    maker, user = (builder.rank(number).init(1.0) for number in range(2))
    for step in range(count):
        made, came, used = begin + 0.05, begin + 0.07, begin + 0.12
        maker.op("MPI_Send", made, came, peer=1, tag=step, sent=1 << 20)
        user.op("MPI_Recv", begin, came, peer=0, tag=step, received=1 << 20)
        user.op("MPI_Send", used, used, peer=0, tag=step, sent=8)
        maker.op("MPI_Recv", came, used, peer=1, tag=step, received=8)
        for rank in (maker, user):
            rank.step(step, begin, used)
        begin = used
    for rank in (maker, user):
        rank.finalize(begin)
    replay = SegmentReplay(compute(builder.build(), Options()))
    program, steps = replayed(replay)
    turns = Turns.of(program, program.work, steps)
    assert turns.idle_ns.sum() * 1e-9 == pytest.approx(0.05 * count, rel=0.02)
    assert turns.moved_ns.sum() * 1e-9 == pytest.approx(0.02 * count, rel=0.02)
    whole = Savings(replay, steps).without_turns(int(2 * turns.idle_ns.sum()))
    assert isinstance(whole, Saving)
    assert whole.seconds == pytest.approx(0.07 * count, rel=0.02)


@pytest.mark.parametrize("operation", ["MPI_Win_complete", "MPI_Win_wait"])
def test_operations_of_the_largest_codes_of_one_byte_are_replayed(
    monkeypatch: pytest.MonkeyPatch, operation: str
) -> None:
    """A byte holds codes up to 127, and not how many there are."""
    trace, _ = run("pipeline", 3)
    replay = SegmentReplay(compute(trace, Options()))
    program, steps = replayed(replay)
    codes = np.where(program.row_op >= 0, code_of(operation), -1).astype(np.int8)
    assert codes.max() == code_of(operation)
    entry = Entry(LossCause(LossKind.TRANSFER, operation=operation), 1, 0, (0,))
    monkeypatch.setattr(replay, "_program", replace(program, row_op=codes))
    assert isinstance(Savings(replay, steps).of(entry), Saving)


def test_data_that_moves_by_turns_is_no_work_by_turns() -> None:
    """Both work for 50 ms at the same time; then each one's message takes 20 ms, one by one."""
    builder, begin, count = TraceBuilder(2, end_s=60.0), 1.0, 60
    first, second = (builder.rank(number).init(1.0) for number in range(2))
    for step in range(count):
        worked, came, back = begin + 0.05, begin + 0.07, begin + 0.09
        first.op("MPI_Send", worked, worked, peer=1, tag=step, sent=8)
        second.op("MPI_Recv", worked, came, peer=0, tag=step, received=8)
        second.op("MPI_Send", came, came, peer=0, tag=step, sent=8)
        first.op("MPI_Recv", worked, back, peer=1, tag=step, received=8)
        first.op("MPI_Barrier", back, back, seq=step)
        second.op("MPI_Barrier", came, back, seq=step)
        for rank in (first, second):
            rank.step(step, begin, back)
        begin = back
    for rank in (first, second):
        rank.finalize(begin)
    replay = SegmentReplay(compute(builder.build(), Options()))
    program, steps = replayed(replay)
    turns = Turns.of(program, program.work, steps)
    assert turns.idle_ns.sum() * 1e-9 == pytest.approx(0.02 * count, rel=0.02)
    assert Savings(replay, steps).usual_turns_s() == 0.0


def two_barriers(took: Callable[[int, int], tuple[float, float]]) -> SegmentReplay:
    """Two ranks that work for what is given, by step and part, before each of two barriers."""
    builder = TraceBuilder(2, end_s=60.0)
    ranks = [builder.rank(number).init(1.0) for number in range(2)]
    begin = 1.0
    for step in range(60):
        start = begin
        for part in range(2):
            lengths = took(step, part)
            for rank, length in zip(ranks, lengths, strict=True):
                came, all_came = begin + length, begin + max(lengths)
                rank.op("MPI_Barrier", came, all_came, seq=2 * step + part)
            begin += max(lengths)
        begin += 0.01
        for rank in ranks:
            rank.step(step, start, begin)
    for rank in ranks:
        rank.finalize(begin)
    return SegmentReplay(compute(builder.build(), Options()))


def test_turns_by_chance_are_not_usual() -> None:
    """In a third of the steps a rank is late at the first barrier and the other at the second."""
    late_s, work_s = 0.2, 0.1

    def took(step: int, part: int) -> tuple[float, float]:
        late = None if step % 3 == 0 else (step + part) % 2
        return work_s + late_s * (late == 0), work_s + late_s * (late == 1)

    replay = two_barriers(took)
    program, steps = replayed(replay)
    whole = Turns.of(program, program.work, steps).idle_ns.sum() * 1e-9
    assert whole == pytest.approx(40 * late_s, rel=0.1)
    assert Turns.usual(program, program.work, steps)[0].idle_ns.sum() * 1e-9 < 0.01 * whole


def test_medians_of_unsteady_work_have_an_error() -> None:
    """Work between 50 and 150 ms is 25 ms off its median in the median: four times in each step."""
    drawn = np.random.default_rng(6).uniform(0.05, 0.15, (60, 2, 2))
    replay = two_barriers(lambda step, part: (drawn[step, part, 0], drawn[step, part, 1]))
    program, steps = replayed(replay)
    error_s = Turns.usual(program, program.work, steps)[1] * 1e-9
    assert error_s == pytest.approx(1.2533 * 1.4826 * 0.025 * (4 / 60) ** 0.5, rel=0.2)
    assert Savings(replay, steps).usual_turns_s() < 0.1


@settings(max_examples=40, deadline=None)
@given(programs())
def test_all_that_a_random_program_waits_is_charged_to_the_nanosecond(spec: Spec) -> None:
    """The plain replay, which knows neither engine nor account, waits as long."""
    results = compute(to_trace(spec), Options())
    replay = SegmentReplay(results)
    program, found = replay.program, replay.charges
    assert program is not None
    assert found is not None
    plain = oracle.replay(program)
    waited = sum(need - came for need, came in zip(plain.need, plain.arrival, strict=True))
    waited += sum(plain.length - plain.arrival[row] for row in program.cut_rows[-1].tolist())
    account = loss_account(results, replay)
    assert sum(entry.waiting_ns for entry in account.entries) == round(waited)
    assert found.ns.sum() == pytest.approx(waited, rel=1e-9)
    assert (found.ns >= 0).all()


def test_rows_of_a_kind_have_their_median_whatever_lies_between() -> None:
    chance = np.random.default_rng(3)
    ranks = np.sort(chance.integers(0, 4, 400)).astype(np.int32)
    ops = chance.integers(0, 3, 400).astype(np.int32)
    units = chance.integers(0, 20, 400).astype(np.int32)
    values = chance.integers(0, 50, 400).astype(float)
    numbers, count = _core.like_rows(ranks, units, ops, 20)
    sizes, medians, off = _core.medians(values, numbers, count)
    passed: Counter[tuple[int, int]] = Counter()
    alike: defaultdict[tuple[int, int, int], list[float]] = defaultdict(list)
    number_of: dict[tuple[int, int, int], int] = {}
    for rank, unit, op, number, value in zip(ranks, units, ops, numbers, values, strict=True):
        kind = rank, passed[rank, unit], op
        passed[rank, unit] += 1
        alike[kind].append(value)
        assert number_of.setdefault(kind, number) == number
    assert len(number_of) == len(set(number_of.values())) == count
    for kind, number in number_of.items():
        assert sizes[number] == len(alike[kind])
        assert medians[number] == median_low(alike[kind])
        assert off[number] == median_low([abs(one - medians[number]) for one in alike[kind]])
    with pytest.raises(ValueError, match="do not fit"):
        _core.like_rows(ranks, units, ops, 5)
    with pytest.raises(ValueError, match="do not fit"):
        _core.medians(values, numbers, count - 1)
