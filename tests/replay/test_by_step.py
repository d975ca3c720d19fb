"""Critical path and delay costs by step: they add up to the run, and name what each step lost."""

from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import assume, given, settings

from perfscope.metrics.compute import compute
from perfscope.metrics.results import Options
from perfscope.replay.causes import MOST_ROWS
from perfscope.replay.model import Causes
from perfscope.replay.segments import SegmentReplay
from perfscope.trace.model import Trace
from tests.findings.analyzed import analyze
from tests.findings.training_runs import Plan
from tests.replay.message_programs import Spec, programs, to_trace
from tests.support.trace_builder import TraceBuilder


def causes_of(plan: Plan) -> Causes:
    found = analyze(plan).replay.causes
    assert found is not None
    return found


def assert_adds_up(found: Causes) -> None:
    """Every figure of the run is the sum of those of its steps."""
    steps = found.steps
    assert sum(step.work_s for step in steps) == pytest.approx(found.path.work_s, abs=1e-9)
    assert sum(step.transfer_s for step in steps) == pytest.approx(found.path.transfer_s, abs=1e-9)
    for name in ("direct_s", "indirect_s"):
        whole = sum(getattr(delay, name) for delay in found.delays)
        assert sum(getattr(step, name) for step in steps) == pytest.approx(whole, abs=1e-9)
    unattributed = sum(step.unattributed_s for step in steps)
    assert unattributed == pytest.approx(found.unattributed_s, abs=1e-9)


def with_steps_at_meetings(trace: Trace) -> Trace | None:
    """The trace with a step up to each meeting of all ranks; None where they do not meet."""
    results = compute(trace, Options())
    program = SegmentReplay(results).program
    if program is None or program.pool_row is None or program.segment_count < 2:
        return None
    rows = program.pool_row.at(program.cut_rows[1:-1, 0])
    moments = [results.focus.start_ns, *results.waits.pool.exit[rows].tolist()]
    marks = TraceBuilder(1, end_s=results.focus.end_ns * 1e-9)
    for number, (begin, end) in enumerate(pairwise(moments)):
        marks.rank(0).step(number, begin * 1e-9, end * 1e-9)
    steps = marks.build().ranks[0].steps
    return replace(trace, ranks=[replace(trace.ranks[0], steps=steps), *trace.ranks[1:]])


@settings(max_examples=20, deadline=None)
@given(programs())
def test_steps_add_up_to_the_run_also_with_messages(spec: Spec) -> None:
    trace = with_steps_at_meetings(to_trace(spec))
    assume(trace is not None)
    assert trace is not None
    found = SegmentReplay(compute(trace, Options())).causes
    assert found is not None
    assume(found.steps)
    assert_adds_up(found)


def test_the_steps_after_an_evaluation_lose_to_it() -> None:
    """An evaluation on rank 0 follows every 20th step; the last one counts for the last step."""
    found = causes_of(Plan(steps=60, evaluate_s=1.0))
    assert_adds_up(found)
    assert [step.first for step in found.steps] == list(range(60))
    assert {step.count for step in found.steps} == {1}
    lost = [step for step in found.steps if step.direct_s + step.indirect_s > 1.0]
    assert [step.first for step in lost] == [20, 40, 59]
    for step in lost:
        assert step.cause is not None
        assert (step.cause.rank, step.cause.phase) == (0, "evaluate")
        assert step.cause.seconds == pytest.approx(3 * 1.0, rel=0.05)
        assert step.work_s == pytest.approx(1.0 + 0.254, rel=0.05)


def test_of_a_long_run_neighboring_steps_are_told_together() -> None:
    found = causes_of(Plan(steps=2 * MOST_ROWS + 1, slow_rank=1, slow_forward_s=0.1))
    assert_adds_up(found)
    assert [step.first for step in found.steps] == list(range(0, 2 * MOST_ROWS + 1, 3))
    assert {step.count for step in found.steps[:-1]} == {3}
    assert sum(step.count for step in found.steps) == 2 * MOST_ROWS + 1
    assert {step.cause.rank for step in found.steps if step.cause} == {1}


def test_without_steps_there_are_none() -> None:
    assert causes_of(Plan(steps=40, markers=False)).steps == ()


def test_ranks_that_meet_more_rarely_than_once_a_step_tell_no_steps() -> None:
    builder = TraceBuilder(2, end_s=10.0)
    for number in (0, 1):
        rank = builder.rank(number).init(1.0)
        for step in range(4):
            rank.step(step, 1.0 + step, 2.0 + step)
        rank.op("MPI_Barrier", 5.0 + number, 6.5).finalize(8.0)
    found = SegmentReplay(compute(builder.build(), Options())).causes
    assert found is not None
    assert found.steps == ()


def test_a_rank_that_calls_nobody_has_one_row_of_work() -> None:
    """One step in one segment, as in the profile of a single process."""
    builder = TraceBuilder(1, end_s=2.0)
    builder.rank(0).step(0, 0.5, 1.5)
    found = SegmentReplay(compute(builder.build(), Options())).causes
    assert found is not None
    assert_adds_up(found)
    assert [step.first for step in found.steps] == [0]
