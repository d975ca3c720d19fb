"""What a few stack samples alone tell is a note, and what was marked needs none."""

from dataclasses import replace

import pytest

from perfscope.findings.core.finding import Finding
from perfscope.findings.facts.few_looks import looks_behind
from perfscope.metrics.compute import compute
from perfscope.metrics.results import Results
from perfscope.replay.model import Edit
from perfscope.schema.enums import PhaseKind, Status
from perfscope.trace.model import Trace
from tests.findings.analyzed import analyze_trace
from tests.support.trace_builder import TraceBuilder

STEPS, STEP_S, CHECK_S, APART_S = 40, 0.25, 2.0, 0.05
TRAINS = (("main", "/job/train.py", 40), ("numpy.ndarray.dot", "<built-in>", 0))
CHECKS = (("main", "/job/train.py", 60), ("evaluate", "/job/train.py", 12))


def checked(looks: int, *, is_marked: bool = False) -> Finding:
    trace = evaluated(looks, is_marked=is_marked)
    return analyze_trace(trace).findings["rank_zero_evaluation"]


def behind(results: Results) -> int | None:
    """The looks behind what leaving out the evaluation saves."""
    phase = next(one.id for one in results.phases if one.kind is PhaseKind.EVALUATE)
    return looks_behind(results, [Edit(phase=phase)])


def evaluated(looks: int, *, is_marked: bool = False, in_calls: int = 0) -> Trace:
    """Two ranks, of which rank 0 evaluates once, for 2 s, while the other one waits.

    So many looks meet it there, and as many more as are said in calls that it makes.
    """
    builder = TraceBuilder(2, end_s=4.0 + STEPS * STEP_S + CHECK_S)
    for number in range(2):
        rank, now = builder.rank(number).init(1.0), 1.0
        for step in range(STEPS):
            end = now + STEP_S
            for look in range(int((STEP_S - 0.02) / APART_S)):
                rank.stack(now + 0.01 + APART_S * look, TRAINS)
            if step == STEPS // 2:
                end += CHECK_S
                if number == 0 and is_marked:
                    rank.phase(PhaseKind.EVALUATE, end - CHECK_S, end - 0.02)
                for look in range(looks if number == 0 else 0):
                    rank.stack(end - CHECK_S + CHECK_S * look / looks, CHECKS)
                for call in range(in_calls if number == 0 else 0):
                    at = end - 1.88 + 0.1 * call
                    rank.op("MPI_Test", at, at + 0.05)
                    rank.stack(at + 0.025, CHECKS)
            waits = CHECK_S if end - now > STEP_S and number else 0.0
            rank.op("MPI_Allreduce", end - 0.02 - waits, end, comm=0, seq=step)
            rank.step(step, now, end)
            now = end
        rank.finalize(now + 0.5)
    return builder.build()


@pytest.mark.parametrize(
    ("looks", "status"),
    [(1, Status.INFO), (3, Status.INFO), (4, Status.FAIL), (20, Status.FAIL)],
)
def test_what_a_rank_does_alone_takes_four_samples(looks: int, status: Status) -> None:
    """The 95 % interval of three is not clear of zero, though the seconds are as many."""
    found = checked(looks)
    assert found.status is status
    assert ("which may be chance" in found.summary) == (status is Status.INFO)


def test_looks_into_calls_of_what_a_rank_does_count_too() -> None:
    """Of two and twelve the first comes before the phase is known to begin."""
    assert behind(compute(evaluated(2))) == 2
    assert behind(compute(evaluated(2, in_calls=12))) == 13


def test_a_phase_that_others_tell_of_rests_on_no_known_number_of_looks() -> None:
    """Between the same calls elsewhere samples told what it is: none of them lies in it."""
    results = compute(evaluated(4))
    assert behind(results) == 4
    phases = tuple(replace(one, looks_by_rank=(0, 0)) for one in results.phases)
    assert behind(replace(results, phases=phases)) is None


def test_what_was_marked_rests_on_no_sample() -> None:
    found = checked(1, is_marked=True)
    assert found.status is Status.FAIL
    assert "chance" not in found.summary
