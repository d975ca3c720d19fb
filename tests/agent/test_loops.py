"""Which lines of a function go round together, read from its bytecode."""

import random
from collections.abc import Callable
from textwrap import dedent, indent
from types import CodeType, FunctionType

import pytest

from perfscope.agent.perfscope_agent import loops as agent_loops
from perfscope.agent.perfscope_agent import places
from perfscope.agent.perfscope_agent.loops import of_code
from tests.agent.jobs import LOOKS, Job


def code_of(body: str) -> CodeType:
    """A function with this body, whose first line is 2."""
    made: dict[str, FunctionType] = {}
    exec(compile("def f(xs, g):\n" + indent(dedent(body), "    "), "program.py", "exec"), made)
    return made["f"].__code__


def test_each_instruction_has_a_line() -> None:
    """Python gives way in the jump back, which has none of its own behind an `if` in some."""
    code = code_of("for x in xs:\n    g(x)\n    if g(2):\n        g(3)\ng(4)")
    lines = [places.line_of(code, last) for last in range(0, len(code.co_code), 2)]
    assert min(lines) >= code.co_firstlineno
    assert set(lines) - {code.co_firstlineno} == {2, 3, 4, 5, 6}


def test_text_that_is_evaluated_is_compiled_before_its_first_line(job: Callable[..., Job]) -> None:
    """Looks find it where its code begins, as Python gives way there and not while it compiles."""
    program = LOOKS + dedent(
        """
        text = " + ".join(f"(xs[{i}] if xs[{i}] > {i} else {i})" for i in range(10))
        xs, last = list(range(10)), after(30)
        while looks["samples"] < last:
            eval(text)
        """
    )
    stacks = [one for one in job(program).process.functions() if "perfscope" not in one[-1][1]]
    begun = [one for one in stacks if one[-1][1] == "<string>" and one[-1][2] > 0]
    compiled = [one for one in stacks if one[-1][1:] == ("<string>", 0) or "eval" in one[-1][0]]
    assert len(compiled) > len(begun)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("g(xs)\nfor x in xs:\n    g(x)\n    g(x)\ng(xs)", [(3, 5)]),
        ("for x in xs:\n    g(x)\n    for y in x:\n        g(y)\n    g(x)", [(2, 6), (4, 5)]),
        ("while g(xs):\n    g(1)\n    if g(2):\n        break\n    g(3)\ng(4)", [(2, 6)]),
        ("while True:\n    g(1)\n    if g(2):\n        return\n    g(3)", [(3, 6)]),
        ("for x in xs:\n    if g(x):\n        continue\n    g(x)", [(2, 5)]),
        ("try:\n    g(1)\nexcept ValueError:\n    g(2)\ng(3)\ng(4)", []),
        ("for x in xs:\n    try:\n        g(x)\n    except ValueError:\n        g(2)", [(2, 6)]),
        ("with g(xs):\n    g(1)\ng(2)", []),
        ("g(1)\nif g(2):\n    g(3)\nelse:\n    g(4)\ng(5)", []),
    ],
)
def test_loops_of_a_function(body: str, expected: list[tuple[int, int]]) -> None:
    found = [lines for lines, _ in of_code(code_of(body))]
    # the line of `while True` itself does nothing, and a handler's last line may go on elsewhere
    assert len(found) == len(expected)
    for (first, last), (begin, end) in zip(found, expected, strict=True):
        assert begin - 1 <= first <= begin
        assert end - 1 <= last <= end


@pytest.mark.parametrize(
    ("body", "polls"),
    [
        ("while len(xs) >= 3:\n    pass", True),
        ("while not (xs.ready and g(xs)):\n    continue", True),
        ("while True:\n    if xs:\n        break", True),
        ("for x in xs:\n    while g(x) < 0:\n        pass\n    g(x)", False),
        ("while g(xs):\n    g(1)", False),
        ("while xs:\n    xs -= 1", False),
        ("while g(xs):\n    xs.seen = True", False),
        ("for x in xs:\n    pass", False),
        ("while g(xs):\n    yield 1", False),
    ],
)
def test_a_loop_that_keeps_nothing_of_what_it_looks_at_polls(body: str, polls: bool) -> None:
    outer, *inner = of_code(code_of(body))
    assert outer[1] is polls
    assert all(is_polling for _, is_polling in inner)


@pytest.mark.parametrize("seed", range(20))
def test_random_functions(seed: int) -> None:
    """Loops, conditions and handlers inside each other: each loop is there with its lines."""
    draw = random.Random(seed)
    lines: list[str] = []
    loops: list[tuple[int, int]] = []

    def block(depth: int, margin: str) -> None:
        for _ in range(draw.randint(1, 3)):
            kind = draw.choice(["call", "for", "while", "if", "try"]) if depth else "call"
            begin = len(lines) + 2
            if kind == "call":
                lines.append(f"{margin}g(xs)")
                continue
            lines.append(margin + {"for": "for x in xs:", "while": "while g(xs):"}.get(kind, ""))
            if kind in ("if", "try"):
                lines[-1] = margin + ("if g(xs):" if kind == "if" else "try:")
            block(depth - 1, margin + "    ")
            if kind == "try":
                lines.extend([f"{margin}except ValueError:", f"{margin}    g(xs)"])
                lines.append(f"{margin}g(xs)")
            elif kind != "if":
                lines.append(f"{margin}    g(xs)")
                loops.append((begin, len(lines) + 1))

    block(3, "")
    found = [one for one, _ in of_code(code_of("\n".join(lines)))]
    assert found == sorted(loops, key=lambda one: (one[0], -one[1]))


def test_a_process_tells_the_loops_that_samples_met(job: Callable[..., Job]) -> None:
    program = LOOKS + dedent(
        """
        def main():
            last = after(5)
            while looks["samples"] < last:
                for _ in range(3):
                    sum(range(1000))

        main()
        """
    )
    metadata = job(program).process.metadata
    (told,) = [one for one in metadata["loops"] if one["place"].startswith("main\x1f")]
    first = program.splitlines().index("def main():") + 1
    assert told["place"].endswith(f"\x1f{first}")
    assert told["lines"] == [[first + 2, first + 4], [first + 3, first + 4]]


class Numbers:
    """Numbers places."""

    def place(self, *_: object) -> int:
        return 1


def test_code_of_libraries_leaves_room_for_that_of_the_program(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(places, "met", {})
    monkeypatch.setattr(places, "_MAX_MET", 2)
    known = places.Places()
    files = [*(f"/usr/lib/site-packages/one{n}.py" for n in range(3)), "/home/me/train.py"]
    codes = [code_of("for x in xs:\n    g(x)").replace(co_filename=file) for file in files]
    for code in codes:
        known.name(Numbers(), (code, 0))  # type: ignore[arg-type]
    assert [one["place"].split("\x1f")[1] for one in agent_loops.told()] == [files[-1]]
