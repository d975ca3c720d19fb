"""Which calls of a function take what others return, read from its bytecode."""

import dis
from collections.abc import Callable, Iterator
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
    return flows.Flows(code, loops.ranges(code)).pairs


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
        ("self.x = self.y\nh(self.x)", [(2, 3)]),
        ("for i in self:\n    h(self)\n    x = g(i)\n    h(i, x)", [(2, 4), (2, 5), (4, 5)]),
        ("x = 1\nwhile x:\n    h(x)\n    x = g()", [(5, 4)]),
        ("x = g()\nh(1)\nreturn x", [(2, 4)]),
        ("g()\nh(g)", []),
        ("x = g()\nh(k=x)", [(2, 3)]),
        ("x = g()\nx.send(1)", [(2, 3)]),
        ("self.x += g()\nh(self.x)", [(2, 3)]),
        ("self.y[0] += g()\nh(self.y)", [(2, 3)]),
        ("a, *b = g()\nh(b)", [(2, 3)]),
        ("a = b = g()\nh(b)", [(2, 3)]),
        ("x = g() if self else 1\nh(x)", [(2, 3)]),
        ("h(self.x)\nself.x = g()", []),  # it is over by then
        ("h(self.x)\nfor i in self:\n    self.x = g()", []),
        ("for i in self:\n    h(self.x)\nself.x = g()", []),
    ],
)
def test_what_is_passed_on(body: str, expected: list[tuple[int, int]]) -> None:
    assert of_code(code_of(body)) == expected


TWO_LOOPS = """
for epoch in self:
    for x, y in g():
        x, y = x.to(1), y.to(1)
        h(x, y)
    for x, y in g():
        x, y = x.to(1), y.to(1)
        self.test(x, y)
"""
IN_BETWEEN = """
while self:
    if self.due():
        x = g(0)
        self.test(x)
    x = g(1)
    y = h(x)
    for i in self:
        x = g(2)
        y = h(x)
"""


@pytest.mark.parametrize(
    ("body", "told", "others"),
    [
        (TWO_LOOPS, {(5, 6), (8, 9)}, {(5, 9), (8, 6), (4, 9), (7, 6)}),
        (IN_BETWEEN, {(5, 6), (7, 8), (10, 11)}, {(5, 8), (5, 11), (7, 11), (10, 8), (7, 6)}),
        ("for x in g():\n    h(x)\n    x = h(x)", {(2, 3), (2, 4)}, {(4, 3), (4, 4)}),
        ("x = g()\nfor i in self:\n    h(x)\n    x = h(i)", {(2, 4), (5, 4)}, set()),
        ("for i in self:\n    if i:\n        x = g()\n    h(x)", {(4, 5)}, set()),
        ("if self:\n    x = g()\nelse:\n    x = g()\nh(x)", {(3, 6), (5, 6)}, set()),
        ("try:\n    x = g()\nexcept OSError:\n    x = g()\nh(x)", {(3, 6), (5, 6)}, set()),
        (
            "for x in g():\n    for i in self:\n        h(x)\n        x = g()",
            {(5, 4), (2, 4)},
            set(),
        ),
        ("for x in self.all:\n    x.append(g())\n    h(x)", {(3, 4)}, set()),
    ],
)
def test_what_a_loop_begins_with_is_not_what_another_one_has_left(
    body: str, told: set[tuple[int, int]], others: set[tuple[int, int]]
) -> None:
    """As training and validation call their batches the same in one function."""
    found = set(of_code(code_of(body)))
    assert told <= found
    assert not others & found


def test_of_a_long_function_what_goes_round_is_kept() -> None:
    """Of many calls that put something into one variable the last few count: not each with each."""
    body = "x = g()\n" + "x = g(x)\n" * 300 + "for i in self:\n    x = g(i)\n    h(x)"
    found = of_code(code_of(body))
    assert (304, 305) in found
    assert len(found) == flows.MOST
    few = of_code(code_of("x = g()\n" + "x = g(x)\n" * 5))
    assert (2, 7) not in few
    assert {(2, 3), (6, 7)} < set(few)


def test_what_a_closure_takes_is_passed_on_as_well() -> None:
    """A cell's number is behind those of locals."""
    code = code_of("for i in self:\n    x = g(h(i), lambda one: (x, i))\n    h(x)")
    assert (3, 3) in of_code(code)


def test_what_a_main_module_passes_on() -> None:
    assert of_code(compile("x = g()\nh(x)\n", "a.py", "exec")) == [(1, 2)]


