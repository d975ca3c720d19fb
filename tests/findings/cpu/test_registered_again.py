"""Functions that a program gives to a library again and again, and the library calls them all."""

import pytest

from tests.findings.cpu.test_growing_steps import FIXED, judged

LIBRARY = "/env/lib/python3.11/site-packages"
Frames = tuple[tuple[str, str, int], ...]
RUNNER = ("Module._call_impl", f"{LIBRARY}/torch/nn/modules/module.py", 1845)
DECORATED = ("context_decorator.<locals>.wrapped", f"{LIBRARY}/torch/utils/_contextlib.py", 116)
WITHIN = ("ContextDecorator.__call__.<locals>.inner", "/usr/lib/python3.11/contextlib.py", 81)
OPTIMIZER = ("LBFGS.step", f"{LIBRARY}/torch/optim/lbfgs.py", 330)
FITS = ("minimize", f"{LIBRARY}/scipy/optimize/_minimize.py", 726)
HOOK = ("Stats.attach.<locals>.record", "/home/me/train.py", 35)


@pytest.mark.parametrize(
    ("callers", "is_given"),
    [
        ((RUNNER,), True),
        ((RUNNER, DECORATED), True),
        ((FIXED,), False),
        ((DECORATED,), False),
        ((WITHIN,), False),
        ((OPTIMIZER,), False),
        ((OPTIMIZER, DECORATED), False),
        ((FITS,), False),
    ],
)
def test_a_function_that_a_library_calls_may_be_registered_again_and_again(
    callers: Frames, *, is_given: bool
) -> None:
    """A function made in another one, which a library calls, or the program by a decorator.

    How often it is called samples do not tell: what else makes it longer comes first.
    """
    finding = judged(lambda step: 0.002 * step, grows=(FIXED, *callers, HOOK))
    first, *others = finding.actions
    assert first.startswith("In record(): work on what is new alone")
    told = [one for one in others if "register it once" in one]
    assert bool(told) is is_given
    assert all("Stats.attach() makes it, and torch calls it" in one for one in told)
