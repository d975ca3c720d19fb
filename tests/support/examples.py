"""Examples of property tests that are the same in every run."""

from hypothesis.internal.conjecture import providers
from hypothesis.internal.constants_ast import Constants

LOCAL_CONSTANTS = "_get_local_constants"
"""What Hypothesis asks for the numbers and words of the project; no setting switches that off."""


def none() -> Constants:
    """No numbers and no words."""
    return Constants()


def draw_no_local_constants() -> None:
    """Has the property tests of this process draw nothing from the code that is being tested.

    With `derandomize`, examples depend on the test alone, but for such constants: they are those of
    every module of the project that has been imported so far, by whatever tests ran before.
    """
    setattr(providers, LOCAL_CONSTANTS, none)
