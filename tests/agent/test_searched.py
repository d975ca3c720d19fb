"""Lists that a program searches: what the bytecode tells of it, and what looks at a run see."""

from collections.abc import Callable
from typing import Any

import pytest

from perfscope.agent.perfscope_agent.searched import by_place, searches
from tests.agent.jobs import RANK_ZERO, Job

LOOP = """
def work(self, x, rows, parts):
    for part in parts:
        {0}
"""


def found(line: str) -> set[tuple[tuple[object, ...], str]]:
    names: dict[str, Any] = {}
    exec(LOOP.format(line), names)
    return {(path[1:], how) for _, path, how in searches(names["work"].__code__)}


@pytest.mark.parametrize(
    ("line", "path", "how"),
    [
        ("y = part in rows", (), "in"),
        ("if part.key not in self.rows: x(part)", ("rows",), "in"),
        ("x(rows.index(part.key))", (), "index"),
        ("self.rows.remove(part)", ("rows",), "remove"),
        ("y = rows.count(x(part, 3))", (), "count"),
        ("y = rows.pop(0)", (), "shift"),
        ("rows.insert(0, part)", (), "shift"),
    ],
)
def test_what_goes_through_a_list(line: str, path: tuple[str, ...], how: str) -> None:
    assert found(line) == {(path, how)}


@pytest.mark.parametrize(
    "line",
    [
        "y = part in (1, 2)",
        "y = part in x(rows)",
        "y = rows.pop()",
        "y = rows.pop(-1)",
        "rows.insert(part, 0)",
        "y = rows.pop(False)",
        "y = rows.pop(b'0')",
        "rows.append(part)",
        "y = rows.index",
        "y = x.count()",
        "for one in rows: x(one)",
    ],
)
def test_what_does_not(line: str) -> None:
    assert found(line) == set()


def test_each_place_of_a_loop_has_what_that_loop_searches() -> None:
    """A test for membership lets nobody look meanwhile: it is met where its loop next does."""
    names: dict[str, Any] = {}
    exec(LOOP.format("y = part in rows"), names)
    places = by_place(names["work"].__code__)
    assert len(places) > 5
    assert all(len(one) == 1 for one in places.values())


PROGRAM = """
import collections, time
from perfscope_agent import operands, pace
pace._SHARE = pace.Budget.SHARE = 0.5  # what looks cost on a slow machine keeps none of them away

class Rows(list):
    def __len__(self, *_):
        raise RuntimeError
    __contains__ = __getitem__ = __iter__ = __len__

class Queue:
    def __init__(self):
        self.waiting = list(range(20000))
    def turn(self, end):
        while is_rare("self.waiting", end):
            self.waiting.append(self.waiting.pop(0))

def is_rare(name, end):
    found = list(operands.looker._searched.seen.found.values()) if operands.looker else []
    return sum(one.looks for one in found if one.name == name) < 5 and time.monotonic() < end

def search(names, end):
    while is_rare("names", end):
        for number in range(100):
            if number + 9000 in names:
                pass

def of_set(known, end):
    while time.monotonic() < end:
        if 3 in known:
            pass

def of_own(rows, end):
    while time.monotonic() < end:
        try:
            3 in rows
        except RuntimeError:
            pass

search(list(range(10000)), time.monotonic() + 60)
Queue().turn(time.monotonic() + 60)
of_set(set(range(100)), time.monotonic() + 0.5)
of_own(Rows(range(100)), time.monotonic() + 0.5)
"""


def test_lists_are_told_with_their_length_and_nothing_else_is(job: Callable[..., Job]) -> None:
    """No code of the program runs for it: a class of its own that refuses to be asked is not."""
    ended = job(PROGRAM, variables=RANK_ZERO)
    assert ended.exit_code == 0, ended.stderr
    told = {one["name"]: one for one in ended.process.metadata["operands"]["searched"]}
    assert set(told) == {"names", "self.waiting"}
    assert (told["names"]["how"], told["names"]["length"]) == ("in", 10000)
    assert (told["self.waiting"]["how"], told["self.waiting"]["kind"]) == ("shift", "list")
    assert 19999 <= told["self.waiting"]["length"] <= 20000
    assert all(one["looks"] >= 5 for one in told.values())
