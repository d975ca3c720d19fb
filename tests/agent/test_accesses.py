"""What an instruction indexes, writes into and adds, read from its bytecode."""

from typing import Any

import pytest

from perfscope.agent.perfscope_agent import accesses
from tests.agent.test_operands import worked_in

INDEXED = [
    ("x[y]", "x"),
    ("x.a.b[y]", "x.a.b"),
    ("G[y + 1]", "G"),
    ("x[y[2:z]]", "x"),
    ("x[:, y]", ""),
    ("x[y, 0]", ""),
    ("(x + z)[y]", ""),
    ("f(x)[y]", ""),
    ("x + y", ""),
]


@pytest.mark.parametrize(("text", "expected"), INDEXED, ids=[one[0] for one in INDEXED])
def test_what_is_indexed_as_a_whole(text: str, expected: str) -> None:
    code, last = worked_in(text)
    assert accesses.indexed(code, last) == expected


WRITTEN = [
    ("x[y] = z", "x"),
    ("x.a[y + 1] = z * 2", "x.a"),
    ("x[y] += z", ""),  # reads them, too
    ("np.multiply(x, y, out=z)", "z"),
    ("np.sum(x, axis=0, out=z.a, keepdims=True)", "z.a"),
    ("np.sum(x, axis=0)", ""),
    ("f(x)[y] = z", ""),
    ("x + y", ""),
]


@pytest.mark.parametrize(("text", "expected"), WRITTEN, ids=[one[0] for one in WRITTEN])
def test_what_is_written_into(text: str, expected: str) -> None:
    code, last = worked_in(text)
    assert accesses.written(code, last) == expected


ADDING = [
    ("x + y", True),
    ("x - y", True),
    ("x * y", False),
    ("x @ y", False),
    ("f(x)", False),
]


@pytest.mark.parametrize(("text", "expected"), ADDING, ids=[one[0] for one in ADDING])
def test_what_adds(text: str, *, expected: bool) -> None:
    code, last = worked_in(text)
    assert accesses.adds(code, last) is expected


TEXT = """
def gradients(x, w, y):
    hidden = np.maximum(x @ w, 0)
    error = hidden @ w.T
    error[hidden <= 0] = 0
    row = x[y]
    y -= 1
    self.kept = x * w
    return error, row
"""


def test_what_operators_compute() -> None:
    space: dict[str, Any] = {}
    exec(TEXT, space)
    assert accesses.computed(space["gradients"].__code__) == ["error", "y"]


def test_a_result_is_found_in_any_of_many_variables() -> None:
    lines = [f"    a{number} = x * {number}" for number in range(300)]
    made: dict[str, Any] = {}
    exec("\n".join(["def f(x):", *lines]), made)
    assert "a299" in accesses.computed(made["f"].__code__)
