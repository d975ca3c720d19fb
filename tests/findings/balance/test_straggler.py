"""Stragglers: which ranks or host, in what, and what it costs that they are slow."""

from dataclasses import replace

import pytest

from perfscope.findings.core.finding import Finding
from perfscope.schema.enums import PhaseKind, Status
from perfscope.trace.model import Trace
from tests.findings.analyzed import analyze, analyze_trace
from tests.findings.training_runs import Plan, training_run
from tests.support.trace_builder import TraceBuilder

IMBALANCES = ("load_imbalance", "straggler", "transient_imbalance", "initialization_skew")
FAULTS = {Status.FAIL, Status.WARN}


def fired(plan: Plan) -> Finding:
    """The one finding about uneven work."""
    findings = analyze(plan).findings
    [finding] = [findings[name] for name in IMBALANCES if findings[name].status in FAULTS]
    return finding


def on_hosts(slow: tuple[int, ...], *, hosts: int = 2, ranks: int = 4, steps: int = 60) -> Trace:
    """Steps of 100 ms, 130 ms on the slow ranks; neighbors share a host."""
    share = ranks // hosts
    names = [f"node{number // share}" for number in range(ranks)]
    builder = TraceBuilder(ranks, end_s=100.0, hosts=names)
    at = 1.0
    for number in range(steps):
        for rank in range(ranks):
            work_s = 0.13 if rank in slow else 0.1
            builder.rank(rank).phase(PhaseKind.TRAIN, at, at + work_s, step=number)
            builder.rank(rank).op("MPI_Allreduce", at + work_s, at + 0.132, sent=8, received=8)
        at += 0.132
    for rank in range(ranks):
        builder.rank(rank).init(1.0).finalize(at)
    return builder.build()


def test_slow_in_everything() -> None:
    finding = fired(Plan(slow_rank=2, slow_factor=1.3))
    assert (finding.id, finding.status) == ("straggler", Status.FAIL)
    assert finding.title == "Rank 2 is slower than the others in everything while 3 ranks wait"
    assert finding.actions[0].startswith("Move rank 2 to other CPUs than it has on node0")
    length_s = analyze(Plan(slow_rank=2, slow_factor=1.3)).results.focus.length_ns * 1e-9
    healthy_s = analyze(Plan()).results.focus.length_ns * 1e-9
    assert finding.gain_s == pytest.approx(length_s - healthy_s, rel=0.03)


def test_more_cpu_time_on_the_same_cpus_is_more_work_and_no_place() -> None:
    """Rank 1 takes twice as long in everything for as many samples; both wait half of their time.

    So it waits for CPUs twice as long, which is due to its work.
    """

    def crowd(builder: TraceBuilder, cpus: tuple[str, str]) -> None:
        for number, busy in enumerate((0.5, 1.0)):
            rank = builder.rank(number).set(cpus_allowed=cpus[number], cpu_count_allowed=2)
            for tick in range(10, 900):
                at = tick * 0.1
                rank.main_sample(at, cpu_s=at * busy, queue_delay_s=at * busy / 2)
                rank.process_sample(at, cpu_s=at, queue_delay_s=at * busy / 2, runnable=4)

    plan = Plan(ranks=2, slow_rank=1, slow_factor=2.0, samples=(32, 32))
    same = training_run(plan, change=lambda builder: crowd(builder, ("0-1", "0-1")))
    finding = analyze_trace(same).findings["straggler"]
    assert finding.status.is_fault
    assert "waiting for CPUs" not in finding.summary
    assert "times the CPU time of rank 0 on the same CPUs for the same" in finding.actions[0]
    assert "Sort the samples by length" in finding.actions[0]
    apart = training_run(plan, change=lambda builder: crowd(builder, ("0-1", "2-3")))
    assert "to other CPUs" in analyze_trace(apart).findings["straggler"].actions[0]


