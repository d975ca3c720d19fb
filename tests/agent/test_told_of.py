"""Profilers and debuggers that are on for most of a run are noted, also when off at its end."""

from collections.abc import Callable

import pytest

from tests.agent.jobs import LOOKS, RANK_ZERO, Job

PROGRAM = (
    LOOKS
    + """
import cProfile, sys
def half(number):
    return number // 2
def work(wanted):
    last = after(wanted)
    while looks["samples"] < last:
        for number in range(100):
            half(number)
kind, most, fewest = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
profile = cProfile.Profile()
if kind == "cProfile":
    profile.enable()
elif kind == "setprofile":
    sys.setprofile(lambda *of: None)
elif kind == "settrace":
    sys.settrace(lambda *of: None)
work(most)
if kind == "cProfile":
    profile.disable()
sys.setprofile(None)
sys.settrace(None)
work(fewest)
"""
)


def told(job: Callable[..., Job], kind: str, most: int, fewest: int) -> set[str]:
    done = job(PROGRAM, variables=RANK_ZERO, arguments=(kind, str(most), str(fewest)))
    assert done.exit_code == 0, done.stderr
    return {"profile_function", "trace_function"} & set(done.process.metadata)


@pytest.mark.parametrize(
    ("kind", "fact"),
    [
        ("cProfile", "profile_function"),
        ("setprofile", "profile_function"),
        ("settrace", "trace_function"),
    ],
)
def test_what_is_on_for_most_of_a_run_is_noted(
    job: Callable[..., Job], kind: str, fact: str
) -> None:
    assert told(job, kind, 30, 3) == {fact}


def test_a_profile_of_the_first_steps_is_not(job: Callable[..., Job]) -> None:
    assert told(job, "cProfile", 4, 40) == set()
