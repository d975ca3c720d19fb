"""What a loop makes anew from what it was, read from the bytecode: nothing else."""

from collections.abc import Callable
from typing import Any

import pytest

from perfscope.agent.perfscope_agent.carried import Carried, of_code
from tests.agent.jobs import RANK_ZERO, Job

LOOP = """
def work(self, x, y, parts):
    for part in parts:
        {0}
        y.send(part)
"""
ONCE = """
def work(self, x, y, parts):
    {0}
"""


def carried(source: str) -> set[tuple[str, bool]]:
    names: dict[str, object] = {}
    exec(source, names)
    return {(one[0], one[2]) for made in found(names["work"]).values() for one in made}


def found(work: Any) -> dict[int, list[Any]]:
    return of_code(work.__code__)


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("x = concat([x, part])", "x"),
        ("x = concat([x, part]).reset_index(drop=True)", "x"),
        ("x = x.merge(part)", "x"),
        ("x += part", "x"),
        ("x = x + part", "x"),
        ("self.rows = concatenate((self.rows, part))", "self.rows"),
    ],
)
def test_what_takes_its_own_result(line: str, name: str) -> None:
    assert carried(LOOP.format(line)) == {(name, False)}


@pytest.mark.parametrize(
    "line",
    ["x = concat([y, part])", "x.append(part)", "z = concat([x, part])", "x.rows = load(y)"],
)
def test_what_does_not(line: str) -> None:
    assert carried(LOOP.format(line)) == set()


def test_an_attribute_outlives_the_function_and_a_variable_does_not() -> None:
    kept = carried(ONCE.format("self.rows = concatenate((self.rows, y))"))
    assert {name for name, _ in kept} == {"self.rows"}
    assert carried(ONCE.format("x = concatenate((x, y))")) == set()


def test_whether_the_loop_reads_it_elsewhere() -> None:
    line = "x = concat([x, part])"
    assert carried(LOOP.format(f"{line}; y.send(x.mean())")) == {("x", True)}


def test_what_is_only_added_to_it_does_not_take_it() -> None:
    source = LOOP.format("x += loads(part)")
    names: dict[str, object] = {}
    exec(source, names)
    assert len({one[3] for made in found(names["work"]).values() for one in made}) == 1


def test_code_that_is_too_long_to_be_looked_through_is_left_alone() -> None:
    lines = [f"    x{number} = concat([x{number}, part])" for number in range(2000)]
    assert carried("\n".join(["def work(part):", *lines, ""])) == set()
    assert carried("\n".join(["def work(part):", "  while part:", *lines, ""])) == set()


def test_each_place_of_a_loop_has_all_that_it_makes() -> None:
    """A counter is met at the same places as what is put together behind it."""
    names: dict[str, Any] = {}
    exec(LOOP.format("y += 1; x = concat([x, part])"), names)
    made = found(names["work"])
    assert made
    assert {tuple(one[0] for one in each) for each in made.values()} == {("y", "x")}


CLOSURES = """
def make(x, y):
    def work(parts):
        nonlocal x
        for part in parts:
            x = concat([x, part])
    def other(parts):
        return [y.send(part) for part in parts]
    for part in other(x):
        x = concat([x, part])
    return work
"""


def test_what_a_closure_keeps_goes_by_its_own_name() -> None:
    """An argument that lies in a cell, and a variable of the function around."""
    names: dict[str, Any] = {}
    exec(CLOSURES, names)
    work = names["make"]([], None)
    for one in names["make"], work:
        assert {made[0] for each in found(one).values() for made in each} == {"x"}


class Answers:
    """A recorder that tells what one variable holds, and that nothing leads to others."""

    def __init__(self, known: int) -> None:
        self.known = known
        self.asked: list[int] = []

    def values_held(self, places: Any, *_: Any) -> list[Any]:
        ((_, _, paths),) = places
        self.asked += [path[0] for path in paths]
        return [(0, [(7, 1) if path[0] == self.known else () for path in paths])]


def test_what_leads_nowhere_is_asked_ever_more_rarely_and_hides_nothing() -> None:
    """Of twenty variables that a loop makes anew the last one alone holds something."""
    names: dict[str, Any] = {}
    lines = "; ".join(f"x{number} = concat([x{number}, part])" for number in range(20))
    exec(LOOP.format(lines), names)
    code = names["work"].__code__
    library: Any = Answers(code.co_varnames.index("x19"))
    looker = Carried(library)
    place = next(iter(of_code(code)))
    for _ in range(1000):
        looker.look([(code, place)], (0, 0))
    counts = {number: library.asked.count(number) for number in set(library.asked)}
    known = counts.pop(library.known)
    assert known > 900
    assert len(counts) == 19
    assert set(counts.values()) <= {9, 10, 11}  # after 1, 2, 4 ... 512 of the thousand


LENGTHS = """
import collections, time
from perfscope_agent import operands, pace
pace._SHARE = pace.Budget.SHARE = 0.5
class Pieces(list):
    def __iter__(self):
        raise RuntimeError
    __len__ = __getitem__ = __iter__
def seen(name):  # how often it was looked at
    found = operands.looker._carried.seen.found if operands.looker else {}
    return sum(one.looks for one in list(found.values()) if one.name == name)
def pile(made, name):
    looks, length, parts = 0, 62, made(60)
    for length in range(62, 70):
        parts = added(made, parts, length)
        looks = seen(name)
        end = time.monotonic() + 20
        while seen(name) == looks and time.monotonic() < end:
            pass
def added(made, parts, length):
    return made(length)
def many(held):
    def made(count):
        return held([bytes(1000) for _ in range(count)])
    return made
"""


@pytest.mark.parametrize(
    ("held", "of_each"),
    [
        ("list", 1001),
        ("tuple", 1001),
        ("Pieces", 1001),
        ("lambda items: collections.OrderedDict(enumerate(items))", 1001),
        ("collections.deque", 1),
        ("lambda items: collections.Counter(range(len(items)))", 1),
    ],
)
def test_all_of_a_long_list_counts(job: Callable[..., Job], held: str, of_each: int) -> None:
    """Its first items stand for all of them, and no code of the program runs to tell it."""
    ended = job(LENGTHS + f"pile(many({held}), 'parts')\n", variables=RANK_ZERO)
    assert ended.exit_code == 0, ended.stderr
    (told,) = ended.process.metadata["operands"]["carried"]
    assert told["shrank"] == 0
    assert told["values"] == [62 * of_each, 69 * of_each]
