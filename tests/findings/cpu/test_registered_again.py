"""Functions that a program gives to a library again and again, and the library calls them all."""

import pytest

from tests.findings.cpu.test_growing_steps import FIXED, judged

RUNNER = ("run", "/env/lib/python3.11/site-packages/torch/nn/modules/module.py", 1845)
HOOK = ("Stats.attach.<locals>.record", "/home/me/train.py", 35)


@pytest.mark.parametrize(("caller", "is_given"), [(RUNNER, True), (FIXED, False)])
def test_a_function_that_a_library_calls_is_to_be_registered_once(
    caller: tuple[str, str, int], *, is_given: bool
) -> None:
    """A function made in another one, which a library calls, or the program itself."""
    finding = judged(lambda step: 0.002 * step, grows=(FIXED, caller, HOOK))
    assert ("Register record() once" in finding.actions[0]) is is_given
    assert ("Stats.attach() makes it, and torch calls it" in finding.actions[0]) is is_given
