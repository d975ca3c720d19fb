"""All diagnoses are found, in a stated order, and a broken one costs nothing but itself."""

from collections import Counter
from collections.abc import Callable
from dataclasses import replace

import pytest

from perfscope.findings.core import catalog
from perfscope.findings.core.diagnosis import Diagnosis
from perfscope.findings.core.finding import Finding, Quiet, not_measured, passed
from perfscope.findings.core.thresholds import WARN_SHARE
from perfscope.findings.facts import facts
from perfscope.findings.facts.facts import Facts
from perfscope.replay.assumptions import ALWAYS, NETWORK
from perfscope.schema.enums import Basis, Status
from perfscope.trace.model import Trace
from tests.findings.analyzed import analyze, analyze_trace, without_replay
from tests.findings.balance.test_load_imbalance import working
from tests.findings.training_runs import Plan, training_run


def test_every_diagnosis_has_a_name_and_a_rank_of_its_own() -> None:
    found = catalog.diagnoses()
    ranks = [diagnosis.rank for diagnosis in found]
    assert ranks == sorted(set(ranks))
    assert len({diagnosis.id for diagnosis in found}) == len(found)


def test_every_diagnosis_says_what_it_looks_for() -> None:
    for diagnosis in catalog.diagnoses():
        assert diagnosis.title
        assert diagnosis.description.endswith((".", ".)"))
        assert diagnosis.evidence


def test_a_diagnosis_that_throws_becomes_an_error() -> None:
    def throw(run: Facts) -> Finding:  # noqa: ARG001
        raise ZeroDivisionError("no ranks at all")

    analyzed = analyze(Plan(steps=10))
    broken = Diagnosis(id="broken", title="Broken", description="Throws.", judge=throw)
    (finding,) = catalog.run_all(Facts(analyzed.results, analyzed.replay), catalog=[broken])
    assert finding.status is Status.ERROR
    assert "ZeroDivisionError: no ranks at all" in finding.summary


def test_every_finding_is_about_itself() -> None:
    for name, finding in analyze(Plan(steps=10)).findings.items():
        assert finding.id == name
        assert finding.title
        assert finding.summary


@pytest.mark.parametrize(
    "trace",
    [
        *(working(shares) for shares in ([0.3, 0.3, 0.3, 0.2], [0.3, 0.295, 0.29, 0.285])),
        training_run(Plan(input_s=0.0, unlucky_s=0.03, steps=60)),
        training_run(Plan(input_s=0.0, unlucky_s=0.03, slow_rank=1, slow_forward_s=0.01, steps=60)),
        training_run(Plan(input_s=0.0, noise=0.3, steps=60)),
        training_run(Plan(input_s=0.0, tail=0.05, steps=60)),
    ],
)
def test_what_a_replay_gives_back_is_no_pass(trace: Trace) -> None:
    """The runs wait for no input, of which some is ordinary and passes."""
    for finding in analyze_trace(trace).findings.values():
        if finding.status is Status.PASS and finding.gain_basis is Basis.REPLAY:
            assert finding.gain_share is not None
            assert finding.gain_share < WARN_SHARE, finding


def test_replayed_gains_carry_what_they_assume_and_others_nothing() -> None:
    plan = Plan(evaluate_s=1.0, allreduce_s=0.2, steps=60)
    replayed = 0
    for finding in analyze(plan).findings.values():
        is_replayed = finding.gain_basis is Basis.REPLAY or bool(finding.edits)
        assert finding.assumptions[:1] == ((ALWAYS,) if is_replayed else ()), finding.id
        replayed += is_replayed
    assert replayed
    assert not any(finding.assumptions for finding in without_replay(plan))


def test_a_faster_network_is_assumed_where_one_was_replayed() -> None:
    found = analyze(Plan(allreduce_s=0.2, steps=60)).findings
    assert NETWORK in found["network_bound"].assumptions
    assert NETWORK in found["network_bound"].row.assumptions


def test_one_of_several_ranks_is_no_run_of_one_rank() -> None:
    trace = replace(training_run(Plan(ranks=1, steps=20)), world_size=2)
    findings = analyze_trace(trace).findings
    names = ("load_imbalance", "network_bound", "initialization_skew", "rank_zero_evaluation")
    for name in names:
        assert findings[name].status is Status.NOT_MEASURED
        assert "rank 1 of 2 ranks is missing" in findings[name].summary


def test_shared_facts_are_found_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many findings ask: what one rank does alone, who works more, why transfer is long."""
    case = analyze(Plan(steps=60, evaluate_s=1.0, allreduce_s=0.05))
    names = ("find_serial_work", "start_up_facts", "imbalance_facts", "judged", "network_facts")
    asked: Counter[str] = Counter()

    def counted(name: str, found: Callable[..., object]) -> Callable[..., object]:
        def count(*arguments: object, **named: object) -> object:
            asked[name] += 1
            return found(*arguments, **named)

        return count

    for name in names:
        monkeypatch.setattr(facts, name, counted(name, getattr(facts, name)))
    catalog.run_all(Facts(case.results, case.replay))
    assert asked == dict.fromkeys(names, 1)


def test_what_a_run_lacks_is_told_and_not_judged() -> None:
    """The first need that is not met makes the outcome, under the subject's title."""
    asked: list[Facts] = []

    def judge(run: Facts) -> Quiet:
        asked.append(run)
        return passed("It is not there.")

    case = analyze(Plan(steps=10))
    lacking = Diagnosis(
        "made_up",
        "It is there",
        "Looks for it.",
        judge,
        needs=(lambda _: None, lambda _: not_measured("Record it."), lambda _: passed("No.")),
        passed="It is away",
        subject="Whether it is there",
    )
    having = replace(lacking, needs=(lambda _: None,))
    (lacks,) = catalog.run_all(Facts(case.results, case.replay), catalog=[lacking])
    assert (lacks.status, lacks.title) == (Status.NOT_MEASURED, "Whether it is there")
    assert (lacks.summary, asked) == ("Record it.", [])
    (has,) = catalog.run_all(Facts(case.results, case.replay), catalog=[having])
    assert (has.id, has.status, has.title) == ("made_up", Status.PASS, "It is away")
    assert len(asked) == 1
