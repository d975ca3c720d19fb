"""Load imbalance: which kind, whose, where, and what it costs."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pytest

from perfscope.findings.core.finding import Finding
from perfscope.findings.facts.facts import Facts
from perfscope.findings.facts.uneven_work import is_single
from perfscope.schema.enums import Basis, Confidence, PhaseKind, Status
from perfscope.trace.model import Trace
from tests.findings.analyzed import analyze, analyze_trace, without_replay
from tests.findings.training_runs import Plan, training_run
from tests.support.trace_builder import TraceBuilder


def judged(plan: Plan) -> Finding:
    return analyze(plan).findings["load_imbalance"]


def test_two_ranks_share_their_work() -> None:
    """Of two ranks nobody knows which one is right, so the same work is spread evenly."""
    plan = Plan(ranks=2, slow_rank=1, slow_backward_s=0.05)
    finding = judged(plan)
    assert finding.status is Status.FAIL
    assert finding.ranks == (1,)
    assert finding.title.startswith(
        "Rank 1 works longer than rank 0 in main() (train.py:300), backward phase"
    )
    spread = analyze(Plan(ranks=2, backward_s=0.185)).results.focus.length_ns
    truth_s = (analyze(plan).results.focus.length_ns - spread) * 1e-9
    assert finding.gain_s == pytest.approx(truth_s, rel=0.05)
    rows = {row.label: row.value for row in finding.evidence}
    as_fast = analyze(Plan(ranks=2)).results.focus.length_ns
    truth_s = (analyze(plan).results.focus.length_ns - as_fast) * 1e-9
    assert rows["Gain if rank 1 worked as fast as rank 0"] == pytest.approx(truth_s, rel=0.05)
    assert "If rank 1 worked no longer than rank 0, it would be " in finding.summary
    # about 50 ms more in each of 200 steps, of which an even split leaves half on each rank
    assert finding.actions[0].startswith(  # (0.210 - 0.185) / 0.210
        "Deal out the work in main() (train.py:300), backward phase, evenly by the time that it "
        "takes: move 12 % of it from rank 1 to rank 0. Rank 1 spends "
    )
    assert "s in backward, rank 0 3" in finding.actions[0]
    assert finding.actions[0].endswith("The estimate assumes an even split over the ranks.")


def test_a_run_too_short_for_an_interval_claims_none_and_is_not_certain() -> None:
    """A strict gain in all of 4 steps would be as certain as can be, were there an interval."""
    short = Plan(steps=4, ranks=2, slow_rank=1, slow_backward_s=0.5, samples=(8, 16))
    finding = judged(short)
    assert finding.gain_basis is Basis.REPLAY
    assert finding.gain_s is not None
    assert finding.gain_interval_s is None
    assert finding.confidence is Confidence.MEDIUM
    assert finding.row.gain_interval_s is None
    longer = judged(replace(short, steps=40))
    assert longer.gain_interval_s is not None
    assert longer.confidence is Confidence.HIGH


def test_unequal_samples_are_to_be_dealt_out() -> None:
    plan = Plan(slow_rank=1, slow_backward_s=0.05, samples=(32, 48, 32, 32))
    finding = judged(plan)
    evenly = analyze(Plan(backward_s=0.160 + 0.05 / 4)).results.focus.length_ns
    truth_s = (analyze(plan).results.focus.length_ns - evenly) * 1e-9
    assert finding.gain_s == pytest.approx(truth_s, rel=0.05)
    assert "Distribute the samples evenly" in finding.actions[0]


def test_who_has_more_to_do_is_no_straggler() -> None:
    """Of 3 times as many samples: everything takes longer, and the rank is not slow."""
    plan = Plan(slow_rank=2, slow_factor=1.3, samples=(32, 32, 96, 32))
    found = analyze(plan).findings
    assert found["load_imbalance"].status is Status.FAIL
    assert "Distribute the samples evenly" in found["load_imbalance"].actions[0]
    assert found["straggler"].status is Status.PASS


def test_slow_in_one_phase_with_unknown_samples_may_have_more_to_do() -> None:
    found = analyze(Plan(slow_rank=2, slow_forward_s=0.05)).findings
    assert found["load_imbalance"].status is Status.FAIL
    assert "perfscope.step(samples=...)" in found["load_imbalance"].actions[-1]
    assert found["straggler"].status is Status.PASS
    assert found["transient_imbalance"].status is Status.PASS


def test_several_heavy_ranks() -> None:
    builder = TraceBuilder(4, end_s=200.0)
    at = 1.0
    for _ in range(40):
        for number, work_s in enumerate((1.0, 1.5, 1.0, 1.5)):
            builder.rank(number).phase(PhaseKind.TRAIN, at, at + work_s)
            builder.rank(number).op("MPI_Allreduce", at + work_s, at + 1.6)
        at += 1.6
    for number in range(4):
        builder.rank(number).init(1.0).finalize(at)
    finding = analyze_trace(builder.build()).findings["load_imbalance"]
    assert finding.status is Status.FAIL
    assert finding.ranks == (1, 3)
    assert finding.title.startswith("Ranks 1 and 3 work longer than the others")
    # ranks 0 and 2 work 1.0 s
    assert finding.gain_s == pytest.approx(40 * 0.5, rel=0.01)
    assert finding.confidence is Confidence.HIGH


def test_a_rank_a_little_beyond_the_usual_is_not_named_beside_one_that_is_far_beyond() -> None:
    builder = TraceBuilder(4, end_s=100.0)
    at = 1.0
    for _ in range(40):
        for number, work_s in enumerate((0.10, 0.10, 1.5, 0.11)):
            rank = builder.rank(number)
            rank.phase(PhaseKind.FORWARD, at, at + work_s)
            rank.op("MPI_Allreduce", at + work_s, at + 1.51, sent=8, received=8)
        at += 1.51
    for number in range(4):
        builder.rank(number).init(0.9).finalize(at)
    finding = analyze_trace(builder.build()).findings["load_imbalance"]
    assert finding.ranks == (2,)
    assert finding.actions[0] == (
        "Record once more with --stack-hz 50 (the default), to see which function of forward it "
        "is: rank 2 spends 60.0 s in forward, the others 4.00 s in the median."
    )


def once(works: tuple[float, float], met_s: float, turns: int, work_s: float) -> Finding:
    """Two ranks meet after unequal work, within `met_s`, and then in turns of equal work."""
    builder, at = TraceBuilder(2, end_s=60.0), 1.0
    for number, first_s in enumerate(works):
        rank = builder.rank(number).stack(at + 0.2, [("load", "data.py", 5)])
        rank.phase(PhaseKind.TRAIN, at, at + first_s).op("MPI_Barrier", at + first_s, at + met_s)
    at += met_s
    for _ in range(turns):
        for rank in builder.ranks:
            rank.phase(PhaseKind.TRAIN, at, at + work_s)
            rank.op("MPI_Allreduce", at + work_s, at + 1.05 * work_s)
        at += 1.05 * work_s
    for rank in builder.ranks:
        rank.init(1.0).finalize(at)
    finding = analyze_trace(builder.build()).findings["load_imbalance"]
    assert "once works longer" in finding.title
    return finding


def test_one_late_start_is_said_to_be_one() -> None:
    finding = once((6.0, 1.0), 6.1, 30, 1.0)
    assert finding.status is Status.WARN
    assert finding.confidence is Confidence.LOW  # once: the interval begins at nothing


def test_a_short_wait_that_happened_once_is_told_and_not_warned_of() -> None:
    """300 ms at the start of a run of 3 s."""
    assert once((0.9, 0.3), 0.91, 20, 0.1).status is Status.INFO


@pytest.mark.parametrize(("steps", "status"), [(20, Status.INFO), (200, Status.FAIL)])
def test_what_a_bad_moment_costs_as_well_is_told_of(steps: int, status: Status) -> None:
    """5 % of 2.1 s, and of 21 s."""
    builder, clock = TraceBuilder(2, end_s=1e6), 1.0
    for _ in range(steps):
        for number, work_s in enumerate((0.1, 0.09)):
            builder.rank(number).phase(PhaseKind.TRAIN, clock, clock + work_s)
            builder.rank(number).op("MPI_Allreduce", clock + work_s, clock + 0.105)
        clock += 0.105
    for number in (0, 1):
        builder.rank(number).init(1.0).finalize(clock)
    finding = analyze_trace(builder.build()).findings["load_imbalance"]
    assert finding.status is status
    assert (
        ("system noise" in finding.summary) == (finding.gain_s is None) == (status is Status.INFO)
    )


def test_ordinary_jitter_passes() -> None:
    finding = judged(Plan(jitter=0.03))
    assert finding.status is Status.PASS
    assert "load balance of shared work is 0.99" in finding.summary


def test_what_evaluation_explains_is_left_out() -> None:
    both = analyze(Plan(evaluate_s=4.0, slow_rank=0, slow_forward_s=0.05))
    imbalance = both.findings["load_imbalance"]
    evaluation = both.findings["rank_zero_evaluation"]
    assert imbalance.ranks == (0,)
    assert imbalance.gain_s == pytest.approx(10.0, rel=0.1)
    assert evaluation.gain_s == pytest.approx(40.0, rel=0.02)
    together = both.replay.predict([*evaluation.edits, *imbalance.edits])
    assert together is not None
    assert together.gain_s == pytest.approx(50.0, rel=0.02)


def test_one_rank_has_nothing_to_balance() -> None:
    assert judged(Plan(ranks=1, steps=20)).status is Status.NOT_APPLICABLE


@pytest.mark.parametrize(
    ("joined", "status"), [(False, Status.NOT_APPLICABLE), (True, Status.FAIL)]
)
def test_tasks_that_never_meet_wait_for_nobody(*, joined: bool, status: Status) -> None:
    """Tasks of 20 to 29 s that were started together; with MPI they wait in MPI_Finalize."""
    builder = TraceBuilder(4, end_s=40.0)
    for number in range(4):
        rank, end_s = builder.rank(number), 20.0 + 3 * number
        for tick in range(20, int(end_s * 20)):
            rank.stack((tick + 0.5) / 20, [("main", "/job/x.py", 3), ("work", "/job/x.py", 4)])
        if joined:
            rank.init(1.0).finalize(end_s + 0.1)
        rank.end_s = end_s + 0.5
    assert analyze_trace(builder.build()).findings["load_imbalance"].status is status


def test_communication_that_was_not_recorded_is_not_absent() -> None:
    builder = TraceBuilder(2, end_s=20.0)
    for number in (0, 1):
        rank = builder.rank(number)
        for tick in range(20, 300 + 40 * number):
            rank.stack((tick + 0.5) / 20, [("main", "/job/x.py", 3)])
    trace = builder.set(not_recorded={"communication": "a timeline tells no calls"}).build()
    finding = analyze_trace(trace).findings["load_imbalance"]
    assert finding.status is Status.NOT_MEASURED
    assert "A timeline tells no calls" in finding.summary


def test_waiting_for_input_is_named_and_claims_nothing() -> None:
    """Whose turn it is to wait for a slow producer says nothing about the work of the ranks."""
    finding = judged(Plan(ranks=2, steps=100, starved_rank=0, starved_s=0.02))
    assert finding.status is Status.INFO
    assert finding.title == "The other ranks wait for rank 0, which waits for its input"
    assert finding.gain_s is None
    assert finding.edits == ()
    assert "input wait" not in " ".join(finding.actions)


def test_input_wait_hides_no_imbalance() -> None:
    plan = Plan(steps=100, starved_rank=0, starved_s=0.02, slow_rank=1, slow_forward_s=0.1)
    finding = judged(plan)
    assert finding.status is Status.FAIL
    assert finding.ranks == (1,)
    assert "forward" in finding.title


def test_where_is_the_chain_of_the_work_and_not_of_the_wrapper() -> None:
    main, step = ("main", "/job/train.py", 300), ("train_step", "/job/train.py", 96)
    spend, wrapper = ("spend", "/job/faults.py", 53), ("copy_from_first", "/job/ranks.py", 64)
    builder = TraceBuilder(4, end_s=60.0)
    at = 1.0
    for number in range(40):
        for rank in range(4):
            work_s = 0.6 if rank == 1 else 0.5
            builder.rank(rank).phase(PhaseKind.FORWARD, at, at + work_s, step=number)
            # now and then a sample falls into the call that waits
            leaf = wrapper if number % 10 == 0 else spend
            work_s = 0.501 if leaf is wrapper and rank == 1 else work_s
            builder.rank(rank).stack(at + 0.3, [main, step, leaf])
            builder.rank(rank).op("MPI_Allreduce", at + work_s, at + 0.61)
        at += 0.61
    for rank in range(4):
        builder.rank(rank).init(1.0).finalize(at)
    finding = analyze_trace(builder.build()).findings["load_imbalance"]
    assert [frame.function for frame in finding.where] == ["spend", "train_step"]


@pytest.mark.parametrize(("queued", "status"), [(0.5, Status.INFO), (0.0, Status.FAIL)])
def test_a_rank_that_waits_for_its_cpu_is_not_slow(queued: float, status: Status) -> None:
    """Rank 1 takes 100 ms longer in each step; other processes take its CPU, or do not."""

    def share(builder: TraceBuilder) -> None:
        for number in range(4):
            rank = builder.rank(number).set(cpus_allowed="0-3", cpu_count_allowed=4)
            for tick in range(10, 700):
                delay_s = 0.1 * tick * (queued if number == 1 else 0.0)
                rank.main_sample(tick * 0.1, cpu_s=tick * 0.02, queue_delay_s=delay_s)
                rank.process_sample(
                    tick * 0.1, cpu_s=tick * 0.02, queue_delay_s=delay_s, threads=2, runnable=1
                )

    run = training_run(Plan(slow_rank=1, slow_forward_s=0.1), change=share)
    finding = analyze_trace(run).findings["load_imbalance"]
    assert finding.status is status
    assert (finding.gain is None) == (status is Status.INFO)
    assert ("waiting for CPUs" in finding.summary) == (status is Status.INFO)


def working(
    shares: Sequence[float],
    *,
    steps: int = 60,
    setup: Callable[[TraceBuilder], float] | None = None,
) -> Trace:
    """Each rank trains for its seconds in each step, 1 % more or less, and waits for the others."""
    random, builder = np.random.default_rng(1), TraceBuilder(len(shares), end_s=1e6)
    at = setup(builder) if setup else 1.0
    for step in range(steps):
        spent = [s * (1.0 + 0.01 * random.standard_normal()) for s in shares]
        end = at + max(spent) + 0.001
        for number, seconds in enumerate(spent):
            rank = builder.rank(number).step(step, at, end)
            rank.phase(PhaseKind.TRAIN, at, at + seconds, step=step)
            rank.op("MPI_Allreduce", at + seconds, end, sent=8, received=8)
        at = end
    return builder.ended(at, init_s=1.0, after_s=0.1)


@pytest.mark.parametrize(("heavy", "light"), [(3, 1), (6, 2)])
def test_most_ranks_are_heavy(heavy: int, light: int) -> None:
    """300 ms of work and 200: spread evenly, 275 a step."""
    case = analyze_trace(working([0.3] * heavy + [0.2] * light))
    finding = case.findings["load_imbalance"]
    assert (finding.status, finding.ranks) == (Status.FAIL, tuple(range(heavy)))
    assert finding.gain_s == pytest.approx(60 * 0.025, rel=0.05)
    assert finding.gain_basis is Basis.REPLAY
    assert "evenly" in finding.summary


def test_ranks_that_are_late_once_each_are_late_many_times() -> None:
    """Ten ranks have each one step that takes 2 s longer, in a function of its own."""
    builder, at, extra = TraceBuilder(24, end_s=1e6), 1.0, 2.0
    for step in range(10):
        for number in range(24):
            late = extra if number == step else 0.0
            rank, end = builder.rank(number), at + 0.1 + extra
            for tick in range(int(at * 10) + 1, int((at + 0.1 + late) * 10) + 1):
                rank.stack(tick * 0.1, [("main", "/job/train.py", 3)])
            rank.op("MPI_Allreduce", at + 0.1 + late, end + 1e-3, sent=8, received=8)
        at += 0.101 + extra
    results = analyze_trace(builder.ended(at, init_s=1.0, after_s=0.0)).results
    late_once = tuple(range(10))
    assert {a.instances for a in results.communication.late_arrivals} == {1}
    assert not is_single(results, late_once)
    assert is_single(results, (0,))


def test_files_that_one_rank_reads_in_the_set_up_are_taken_off_once() -> None:
    """Rank 0 reads for 20 s, and prepares for 12 s: none of it is work of the training."""

    def setup(builder: TraceBuilder) -> float:
        builder.rank(0).phase(PhaseKind.IO, 1.0, 21.0)
        for number in range(4):
            begin = 33.0 if number == 0 else 1.5
            builder.rank(number).op("MPI_Bcast", begin, 33.5, peer=0, sent=8, received=8)
        return 33.5

    case = analyze_trace(working([0.1] * 4, steps=200, setup=setup))
    facts = Facts(case.results, case.replay).imbalance
    assert facts.work_s[0] == pytest.approx(200 * 0.1, rel=0.02)


def test_without_a_replay_the_others_are_the_bound() -> None:
    """Rank 1 needs 100 ms more than the others in each of 200 steps: 20 s, not 15."""
    found = {f.id: f for f in without_replay(Plan(slow_rank=1, slow_forward_s=0.1))}
    finding = found["load_imbalance"]
    assert (finding.status, finding.gain_basis) == (Status.FAIL, Basis.UPPER_BOUND)
    assert finding.gain_s == pytest.approx(200 * 0.1, rel=0.02)
    assert "save about" in finding.summary


def test_waits_for_messages_are_no_single_wait_beside_one_collective() -> None:
    """Rank 1 waits for a message of each of 60 steps, and once in a barrier at the end."""
    builder, at = TraceBuilder(2, end_s=60.0), 1.0
    for step in range(60):
        builder.rank(0).op("MPI_Send", at + 0.2, at + 0.201, peer=1, tag=step, sent=8)
        builder.rank(1).op("MPI_Recv", at + 0.1, at + 0.201, peer=0, tag=step, received=8)
        at += 0.201
    builder.rank(0).op("MPI_Barrier", at + 0.05, at + 0.051)
    builder.rank(1).op("MPI_Barrier", at, at + 0.051)
    for number in (0, 1):
        builder.rank(number).init(1.0).finalize(at + 0.1)
    finding = analyze_trace(builder.build()).findings["load_imbalance"]
    assert finding.ranks == (0,)
    assert "once" not in finding.title
