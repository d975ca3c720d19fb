"""Which calls of a function take what others return, read from its bytecode."""

from collections.abc import Callable
from textwrap import dedent, indent
from types import CodeType, FunctionType

import pytest

from perfscope.agent.perfscope_agent import flows, loops
from tests.agent.jobs import LOOKS, Job


def code_of(body: str) -> CodeType:
    """A function with this body, whose first line is 2."""
    made: dict[str, FunctionType] = {}
    exec(compile("def f(self, g, h):\n" + indent(dedent(body), "    "), "a.py", "exec"), made)
    return made["f"].__code__


def of_code(code: CodeType) -> list[tuple[int, int]]:
    return flows.of_code(code, loops.ranges(code))


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("x = g()\nh(x)", [(2, 3)]),
        ("h(g())", [(2, 2)]),
        ("x, y = g()\nh(1, y)", [(2, 3)]),
        ("self.x = g()\nh(self.x.y)", [(2, 3)]),
        ("self.x = g()\nh(self.y)", []),
        ("self.x.y = g()\nh(self.x.y)", [(2, 3)]),
        ("y = []\nx = g()\ny.append(x)\nh(y)", [(3, 4), (3, 5)]),
        ("y = []\ny.append(g())\nh(y)", [(3, 3), (3, 4)]),
        ("x = g()\nself.y.put(1, x)\nh(self.y)", [(2, 3), (2, 4)]),
        ("x = g()\nz = self.y.put(x)\nh(self.y)", [(2, 3)]),
        ("self.fit(g())\nx = self.score()\nh(x)", [(2, 2), (3, 4)]),
        ("x = g()\nh(x)\nlambda: x", [(2, 3)]),
        ("self.x = self.y\nh(self.x)", []),
        ("for i in self:\n    h(self)\n    x = g(i)\n    h(i, x)", [(4, 5)]),
        ("x = 1\nwhile x:\n    h(x)\n    x = g()", [(5, 4)]),
        ("x = g()\nh(1)\nreturn x", []),
        ("g()\nh(g)", []),
        ("x = g()\nh(k=x)", [(2, 3)]),
        ("x = g()\nx.send(1)", [(2, 3)]),
        ("h(self.x)\nself.x = g()", []),  # it is over by then
        ("h(self.x)\nfor i in self:\n    self.x = g()", []),
        ("for i in self:\n    h(self.x)\nself.x = g()", []),
    ],
)
def test_what_is_passed_on(body: str, expected: list[tuple[int, int]]) -> None:
    assert of_code(code_of(body)) == expected


def test_of_a_long_function_what_goes_round_is_kept() -> None:
    """Of many calls that put something into one variable the last few count: not each with each."""
    body = "x = g()\n" + "x = g(x)\n" * 300 + "for i in self:\n    x = g(i)\n    h(x)"
    found = of_code(code_of(body))
    assert (304, 305) in found
    assert len(found) == 64
    few = of_code(code_of("x = g()\n" + "x = g(x)\n" * 5))
    assert (2, 7) not in few
    assert {(2, 3), (6, 7)} < set(few)


def test_what_a_closure_takes_is_passed_on_as_well() -> None:
    """A cell's number is behind those of locals."""
    code = code_of("for i in self:\n    x = g(h(i), lambda one: (x, i))\n    h(x)")
    assert (3, 3) in of_code(code)


def test_what_a_main_module_passes_on() -> None:
    assert of_code(compile("x = g()\nh(x)\n", "a.py", "exec")) == [(1, 2)]


def test_a_process_tells_what_its_functions_pass_on(job: Callable[[str], Job]) -> None:
    program = LOOKS + dedent(
        """
        def work():
            last = after(3)
            while looks["samples"] < last:
                sum(range(1000))
            return last

        def main():
            rows = work()
            abs(rows)

        main()
        """
    )
    told = {one["place"].split("\x1f")[0]: one for one in job(program).process.metadata["loops"]}
    line = program.splitlines().index("def main():") + 2
    assert told["main"]["passed"] == [[line, line + 1]]
