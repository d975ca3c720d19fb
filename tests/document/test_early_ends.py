"""What is to be done first about a run that ended early without an error of Python."""

from typing import Any

import pytest

from perfscope.document.build import build
from perfscope.findings.facts.facts import Facts
from perfscope.schema.enums import EndKind
from perfscope.trace.model import Ending, Raised
from tests.findings.analyzed import analyze_trace
from tests.findings.training_runs import Plan, training_run
from tests.support.trace_builder import TraceBuilder


def verdict(ending: Ending, **of_trace: Any) -> dict[str, Any]:
    """That of a run of which rank 1 ended so."""

    def fail(builder: TraceBuilder) -> None:
        builder.rank(1).set(ending=ending)
        builder.set(**of_trace)

    analyzed = analyze_trace(training_run(Plan(steps=20), change=fail))
    facts = Facts(analyzed.results, analyzed.replay)
    found: dict[str, Any] = build(facts, tuple(analyzed.findings.values()))["verdict"]
    return found


ELASTIC = {"elastic_sizes": [2]}
SEGFAULT = Ending(EndKind.KILLED, 11)
ERROR = Ending(EndKind.EXITED, 1, raised=Raised("ValueError", "no such batch", "/job/a.py", 15))


@pytest.mark.parametrize(
    ("ending", "begin", "how"),
    [
        (SEGFAULT, "Find out what ended the run, mend ", "rank 1 was killed by SIGSEGV (11)"),
        # a program may answer so, as where it stops early or asks to be queued again
        (
            Ending(EndKind.EXITED, 7),
            "Find out whether the run ended as it should, and ",
            "rank 1 exited with code 7",
        ),
        (ERROR, "Mend the error that ended the run, and ", "rank 1 ended with ValueError"),
    ],
)
def test_an_end_without_an_error_is_looked_into_first(ending: Ending, begin: str, how: str) -> None:
    found = verdict(ending)
    assert found["action"].startswith(begin)
    assert how in found["action"]
    assert how in found["sentence"]


@pytest.mark.parametrize("ending", [SEGFAULT, ERROR])
@pytest.mark.parametrize("elsewhere", [{"elsewhere_ns": 5}, {"environment": ELASTIC}])
def test_a_job_that_went_on_with_other_ranks_has_no_end_to_be_mended(
    ending: Ending, elsewhere: dict[str, Any]
) -> None:
    found = verdict(ending, exit_code=0, **elsewhere)
    assert "The job itself went on " in found["sentence"]
    assert "ended the run" not in found["action"]
    failed = verdict(ending, exit_code=1, **elsewhere)
    assert "ended the run" in failed["action"]
