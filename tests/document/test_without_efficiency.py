"""What a verdict tells of a file that holds no efficiency."""

import pytest

from perfscope.document.without_efficiency import known_without_efficiency
from perfscope.schema.enums import PhaseKind
from tests.findings.analyzed import analyze_trace
from tests.support.trace_builder import TraceBuilder

STEPS = "5 steps of 1.00 s (median)"
SPENT = "of what the process's time goes to (“Forward” 60.0 %, “Evaluation” 20.0 %)"


@pytest.mark.parametrize(
    ("steps", "phases", "said"),
    [
        (True, True, f" The file does tell of {STEPS} and {SPENT}."),
        (True, False, f" The file does tell of {STEPS}."),
        (False, True, f" The file does tell {SPENT}."),
        (False, False, ""),
    ],
)
def test_steps_and_phases_are_told(*, steps: bool, phases: bool, said: str) -> None:
    builder = TraceBuilder(1, end_s=5.0)
    rank = builder.rank(0)
    for number in range(5):
        if steps:
            rank.step(number, number, number + 1.0)
        if phases:
            rank.phase(PhaseKind.FORWARD, number, number + 0.6)
            rank.phase(PhaseKind.EVALUATE, number + 0.6, number + 0.8)
            rank.phase(PhaseKind.OPTIMIZER, number + 0.8, number + 0.804)
    assert known_without_efficiency(analyze_trace(builder.build()).results) == said
