"""What to record so that functions get names, by what was recorded."""

import pytest

from perfscope.findings.core import wording
from perfscope.metrics.compute import compute
from tests.support.trace_builder import TraceBuilder


@pytest.mark.parametrize(("stack_hz", "how"), [(0, "--stack-hz 50"), (50, "options -E and -I of")])
def test_what_was_asked_for_is_not_to_be_asked_for_again(stack_hz: int, how: str) -> None:
    builder = TraceBuilder(1, end_s=2.0).set(environment={"options": {"stack_hz": stack_hz}})
    told = wording.to_see_functions(compute(builder.build()))
    assert told.startswith("Record once more with")
    assert how in told
