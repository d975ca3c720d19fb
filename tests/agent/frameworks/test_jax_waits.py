"""What is known of the end of work whose result a program does not wait for."""

from collections.abc import Callable

import pytest

from perfscope.agent.perfscope_agent.frameworks.jax_waits import Outputs, Race
from tests.agent.jobs import RANK_ZERO, Job


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
    assert is_won(Race(outputs, others)) is comes_before


def test_what_is_gone_is_not_waited_for() -> None:
    outputs = Outputs()
    outputs.become(Array(5))
    assert not is_won(Race(outputs, [Array(9)]))


def is_won(race: Race) -> bool:
    """Whether the work was there first, without sleeping in between."""
    while race.nap_s():
        pass
    return race.is_won


INTERRUPTED = """
import signal
from perfscope_agent.frameworks import jax_waits

class Array:
    def is_ready(self):
        return False

class Jax:
    @staticmethod
    def block_until_ready(array):
        print("waited")

def give_up(number, frame):
    raise TimeoutError("too long")

def begins(awaited):
    return jax_waits.Race(work, awaited)

running, work = Array(), jax_waits.Outputs()
work.become(running)
jax_waits.install(Jax, (begins, print, print))
signal.signal(signal.SIGALRM, give_up)
signal.setitimer(signal.ITIMER_REAL, 0.2)
try:
    Jax.block_until_ready(Array())
except TimeoutError as error:
    print("the program's:", error)
"""


def test_what_the_handler_of_a_signal_raises_meanwhile_reaches_the_program(
    job: Callable[..., Job],
) -> None:
    done = job(INTERRUPTED, variables=RANK_ZERO)
    assert done.stdout.decode().splitlines() == ["the program's: too long"], done.stderr
