"""What is to be done first about a run that ended early without an error of Python."""

import pytest

from perfscope.document.build import build
from perfscope.findings.facts.facts import Facts
from perfscope.schema.enums import EndKind
from perfscope.trace.model import Ending
from tests.findings.analyzed import analyze_trace
from tests.findings.training_runs import Plan, training_run
from tests.support.trace_builder import TraceBuilder


@pytest.mark.parametrize(
    ("ending", "how"),
    [
        (Ending(EndKind.KILLED, 11), "rank 1 was killed by SIGSEGV (11)"),
        (Ending(EndKind.EXITED, 7), "rank 1 exited with code 7"),
    ],
)
def test_an_end_without_an_error_is_looked_into_first(ending: Ending, how: str) -> None:
    def fail(builder: TraceBuilder) -> None:
        builder.rank(1).set(ending=ending)

    analyzed = analyze_trace(training_run(Plan(steps=20), change=fail))
    facts = Facts(analyzed.results, analyzed.replay)
    found = build(facts, tuple(analyzed.findings.values()))["verdict"]
    assert found["action"].startswith("Find out what ended the run, and record again once it is ")
    assert how in found["action"]
    assert how in found["sentence"]
