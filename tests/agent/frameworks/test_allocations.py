"""Whether allocations are traced until the end of a program is noted, and no more."""

from collections.abc import Callable

import pytest

from tests.agent.jobs import RANK_ZERO, Job

PROGRAM = """
import tracemalloc
tracemalloc.start(3)
values = [str(number) for number in range(1000)]
"""


def test_traces_that_the_interpreter_was_told_to_keep_are_noted(job: Callable[..., Job]) -> None:
    done = job("values = []", variables={**RANK_ZERO, "PYTHONTRACEMALLOC": "5"})
    assert done.process.metadata["tracemalloc_frames"] == 5


@pytest.mark.parametrize(("end", "frames"), [("", 3), ("tracemalloc.stop()", None)])
def test_traces_that_last_until_the_end_are_noted(
    job: Callable[..., Job], end: str, frames: int | None
) -> None:
    done = job(PROGRAM + end, variables=RANK_ZERO)
    assert (done.exit_code, done.stderr) == (0, b"")
    assert done.process.metadata.get("tracemalloc_frames") == frames
