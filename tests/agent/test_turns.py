"""Variables that count the turns of loops: found in the bytecode, read now and then."""

import types
from collections.abc import Callable
from textwrap import dedent, indent
from types import CodeType, FunctionType
from typing import Any

import pytest

from perfscope.agent.perfscope_agent import callees, notes, own_threads, pace, turns
from perfscope.agent.perfscope_agent.turns import counted
from tests.agent.jobs import Job


def code_of(body: str) -> CodeType:
    made: dict[str, FunctionType] = {}
    exec(compile("def f(xs, g):\n" + indent(dedent(body), "    "), "program.py", "exec"), made)
    return made["f"].__code__


def names(code: CodeType) -> list[str]:
    """The variables that count, by the first line of their loop."""
    found = sorted((lines[0], root[0]) for _, lines, root in counted(code))
    return [code.co_varnames[root] if isinstance(root, int) else str(root) for _, root in found]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("for step in range(9):\n    g(step)", ["step"]),
        ("for step, x in enumerate(xs):\n    g(x)", ["step"]),
        ("for step, (x, y) in enumerate(xs):\n    g(x, y)", ["step"]),
        ("for a in range(9):\n    for b in range(9):\n        g(b)\n    g(a)", ["a", "b"]),
        ("n = 0\nwhile n < 9:\n    g(n)\n    n += 1", ["n"]),
        ("n = 0\nwhile g(n):\n    for x in xs:\n        g(x)\n    n += 2", ["n", "x"]),
        ("while g(xs):\n    g(1)", []),
        ("global k\nfor k in range(9):\n    g(k)", ["k"]),
    ],
)
def test_which_variable_counts(body: str, expected: list[str]) -> None:
    assert names(code_of(body)) == expected


def test_of_a_module_they_are_global() -> None:
    code = compile("for step in range(9):\n    print(step)\n", "program.py", "exec")
    assert names(code) == ["step"]


class Library:
    """Stands in for the recorder's functions: a main thread in a loop, and what is there."""

    def __init__(self, code: CodeType) -> None:
        (self.instructions, _, _), *_ = counted(code)
        self.code, self.value, self.time = code, 0, 0

    def can_look_at_operands(self) -> int:
        return 1

    def operand_places(self, _most: int) -> list[tuple[CodeType, int]]:
        return [(self.code, self.instructions[1])]

    def operands(self, asked: Any, *_: Any) -> list[Any]:
        return [(0, [(1, 7, int, [self.value]) for _ in asked[0][2]])]

    def now(self) -> int:
        self.time += 1
        return self.time


def test_of_many_looks_every_second_one_is_kept_and_again(monkeypatch: pytest.MonkeyPatch) -> None:
    code = compile("for step in range(9):\n    print(step)\n", "/job/program.py", "exec")
    library: Any = Library(code)
    monkeypatch.setattr(callees, "variables_at", lambda _: (0, 0))
    monkeypatch.setattr(pace.Budget, "SHARE", 1e9)
    main = types.ModuleType("__main__")
    vars(main)["step"] = 5000
    monkeypatch.setattr(own_threads, "contents", lambda _: vars(main))
    looker = turns.Looker(library)
    for library.value in range(5000):
        looker.look()
    (told,) = looker.told()
    assert told["place"].startswith("<module>\x1f/job/program.py\x1f")
    assert (told["lines"], told["last"]) == ((1, 2), 5000)
    values = told["values"]
    assert 200 < len(values) <= 512
    assert values == list(range(values[0], 5000, values[1] - values[0]))
    assert len(told["at_ns"]) == len(values)


def test_of_code_that_is_made_all_the_time_not_all_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    source = "for step in range(9):\n    print(step)\n"
    codes = [compile(source, "/job/program.py", "exec") for _ in range(5)]
    library: Any = Library(codes[0])
    monkeypatch.setattr(callees, "variables_at", lambda _: (0, 0))
    monkeypatch.setattr(pace.Budget, "SHARE", 1e9)
    monkeypatch.setattr(turns, "_MOST_FOUND", 3)
    monkeypatch.setattr(own_threads, "contents", lambda _: {})
    looker = turns.Looker(library)
    for library.code in codes:
        for library.value in range(5):
            looker.look()
    assert [one["values"] for one in looker.told()] == [list(range(5))] * 3


def test_a_failure_is_noted_and_ends_the_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    code = compile("for step in range(9):\n    print(step)\n", "/job/program.py", "exec")
    library: Any = Library(code)
    library.operand_places = lambda _: 1 / 0
    noted: list[str] = []
    monkeypatch.setattr(callees, "variables_at", lambda _: (0, 0))
    monkeypatch.setattr(notes, "failure", lambda what, _: noted.append(what))
    looker = turns.Looker(library)
    looker.look()
    looker.look()
    assert (len(noted), looker.told()) == (1, [])


COUNTS = """
import time
from perfscope_agent import pace, turns
pace._SHARE = pace.Budget.SHARE = 0.5  # what looks cost on a slow machine keeps none of them away
def looks():
    return [len(one.values) for one in turns.looker._seen.values()] if turns.looker else []
def inside():
    for number, word in enumerate(iter(str, "never")):
        time.sleep(0.001)
        if len(looks()) > 1 and min(looks()) >= 4:
            return number
for step in range(10**6):
    time.sleep(0.001)
    if max(looks(), default=0) >= 4:
        break
print(step, inside())
"""


def test_a_process_tells_what_counted_turns(job: Callable[..., Job]) -> None:
    """Of the loop of the module the last turn as well, of that in a function what was seen."""
    done = job(COUNTS)
    step, number = map(int, done.stdout.split())
    told = {one["place"].split("\x1f")[0]: one for one in done.process.metadata["loop_turns"]}
    assert told["<module>"]["last"] == step
    assert told["inside"]["last"] is None
    for name, last in (("<module>", step), ("inside", number)):
        values = told[name]["values"]
        assert values == sorted(values)
        assert 0 <= values[0] < values[-1] <= last
