"""Critical path and delay costs keep what they promise, on random programs and on known cases."""

from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings

from benchmarks.replay import oracle
from perfscope.metrics.compute import compute
from perfscope.metrics.results import Options
from perfscope.replay.model import Causes
from perfscope.replay.segments import SegmentReplay
from perfscope.schema.enums import PhaseKind
from perfscope.trace.model import Trace
from tests.findings.analyzed import analyze
from tests.findings.training_runs import Plan, training_run
from tests.replay.message_programs import Spec, programs, to_trace
from tests.support.trace_builder import TraceBuilder

EXACT = 1e-12


def explained(trace: Trace) -> tuple[SegmentReplay, Causes]:
    replay = SegmentReplay(compute(trace, Options()))
    assert replay.reason == ""
    assert replay.causes is not None
    return replay, replay.causes


@settings(max_examples=25, deadline=None)
@given(programs())
def test_the_critical_path_is_as_long_as_the_run(spec: Spec) -> None:
    replay, found = explained(to_trace(spec))
    path = found.path
    program = replay.program
    assert program is not None
    length_s = oracle.replay(program).length * 1e-9
    assert path.seconds == pytest.approx(length_s, rel=EXACT)
    assert path.work_s + path.transfer_s == pytest.approx(length_s, rel=EXACT)
    assert replay.relative_error == pytest.approx(0.0, abs=EXACT)
    assert sum(row.work_s + row.transfer_s for row in path.by_rank) == pytest.approx(length_s)
    assert sum(row.work_s for row in path.by_rank) == pytest.approx(path.work_s, abs=1e-9)
    assert sum(part.seconds for part in path.by_phase) == pytest.approx(path.work_s, abs=1e-9)
    assert sum(part.seconds for part in path.by_operation) == pytest.approx(path.transfer_s)
    ideal = replay.ideal_runtime_s
    assert ideal is not None
    assert path.work_s - 1e-9 <= ideal <= length_s + 1e-9


class Counting:
    """A compiled replay that notes what it is asked."""

    def __init__(self, engine: Any) -> None:
        self.engine = engine
        self.asked: Counter[str] = Counter()

    def __getattr__(self, name: str) -> Any:
        self.asked[name] += 1
        return getattr(self.engine, name)


def test_waits_are_explained_once_whatever_they_are_charged_by() -> None:
    """For the whole run by phase, by kind of work and by step together."""
    replay = SegmentReplay(compute(training_run(Plan()), Options()))
    program = replay.program
    assert program is not None
    counting = Counting(program.engine)
    program.__dict__["engine"] = counting
    assert replay.causes is not None
    assert replay.charges is not None
    assert replay.causes.delays
    assert len(replay.charges.ns)
    assert replay.causes.steps
    assert counting.asked["delay_cost"] == 1


@settings(max_examples=25, deadline=None)
@given(programs())
def test_all_waiting_is_attributed_or_said_not_to_be(spec: Spec) -> None:
    _, found = explained(to_trace(spec))
    told = sum(delay.direct_s + delay.indirect_s for delay in found.delays)
    assert told + found.unattributed_s == pytest.approx(found.waiting_s, abs=1e-9)
    assert all(delay.direct_s >= 0 and delay.indirect_s >= 0 for delay in found.delays)
    assert found.unattributed_s >= -1e-9
    assert sum(pair.seconds for pair in found.pairs) == pytest.approx(found.waiting_s, abs=1e-9)
    assert sum(map(sum, found.block)) == pytest.approx(found.waiting_s, abs=1e-9)
    assert all(pair.waiter != pair.cause for pair in found.pairs)


@settings(max_examples=25, deadline=None)
@given(programs())
def test_waiting_is_that_of_the_plain_replay(spec: Spec) -> None:
    replay, found = explained(to_trace(spec))
    program = replay.program
    assert program is not None
    plain = oracle.replay(program)
    ends = program.cut_rows[-1].tolist()
    waited = sum(n - a for n, a in zip(plain.need, plain.arrival, strict=True))
    waited += sum(plain.length - plain.arrival[row] for row in ends)
    assert found.waiting_s == pytest.approx(waited * 1e-9, abs=1e-9)


def test_a_wait_that_is_passed_on_is_charged_to_its_origin() -> None:
    """Rank 2 works 3 s longer, rank 1 waits for it, and rank 0 for rank 1: all is due to rank 2."""
    builder = TraceBuilder(3, end_s=20.0)
    for number in range(3):
        builder.rank(number).init(1.0)
        builder.rank(number).op("MPI_Barrier", 2.0, 2.0)
    builder.rank(2).phase(PhaseKind.FORWARD, 2.0, 6.0)
    builder.rank(2).op("MPI_Send", 6.0, 6.0, peer=1, tag=0, sent=8)
    builder.rank(1).op("MPI_Recv", 3.0, 6.0, peer=2, tag=0, received=8)
    builder.rank(1).op("MPI_Send", 7.0, 7.0, peer=0, tag=0, sent=8)
    builder.rank(0).op("MPI_Recv", 4.0, 7.0, peer=1, tag=0, received=8)
    for number in range(3):
        builder.rank(number).op("MPI_Barrier", 8.0, 8.0)
        builder.rank(number).finalize(10.0)
    _, found = explained(builder.build())
    assert found.waiting_s == pytest.approx(6.0)
    first = found.delays[0]
    assert (first.rank, first.phase) == (2, "forward")
    # rank 1 waits 3 s at once; of the 3 s of rank 0 all come from rank 1's wait of 3 s
    assert first.direct_s == pytest.approx(3.0)
    assert first.indirect_s == pytest.approx(3.0 * 3.0 / 3.0, abs=1e-9)
    assert found.path.by_rank[0].rank == 2


CASES = {
    "forward": (Plan(slow_rank=1, slow_forward_s=0.1), 1, "forward", 0.98),
    "backward": (Plan(slow_rank=1, slow_backward_s=0.1), 1, "backward", 0.99),
    "evaluation": (Plan(evaluate_s=4.0), 0, "evaluate", 0.98),
}


@pytest.mark.parametrize("case", CASES)
def test_the_delay_cost_names_the_cause(case: str) -> None:
    plan, rank, phase, share = CASES[case]
    found = analyze(plan).replay.causes
    assert found is not None
    first = found.delays[0]
    assert (first.rank, first.phase) == (rank, phase)
    assert first.seconds / found.waiting_s == pytest.approx(share, abs=0.005)


def test_delays_of_a_random_rank_are_spread_over_all() -> None:
    found = analyze(Plan(unlucky_s=0.1)).replay.causes
    assert found is not None
    shares = [delay.seconds / found.waiting_s for delay in found.delays[:4]]
    assert {delay.rank for delay in found.delays[:4]} == {0, 1, 2, 3}
    assert all(delay.phase == "forward" for delay in found.delays[:4])
    assert all(0.2 < share < 0.3 for share in shares)


def test_a_slow_network_is_transfer_on_the_path() -> None:
    found = analyze(Plan(allreduce_s=0.205)).replay.causes
    assert found is not None
    assert found.path.transfer_s == pytest.approx(41.0, rel=0.001)
    assert found.path.by_operation[0].name == "MPI_Allreduce"
    assert found.waiting_s < 0.05 * found.path.seconds * 4