@pytest.mark.parametrize(("others", "is_told"), [(0.0, True), (0.5, False)])
def test_what_runs_beside_the_job_may_make_one_rank_a_little_slower(
    others: float, *, is_told: bool
) -> None:
    """By a twelfth in everything, while others use a quarter of the CPUs or none of them."""

    def beside(builder: TraceBuilder) -> None:
        for number in range(2):
            rank = builder.rank(number).set(cpus_allowed="0-1", cpu_count_allowed=2)
            for tick in range(10, 900):
                at = tick * 0.1
                rank.main_sample(at, cpu_s=0.7 * at)
                rank.process_sample(at, cpu_s=0.7 * at, runnable=1)
                rank.cpu_sample(at, busy_s=(1.4 + others) * at, used_s=0.7 * at, cpus=2)

    plan = Plan(ranks=2, slow_rank=1, slow_factor=1.08, noise=0.1, samples=(32, 32))
    finding = analyze_trace(training_run(plan, change=beside)).findings["straggler"]
    assert finding.status.is_fault is is_told
    assert ("Processes outside the job ran on the same CPUs" in finding.summary) is not is_told


def of_one_phase(*, waited: float, elements: list[int] | None = None) -> Finding:
    """Rank 1 takes longer backward for as many samples on the same CPUs, and a bit more CPU time.

    `waited`: what both wait for CPUs, as a share of the time; `elements`: of what a line works on.
    """
    operand = {"name": "batch", "looks": 9, "kind": "tensor", "dtype": "float32"}
    operand.update(shape=[32, 40], elements=elements or [0, 0], layout="rows")
    site = {"place": "step\x1f/home/me/train.py\x1f9", "visits": 9, "looks": 9}
    site.update(whole_looks=0, contents=0, result_looks=0, results=0, operands=[operand])

    def crowd(builder: TraceBuilder) -> None:
        for number, busy in enumerate((0.5, 0.51)):
            rank = builder.rank(number).set(cpus_allowed="0-1", cpu_count_allowed=2)
            if elements:
                rank.set(metadata={"operands": {"sites": [site]}})
            for tick in range(10, 900):
                at = tick * 0.1
                rank.main_sample(at, cpu_s=at * busy, queue_delay_s=at * waited)
                rank.process_sample(at, cpu_s=at, queue_delay_s=at * waited, runnable=1)

    plan = Plan(ranks=2, slow_rank=1, slow_backward_s=0.05, samples=(32, 32))
    return analyze_trace(training_run(plan, change=crowd)).findings["straggler"]


def test_who_takes_little_more_cpu_time_on_crowded_cpus_may_be_late_by_chance() -> None:
    assert of_one_phase(waited=0.0).status.is_fault
    finding = of_one_phase(waited=0.2)
    assert not finding.status.is_fault
    assert finding.gain is None


def test_samples_are_dealt_by_length_where_lengths_may_differ() -> None:
    assert of_one_phase(waited=0.0).actions[0].startswith("Sort the samples by length")
    varying = of_one_phase(waited=0.0, elements=[800, 1280])
    assert varying.actions[0].startswith("Sort the samples by length")
    fixed = of_one_phase(waited=0.0, elements=[1280, 1280])
    assert fixed.actions[0].startswith("Give each rank CPUs of its own")
    assert "for the same number of samples" in fixed.actions[0]
    assert "length" not in fixed.actions[0]


def test_of_two_ranks_slow_in_everything_one_should_be_as_fast_as_the_other() -> None:
    finding = fired(Plan(ranks=2, slow_rank=1, slow_factor=1.3))
    assert finding.id == "straggler"
    length_s = analyze(Plan(ranks=2, slow_rank=1, slow_factor=1.3)).results.focus.length_ns
    healthy_s = analyze(Plan(ranks=2)).results.focus.length_ns
    assert finding.gain_s == pytest.approx((length_s - healthy_s) * 1e-9, rel=0.03)


def test_two_ranks_slow_in_a_phase_each_are_not_slow_in_everything() -> None:
    """Rank 0 takes longer forward, and rank 1 backward: on average both phases are slowed alike."""
    builder, at = TraceBuilder(4, end_s=60.0), 1.0
    for number in range(60):
        end = at + 0.12
        for rank in range(4):
            turn = at + 0.03 + 0.05 * (rank == 0)
            came = turn + 0.03 + 0.055 * (rank == 1)
            phases = builder.rank(rank).phase(PhaseKind.FORWARD, at, turn, step=number)
            phases.phase(PhaseKind.BACKWARD, turn, came, step=number)
            phases.op("MPI_Allreduce", came, end, sent=8, received=8)
        at = end
    for rank in range(4):
        builder.rank(rank).init(1.0).finalize(at)
    findings = analyze_trace(builder.build()).findings
    assert findings["straggler"].status is Status.PASS
    assert findings["load_imbalance"].ranks == (0, 1)
    assert findings["load_imbalance"].status in FAULTS


