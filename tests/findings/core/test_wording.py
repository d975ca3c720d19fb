"""What to record so that functions get names, by what was recorded."""

import pytest

from perfscope.findings.core import wording
from perfscope.metrics.compute import compute
from tests.support.trace_builder import TraceBuilder


@pytest.mark.parametrize(("stack_hz", "how"), [(0, "--stack-hz 50"), (50, "--stacks")])
def test_what_was_asked_for_is_not_to_be_asked_for_again(stack_hz: int, how: str) -> None:
    builder = TraceBuilder(1, end_s=2.0).set(environment={"options": {"stack_hz": stack_hz}})
    told = wording.to_see_functions(compute(builder.build()))
    assert told.startswith("Record once more with")
    assert how in told


@pytest.mark.parametrize("is_told", [False, True])
def test_what_keeps_stacks_of_python_out_is_only_said_of_a_program_that_may_be_so(
    is_told: bool,
) -> None:
    """Compiled programs have no stacks without --stacks; nothing tells that there is a Python."""
    builder = TraceBuilder(1, end_s=2.0).set(environment={"options": {"stack_hz": 50}})
    builder.rank(0).set(metadata={"python": "3.12.1"} if is_told else {})
    told = wording.to_see_functions(compute(builder.build()))
    assert told.startswith("Record once more with --stacks, which sees functions of compiled code")
    assert ("options -E and -I" in told) is not is_told
    assert "of a Python program" in told or is_told
