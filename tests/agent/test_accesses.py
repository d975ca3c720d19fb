"""What an instruction indexes, writes into and adds, read from its bytecode."""

from typing import Any

import pytest

from perfscope.agent.perfscope_agent import accesses
from perfscope.agent.perfscope_agent.places import line_of
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


PICKED = [
    ("x[y]", ("x", 0)),
    ("x[y, :]", ("x", 0)),
    ("x[:, y]", ("x", 1)),
    ("x.a[:, :, y + 1]", ("x.a", 2)),
    ("x[:, f(y)]", ("x", 1)),
    ("x[1:, y]", ("", 0)),
    ("x[::2, y]", ("", 0)),
    ("x[y, z]", ("", 0)),
    ("x[:, :]", ("", 0)),
    ("f(x)[:, y]", ("", 0)),
    ("x + y", ("", 0)),
]


@pytest.mark.parametrize(("text", "expected"), PICKED, ids=[one[0] for one in PICKED])
def test_on_which_axis_items_are_picked(text: str, expected: tuple[str, int]) -> None:
    code, last = worked_in(text)
    assert accesses.picked(code, last) == expected


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


UPDATED = [
    ("for p, g in self.pairs:\n  p -= g", ["p"]),
    ("p *= g", ["p"]),  # got from the caller
    ("self.m = b * self.m + g", ["self.m"]),
    ("self.w[...] -= g", ["self.w"]),
    ("self.v[i] = b * self.v[i] + g", ["self.v"]),
    ("x = g * 2\n x -= 1\n x[i] = x[j] + 1", []),  # made here
    ("self.buffer[:] = g * 2", []),  # not what it was before
    ("self.last = g * 2\n return self.last + 1", []),
    ("return self.window * g", []),
]


@pytest.mark.parametrize(("text", "expected"), UPDATED, ids=[one[0] for one in UPDATED])
def test_what_a_function_changes_by_what_it_was_before(text: str, expected: list[str]) -> None:
    names: dict[str, Any] = {}
    exec(f"def work(self, p, g, b, i, j):\n {text}", names)
    assert accesses.updated(names["work"].__code__) == expected


MADE = """
def work(x, y):
    scale = y.min()
    both = x * scale
    for part in x:
        both = both + part
    x = both
    first, second = y
    return first
"""


def test_which_variables_a_function_makes_at_one_place() -> None:
    """What it makes twice, as `both`, may be either; what it is given is made elsewhere too."""
    names: dict[str, Any] = {}
    exec(MADE, names)
    code = names["work"].__code__
    made = accesses.made(code)
    assert set(made) == {"scale", "part", "first", "second"}
    assert line_of(code, made["scale"]) == 3
