"""The verdict: one sentence, honest sums."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from perfscope.document import verdict as verdicts
from perfscope.document.build import build
from perfscope.document.hottest import hottest
from perfscope.findings.core.finding import Finding, Gain
from perfscope.findings.facts.facts import Facts
from perfscope.metrics.results import Results
from perfscope.replay.model import Edit
from perfscope.replay.replay import Replay
from perfscope.schema.enums import Basis, EndKind, PhaseKind, Status
from perfscope.schema.write import as_json
from perfscope.trace.damage import Damage
from perfscope.trace.model import Ending, Frame, Raised
from perfscope.units import format_seconds
from tests.findings.analyzed import Analyzed, analyze, analyze_trace
from tests.findings.training_runs import Plan, training_run
from tests.support.trace_builder import TraceBuilder


def build_verdict(results: Results, replay: Replay, findings: Sequence[Finding]) -> dict[str, Any]:
    """The verdict on findings of a whole recording."""
    return as_json(verdicts.verdict(Facts(results, replay), findings, ()))


def verdict(analyzed: Analyzed) -> dict[str, Any]:
    facts = Facts(analyzed.results, analyzed.replay)
    found: dict[str, Any] = build(facts, tuple(analyzed.findings.values()))["verdict"]
    return found


def test_names_rank_function_line_and_gain() -> None:
    found = verdict(analyze(Plan(ranks=2, evaluate_s=2.0)))
    assert found["status"] == "fail"
    assert found["sentence"].startswith(
        "Rank 0 evaluates alone in evaluate() (train.py:212) while rank 1 waits. "
    )
    first = analyze(Plan(ranks=2, evaluate_s=2.0)).findings["rank_zero_evaluation"].first
    assert first is not None
    assert first.seconds == pytest.approx(10.0, rel=0.01)  # each of two ranks evaluates half
    told = "The fix would save up to 9.99 s of the 73.6 s run (13.6 %), at least 8.99 s."
    assert told in found["sentence"]
    assert found["track_record"].endswith("; here, an even split frees no more than 9.99 s.")
    assert found["top"] == ["rank_zero_evaluation"]
    assert found["combined_gain_s"] == first.seconds


@pytest.mark.parametrize("is_recorded", [True, False])
def test_ranks_that_never_communicate_are_independent(*, is_recorded: bool) -> None:
    """Two folds side by side; where a tool records no communication, nobody knows."""
    builder = TraceBuilder(2, end_s=12.0)
    for number in (0, 1):
        rank = builder.rank(number)
        for step in range(100):
            rank.step(step, 1.0 + step / 10, 1.1 + step / 10)
            rank.phase(PhaseKind.TRAIN, 1.0 + step / 10, 1.1 + step / 10)
    if not is_recorded:
        builder.set(not_recorded={"communication": "a timeline tells no calls"})
    run = analyze_trace(builder.build())
    said = "The 2 ranks are independent tasks: they never communicate. All is well: "
    found = verdict(run)
    assert found["sentence"].startswith(said) is is_recorded
    assert ("is not known" in found["sentence"]) is not is_recorded
    assert (found["status"] == "pass") is is_recorded
    skew = run.findings["initialization_skew"].status
    assert (skew is Status.NOT_APPLICABLE) is is_recorded


def test_gains_together_are_replayed_together() -> None:
    """Rank 1 is slow where rank 0 evaluates: what each fix gives depends on the other."""
    plan = Plan(
        ranks=2,
        steps=100,
        evaluate_s=0.1,
        evaluate_every=1,
        slow_rank=1,
        slow_forward_s=0.1,
        samples=(32, 32),
    )
    found = verdict(analyze(plan))
    truth = analyze(Plan(ranks=2, steps=100)).results.focus.length_ns
    measured = analyze(plan).results.focus.length_ns
    assert found["combined_gain_s"] == pytest.approx((measured - truth) * 1e-9, rel=0.1)


def test_healthy() -> None:
    found = verdict(analyze(Plan()))
    assert found["status"] == "pass"
    assert found["sentence"].startswith("All is well: ")
    assert " kinds of problem were checked for" in found["sentence"]
    assert found["action"] == "None needed."
    assert found["top"] == []
    assert found["combined_gain_s"] is None


def test_where_most_is_computed_is_told_though_nothing_proves_it_wrong() -> None:
    builder = TraceBuilder(2, end_s=101.0)
    for number in (0, 1):
        rank = builder.rank(number).init(1.0).finalize(100.0)
        for tick in range(990):
            name, line, called = ("relax", 25, "numpy.multiply") if tick % 3 else ("flux", 40, "?")
            leaf = (called, "<built-in>", 0)
            rank.stack(
                1.0 + tick / 10,
                [("main", "/job/plate.py", 60), (name, "/job/plate.py", line), leaf],
            )
        for step in range(98):
            rank.op("MPI_Allreduce", 1.99 + step, 2.0 + step, comm=0, seq=step)
    run = analyze_trace(builder.build())
    found = verdict(run)
    assert found["top"] == []
    facts = Facts(run.results, run.replay)
    relax, flux = Frame("relax", "/job/plate.py", 25), Frame("flux", "/job/plate.py", 40)
    beside = hottest(facts, [relax], 1000, is_alone=False)
    assert beside.endswith("flux() (plate.py:40) takes 32.3 %.")
    assert hottest(facts, [relax, flux], 1000, is_alone=True) == ""
    shorter = hottest(facts, [relax], len(beside) - 1, is_alone=False)
    assert "relax()" in shorter
    assert "flux()" not in shorter
    assert hottest(facts, [relax], 10, is_alone=False) == ""
    assert found["action"] == "None needed."
    assert found["hot_spots"] == (
        "relax() (plate.py:25) takes 64.7 % of the 101 s run, computing "
        "or waiting for a CPU (61.4 % in numpy.multiply); flux() (plate.py:40) takes 32.3 %. "
        "As far as was seen, these cost what such operations do."
    )


@pytest.mark.parametrize(("slept", "is_told"), [(1, True), (3, False)])
def test_where_most_is_computed_is_told_beside_what_saves_little(
    slept: int, *, is_told: bool
) -> None:
    """Of 20 samples so many sleep: beside a major problem the rest only leads elsewhere."""
    builder = TraceBuilder(1, end_s=102.0)
    rank = builder.rank(0).init(1.0).finalize(101.0)
    sleeps = [("pause", "/job/plate.py", 40), ("time.sleep", "<built-in>", 0)]
    works = [("relax", "/job/plate.py", 25), ("numpy.multiply", "<built-in>", 0)]
    for _, begin in rank.steps(100, 1.0):
        for tick in range(20):
            rank.stack(begin + tick / 20 + 0.025, sleeps if tick < slept else works)
    found = verdict(analyze_trace(builder.build()))
    assert found["top"] == ["lost_to_sleep"]
    assert bool(found["hot_spots"]) is is_told


@pytest.mark.parametrize(("cpus", "is_told"), [(1.0, True), (0.05, False)])
def test_who_waits_for_threads_that_rest_computes_nothing(cpus: float, *, is_told: bool) -> None:
    """As the main thread of a server does, whose library waits for what others ask of it."""
    builder = TraceBuilder(2, end_s=10.0)
    called = ("shutdown", "/lib/python3.11/site-packages/torch/distributed/rpc/api.py", 343)
    for number in (0, 1):
        rank = builder.rank(number).init(0.5).finalize(9.5)
        for tick in range(90):
            at = 0.5 + tick / 10
            rank.stack(at, [("serve", "/job/server.py", 7), called, ("futex", "<system-call>", 0)])
            rank.process_sample(at, cpu_s=cpus * at, queue_delay_s=0.0)
    told = str(verdict(analyze_trace(builder.build()))["hot_spots"])
    assert ("serve() (server.py:7)" in told) is is_told


def test_what_most_of_the_run_goes_to_leads_though_nothing_cures_it() -> None:
    def told(init_s: float) -> str:
        builder = TraceBuilder(2, end_s=20.0)
        for number in (0, 1):
            builder.rank(number).init(init_s).finalize(19.0)
        return str(verdict(analyze_trace(builder.build()))["sentence"])

    assert told(15.0).startswith(
        "Most of the run, 16.0 s (80.0 % of the 20.0 s run), is start-up and end. "
        "Start-up 15.0 s, shutdown 1.00 s. Apart from start-up and end: "
    )
    assert "Most of the run" not in told(5.0)


def test_a_finding_comes_before_what_passes_outside_of_the_window() -> None:
    """The change that is known leads, though ten times its saving passes in the launcher."""
    trace = training_run(Plan(ranks=2, steps=40, evaluate_s=2.0))
    found = verdict(analyze_trace(replace(trace, wall_ns=round(60e9))))
    assert found["sentence"].startswith("Rank 0 evaluates alone in evaluate() (train.py:212) ")
    told = found["sentence"].index("Most of the run, ")
    assert found["sentence"].index("The fix would save ") < told
    assert found["sentence"][told:].startswith("Most of the run, 45.")
    assert "Apart from" not in found["sentence"]


def test_says_when_nothing_can_be_said() -> None:
    found = verdict(analyze_trace(TraceBuilder(1, end_s=5.0).build()))
    assert found["status"] == "info"
    assert found["sentence"].startswith("Nothing can be said about this run.")


def test_a_killed_rank_comes_first() -> None:
    def kill(builder: TraceBuilder) -> None:
        builder.rank(1).set(ending=Ending(EndKind.KILLED, 9))

    found = verdict(analyze_trace(training_run(Plan(steps=20), change=kill)))
    assert found["sentence"].startswith("The run was cut short 6.73 s after the start: rank 1 was ")
    assert "killed by SIGKILL (9). Up to that point all was well: " in found["sentence"]


@pytest.mark.parametrize("evaluate_s", [0.0, 2.0], ids=["no finding", "a finding"])
def test_the_first_thing_to_do_about_an_error_is_to_mend_it(evaluate_s: float) -> None:
    def fail(builder: TraceBuilder) -> None:
        raised = Raised("ModuleNotFoundError", "no logx", "/job/train.py", 12)
        builder.rank(1).set(ending=Ending(EndKind.EXITED, 1, raised=raised))

    plan = Plan(steps=20, evaluate_s=evaluate_s)
    found = verdict(analyze_trace(training_run(plan, change=fail)))
    assert found["action"] == (
        "Mend the error that ended the run, and record again: rank 1 ended with "
        "ModuleNotFoundError at train.py:12."
    )
    assert "ended with ModuleNotFoundError at train.py:12" in found["sentence"]
    assert "error" not in verdict(analyze_trace(training_run(plan)))["action"]


def test_processes_that_never_met_come_first() -> None:
    def alone(builder: TraceBuilder) -> None:
        builder.rank(0).set(metadata={"rank_environment": {"PMI_SIZE": "4"}})

    found = verdict(analyze_trace(training_run(Plan(ranks=1, steps=20), change=alone)))
    assert found["sentence"].startswith("The 4 processes never met: ")
    assert found["sentence"].count("never met") == 1


def test_damage_is_found_once_for_the_run_and_the_verdict(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    def damage(*_: object) -> tuple[Damage, ...]:
        asked.append(1)
        return (Damage("made_up", f"The recording was looked at {len(asked)} times."),)

    monkeypatch.setattr("perfscope.document.build.run_damage", damage)
    analyzed = analyze(Plan(ranks=2, steps=20))
    found = build(Facts(analyzed.results, analyzed.replay), tuple(analyzed.findings.values()))
    told = found["run"]["damage"][0]["text"]
    assert told == "The recording was looked at 1 times."
    assert found["verdict"]["sentence"].startswith(told)


def test_crowded_cpus_come_before_the_jitter_they_cause() -> None:
    def crowd(builder: TraceBuilder) -> None:
        for number in range(4):
            rank = builder.rank(number).set(cpus_allowed="0-3", cpu_count_allowed=4)
            for tick in range(10, 500):
                at = tick * 0.1
                rank.process_sample(at, cpu_s=at, queue_delay_s=at, threads=4, runnable=3)

    analyzed = analyze_trace(training_run(Plan(unlucky_s=0.1), change=crowd))
    found = verdict(analyzed)
    assert found["top"] == ["threads_over_cores"]
    assert found["sentence"].startswith(
        "CPU oversubscription on host node0: 12.0 runnable threads on 4 CPUs."
    )
    imbalance = analyzed.findings["transient_imbalance"]
    assert (imbalance.status, imbalance.gain_s) == (Status.INFO, None)
    assert imbalance.title == (
        "A different rank is late in each step, because the ranks wait for CPUs"
    )
    assert "CPUs of their own" in imbalance.actions[0]


def test_two_findings_say_what_both_fixes_give() -> None:
    found = verdict(analyze(Plan(evaluate_s=4.0, slow_rank=1, slow_forward_s=0.05)))
    assert found["top"] == ["rank_zero_evaluation", "load_imbalance"]
    gain = format_seconds(found["combined_gain_s"])
    assert found["combined_text"].startswith(f"fixing both would save {gain} (")


def fault(name: str, status: Status, gain_s: float | None, *edits: Edit) -> Finding:
    """A finding made by hand, of a focus of 100 s."""
    gain = None if gain_s is None else Gain(gain_s, gain_s / 100, basis=Basis.REPLAY, edits=edits)
    return Finding(status, name, ".", gain, id=name)


def test_a_bound_that_was_not_replayed_is_no_part_of_a_sum() -> None:
    analyzed = analyze(Plan(ranks=2, evaluate_s=2.0))
    alone = analyzed.findings["rank_zero_evaluation"]
    assert alone.edits
    found = build_verdict(
        analyzed.results, analyzed.replay, [alone, fault("bound", Status.FAIL, 3.0)]
    )
    assert found["top"] == ["rank_zero_evaluation", "bound"]
    assert found["combined_gain_s"] is None
    assert found["action"] == ""


def test_what_is_fixed_together_is_told_in_one_way() -> None:
    """Of three findings two are replayed, one of them as a bound; the third is not."""
    analyzed = analyze(Plan(ranks=2, evaluate_s=2.0))
    alone = analyzed.findings["rank_zero_evaluation"]
    most = Gain(3.0, 0.03, edits=alone.edits)
    bound = Finding(Status.FAIL, "bound", ".", most, id="bound")
    faults = [alone, bound, fault("unknown", Status.FAIL, 2.0)]
    found = build_verdict(analyzed.results, analyzed.replay, faults)
    gain = format_seconds(found["combined_gain_s"])
    told = f"fixing both findings that can be simulated would save about {gain}"
    assert found["combined_text"].startswith(f"{told} (")


def test_one_finding_is_nothing_together() -> None:
    found = verdict(analyze(Plan(ranks=2, evaluate_s=2.0)))
    assert found["top"] == ["rank_zero_evaluation"]
    assert found["combined_text"] is None


def test_what_does_not_apply_is_no_diagnosis_that_could_not_be_made() -> None:
    analyzed = analyze(Plan(ranks=2, steps=100))
    findings = [
        fault("fine", Status.PASS, None),
        fault("absent", Status.NOT_APPLICABLE, None),
        fault("unseen", Status.NOT_MEASURED, None),
    ]
    found = build_verdict(analyzed.results, analyzed.replay, findings)
    told = " 1 kind of problem was checked for; 1 more could not be."
    assert told in found["sentence"]


def polling(busy_s: float) -> TraceBuilder:
    """Two ranks that ask for a message for so long in every second of 26."""
    builder = TraceBuilder(2, end_s=30.0)
    for number in (0, 1):
        rank = builder.rank(number).init(1.0).finalize(29.0)
        for second in range(2, 28):
            rank.op("MPI_Iprobe", second + 0.1, second + 0.1 + busy_s)
    return builder


@pytest.mark.parametrize(
    ("busy_s", "status", "told"),
    [
        (
            0.85,
            "warn",
            (
                "Efficiency is low: 73.7 % of the 30.0 s run went to "
                "something other than useful computation. The largest loss is "
                "unexplained waiting: 22.1 s per rank. Parallel efficiency, 0.211, counts only "
            ),
        ),
        (
            0.1,
            "info",
            (
                "No problem was found: nothing that is sure to save 280 ms of the "
                "30.0 s run. 8.7 % of the 30.0 s run went to something other than "
                "useful computation, and of 84.7 % nothing is known. The largest loss is "
            ),
        ),
        (0.01, "info", "No problem was found: nothing that is sure"),
    ],
)
def test_what_is_lost_without_a_finding_is_no_pass(busy_s: float, status: str, told: str) -> None:
    found = verdict(analyze_trace(polling(busy_s).build()))
    assert found["sentence"].startswith(told)
    assert found["status"] == status
    assert "None needed" not in found["action"]


@pytest.mark.parametrize(("init_s", "is_most"), [(1.0, True), (79.0, False)])
def test_nothing_need_be_done_only_where_most_of_the_run_was_training(
    init_s: float, *, is_most: bool
) -> None:
    """Both ranks compute all the time from the end of their start-up to 150 s."""
    builder = TraceBuilder(2, end_s=151.0)
    for number in (0, 1):
        rank = builder.rank(number).init(init_s).finalize(150.0)
        for tick in range(int(10 * (150.0 - init_s))):
            rank.stack(init_s + tick / 10, [("relax", "/job/plate.py", 25)])
        for step in range(int(150.0 - init_s)):
            rank.op("MPI_Allreduce", init_s + step + 0.99, init_s + step + 1.0, comm=0, seq=step)
    found = verdict(analyze_trace(builder.build()))
    assert ("Most of the run" in found["sentence"]) is not is_most
    assert found["action"].startswith("None needed.") is is_most


@pytest.mark.parametrize(("gains", "together"), [((30.0, 1.0), 30.0), ((9.0, 0.5), 9.5)])
def test_together_lies_between_the_best_and_the_sum(
    gains: tuple[float, float], together: float
) -> None:
    """The replay of both says 20 s."""
    analyzed = analyze(Plan(ranks=2, evaluate_s=2.0))
    alone = analyzed.findings["rank_zero_evaluation"]
    assert alone.gain_s == pytest.approx(20.0, rel=0.05)
    faults = [
        fault(name, Status.FAIL, gain_s, *alone.edits)
        for name, gain_s in zip("ab", gains, strict=True)
    ]
    found = build_verdict(analyzed.results, analyzed.replay, faults)
    assert found["combined_gain_s"] == pytest.approx(together)
