"""What is known of the end of work whose result a program does not wait for."""

import pytest

from perfscope.agent.perfscope_agent.frameworks.jax_waits import Outputs


class Array:
    """One that is there when it has been asked so often; None: it cannot tell."""

    def __init__(self, asked: int | None) -> None:
        self.left = asked

    def is_ready(self) -> bool:
        if self.left is None:
            raise RuntimeError("Array has been deleted.")
        self.left -= 1
        return self.left < 0


@pytest.mark.parametrize(
    ("evaluated", "awaited", "comes_before"),
    [
        (3, 9, True),
        (0, 9, False),  # it was there before the wait
        (9, 2, False),  # nobody waits longer than for what the program asked
        (None, 9, False),
        (3, None, False),
    ],
)
def test_whether_an_evaluation_ends_in_a_wait_for_something_else(
    evaluated: int | None, awaited: int | None, comes_before: bool
) -> None:
    result, others = Array(evaluated), [Array(awaited)]
    outputs = Outputs()
    outputs.become(result)
    assert outputs.come_before(others) is comes_before


def test_what_is_gone_is_not_waited_for() -> None:
    outputs = Outputs()
    outputs.become(Array(5))
    assert not outputs.come_before([Array(9)])
