"""All diagnoses are found, in a stated order, and a broken one costs nothing but itself."""

from __future__ import annotations

from pathlib import Path

from perfscope.findings import catalogue
from perfscope.findings.finding import Diagnosis, Finding, Status
from perfscope.metrics.results import Results
from perfscope.replay.model import Replay
from tests.findings.analysed import analyse
from tests.findings.training_runs import Plan


def test_the_stated_order_comes_first() -> None:
    names = [diagnosis.id for diagnosis in catalogue.diagnoses()]
    assert tuple(names[: len(catalogue.ORDER)]) == catalogue.ORDER
    assert len(set(names)) == len(names)


def test_every_diagnosis_says_what_it_looks_for() -> None:
    for diagnosis in catalogue.diagnoses():
        assert diagnosis.title
        assert diagnosis.description.endswith(".")


def test_a_diagnosis_that_throws_becomes_an_error() -> None:
    def throw(results: Results, replay: Replay) -> Finding:  # noqa: ARG001
        raise ZeroDivisionError("no ranks at all")

    analysed = analyse(Plan(steps=10))
    broken = Diagnosis(id="broken", title="Broken", description="Throws.", judge=throw)
    (finding,) = catalogue.run_all(analysed.results, analysed.replay, catalogue=[broken])
    assert finding.status is Status.ERROR
    assert "ZeroDivisionError: no ranks at all" in finding.summary


def test_every_finding_is_about_itself() -> None:
    for name, finding in analyse(Plan(steps=10)).findings.items():
        assert finding.id == name
        assert finding.title
        assert finding.summary


def test_the_docs_tell_every_diagnosis() -> None:
    text = (Path(__file__).parents[2] / "docs" / "findings.md").read_text(encoding="utf-8")
    missing = [one.id for one in catalogue.diagnoses() if f"| `{one.id}` |" not in text]
    assert not missing
