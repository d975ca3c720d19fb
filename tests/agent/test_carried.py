"""What a loop makes anew from what it was, read from the bytecode: nothing else."""

import pytest

from perfscope.agent.perfscope_agent.carried import of_code

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
    return {(name, is_read) for name, _, is_read, _ in of_code(names["work"].__code__).values()}  # type: ignore[attr-defined]


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
    assert len({one[3] for one in of_code(names["work"].__code__).values()}) == 1  # type: ignore[attr-defined]


def test_code_that_is_too_long_to_be_looked_through_is_left_alone() -> None:
    lines = [f"    x{number} = concat([x{number}, part])" for number in range(2000)]
    assert carried("\n".join(["def work(part):", *lines, ""])) == set()
    assert carried("\n".join(["def work(part):", "  while part:", *lines, ""])) == set()
