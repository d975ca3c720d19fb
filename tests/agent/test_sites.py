"""Places of the program that calls come from."""

from collections.abc import Callable
from types import FunctionType

import pytest

from perfscope.agent.perfscope_agent import files, sites


def caller(number: int) -> Callable[[], "sites.Site | None"]:
    made: dict[str, FunctionType] = {}
    code = compile("def call():\n    return here()\n", f"/job/{number}.py", "exec")
    exec(code, {"here": sites.here}, made)
    return made["call"]


def test_of_code_that_is_made_all_the_time_not_all_places_are_known(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(files, "is_program", lambda name: name.startswith("/job/"))
    monkeypatch.setattr(sites, "_is_own", {})
    monkeypatch.setattr(sites, "_kept", {})
    monkeypatch.setattr(sites, "_MOST_KEPT", 3)
    callers = [caller(number) for number in range(5)]
    found = [call() for call in callers]
    assert [one is not None for one in found] == [True] * 3 + [False] * 2
    assert [call() for call in callers] == found