KEYS = """
class Buffer:
    def store(self, state):
        self.states[self.at] = state
    def put(self, state):
        self.rows.append(state)
    def copy(self, state):
        self.tensor[0].copy_(state)
    def get(self):
        return self.rows
    def hand(self, state):
        self.put(state)
        self.log.write(state)
        mine = []
        mine.append(state)

memory = Buffer()

def train(memory, x):
    for batch in memory.get():
        x(batch)

def act():
    global last
    last = memory.pick()
    return [one for one in memory.pick() if one in last]
"""


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        ("store", {("store()", 4), (4, "Buffer.states")}),
        ("put", {("put()", 6), (6, "Buffer.rows")}),
        ("copy", {("copy()", 8), (8, "Buffer.tensor")}),
        ("get", {("Buffer.rows", 10), (10, "<returned>")}),
        ("hand", {("hand()", 12), (12, "put()"), (13, "?Buffer.log")}),
        ("train", {("memory", 20), ("train()", 20)}),
        ("act", {(25, "=last"), ("=memory", 25), (26, "<returned>")}),
        ("<module>", {(17, "=memory")}),
    ],
)
def test_what_is_handed_on_between_functions(
    function: str, expected: set[tuple[int | str, int | str]]
) -> None:
    def codes(code: CodeType) -> Iterator[CodeType]:
        yield code
        for one in code.co_consts:
            if isinstance(one, CodeType):
                yield from codes(one)

    whole = compile(KEYS, "a.py", "exec")
    code = next(one for one in codes(whole) if one.co_name == function)
    edges = flows.Flows(code, loops.ranges(code)).edges
    assert expected <= set(edges)
    assert not any(key == "mine" or (line, key) == (15, "append()") for line, key in edges)


def test_a_process_tells_what_short_functions_hand_on(job: Callable[[str], Job]) -> None:
    """No look meets the methods of the buffer; what nobody takes is left out."""
    program = LOOKS + dedent(
        """
        class Buffer:
            def __init__(self):
                self.rows, self.others = [], []
            def store(self, row):
                self.rows.append(row)
                self.others.append(row)
            def get(self):
                return list(self.rows)

        def work(buffer):
            last = after(3)
            while looks["samples"] < last:
                sum(range(1000))
            buffer.store(last)

        def main():
            buffer = Buffer()
            work(buffer)
            print(buffer.get())

        main()
        """
    )
    told = {one["place"].split("\x1f")[0]: one for one in job(program).process.metadata["loops"]}
    line = program.splitlines().index("    def store(self, row):") + 2
    store = told["Buffer.store"]["passed"]
    assert ["store()", line] in store
    assert [line, "Buffer.rows"] in store
    assert not any(key == "Buffer.others" for _, key in store)


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


@pytest.mark.parametrize(
    ("body", "fed"),
    [
        ("w, m = step(w, m, g)", ["w", "m"]),
        ("g = slope(w, x); w, m = step(w, m, g)", ["w", "m", "g"]),
        ("g = slope(w, x); comm.Allreduce(g, whole); w = step(w, whole)", ["w", "whole"]),
        ("g = slope(w, x); kept = step(w, g); w = kept", ["w", "g"]),
        ("w, m = step(w, m, g), w", ["w", "m"]),
        ("m, g = step(w, m, g), x", ["m"]),
        ("rows = step(x)", []),
        ("rows = load(x); step(rows)", []),
        ("g = slope(w, x); w -= g; rows = step(x)", []),
    ],
    ids=[
        "at once",
        "by a call",
        "by a buffer",
        "by a name",
        "in turn",
        "beside data",
        "data",
        "a result that nobody takes",
        "beside another state",
    ],
)
def test_what_a_call_takes_that_it_has_returned_before(body: str, fed: list[str]) -> None:
    """In a loop that the data of each turn come from."""
    text = f"def f(comm, batches, w, m, whole):\n for x in batches:\n  {body}"
    (code,) = [one for one in compile(text, "a.py", "exec").co_consts if isinstance(one, CodeType)]
    last = [one.offset for one in dis.get_instructions(code) if "step" in str(one.argval)][-1]
    calls = [one for one in dis.get_instructions(code) if one.offset > last]
    call = next(one.offset for one in calls if one.opname in {"CALL", "CALL_FUNCTION"})
    assert flows.Flows(code, loops.ranges(code)).fed_back(call) == fed