def test_late_in_one_phase_with_as_many_samples() -> None:
    finding = fired(Plan(ranks=2, slow_rank=1, slow_backward_s=0.05, samples=(32, 32)))
    assert (finding.id, finding.status, finding.ranks) == ("straggler", Status.FAIL, (1,))
    assert finding.gain_s == pytest.approx(10.0, rel=0.05)
    assert finding.title.startswith(
        "Rank 1 is slower than rank 0 in main() (train.py:300), backward"
    )
    assert "the same number of samples" in finding.summary
    arrivals = finding.evidence[0]
    assert arrivals.label == "Last to come where ranks waited"
    last, met = str(arrivals.value).removesuffix(" times").split(" of ")
    assert int(last) >= 0.95 * int(met) >= 190


def test_all_ranks_of_one_host_of_which_nothing_but_calls_is_known() -> None:
    builder = TraceBuilder(4, end_s=12.0)
    for number in range(4):
        host = "slow" if number > 1 else "fast"
        rank = builder.rank(number).set(host=host).init(1.0).finalize(11.0)
        for step in range(100):
            begin = 1.0 + 0.1 * step
            late_s = 0.09 if number > 1 else 0.06
            rank.op("MPI_Allreduce", begin + late_s, begin + 0.095, seq=step, comm=0)
    finding = analyze_trace(builder.build()).findings["straggler"]
    assert finding.status is not Status.ERROR
    assert finding.ranks == (2, 3)


def test_all_ranks_of_one_host() -> None:
    findings = analyze_trace(on_hosts((2, 3))).findings
    finding = findings["straggler"]
    assert (finding.status, finding.ranks) == (Status.FAIL, (2, 3))
    assert finding.title.startswith(
        "Ranks 2 and 3, all those of host node1, are slower than the others"
    )
    assert "--exclude=node1" in finding.actions[0]
    assert finding.gain_s == pytest.approx(60 * 0.03, rel=0.02)
    assert findings["load_imbalance"].status is Status.PASS


@pytest.mark.parametrize("slow", [(1, 2), (1, 3)])
def test_ranks_of_several_hosts_may_have_more_to_do(slow: tuple[int, ...]) -> None:
    findings = analyze_trace(on_hosts(slow)).findings
    assert findings["load_imbalance"].status is Status.FAIL
    assert findings["load_imbalance"].ranks == slow
    assert findings["straggler"].status is Status.PASS


def test_one_host_with_all_ranks_is_no_slow_host() -> None:
    findings = analyze_trace(on_hosts((2, 3), hosts=1)).findings
    assert findings["straggler"].status is Status.PASS


@pytest.mark.parametrize(
    "plan",
    [
        Plan(),
        Plan(ranks=2, jitter=0.03),
        Plan(unlucky_s=0.1),
        Plan(evaluate_s=4.0),
        Plan(allreduce_s=0.2),
        Plan(slow_rank=1, slow_forward_s=0.05, samples=(32, 48, 32, 32)),
    ],
    ids=str,
)
def test_no_other_fault_is_a_straggler(plan: Plan) -> None:
    found = analyze(plan).findings["straggler"]
    assert (found.status, found.gain_s, found.ranks) == (Status.PASS, None, ())


def test_one_rank_or_no_work() -> None:
    assert analyze(Plan(ranks=1, steps=20)).findings["straggler"].status is Status.NOT_APPLICABLE


@pytest.mark.parametrize(
    ("plan", "name"),
    [
        (Plan(slow_rank=1, slow_forward_s=0.1), "load_imbalance"),
        (Plan(slow_rank=1, slow_forward_s=0.1, samples=(8, 8, 8, 8)), "straggler"),
        (Plan(slow_rank=3, slow_factor=1.2), "straggler"),
        (Plan(unlucky_s=0.1), "transient_imbalance"),
    ],
    ids=str,
)
@pytest.mark.parametrize("seed", [1, 2])
def test_exactly_one_fires(plan: Plan, name: str, seed: int) -> None:
    assert fired(replace(plan, steps=100, seed=seed)).id == name
