"""Lines of instructions, as the code's own table and the interpreter tell them."""

import argparse
from types import CodeType

import pytest

from perfscope.agent.perfscope_agent import places

TURN = "first_{0} = {0}\nfor each in range(2):\n    second_{0} = each"
LONG = "\n".join(TURN.format(number) for number in range(300))
PARSES = argparse.ArgumentParser._parse_known_args.__code__


def inside(code: CodeType) -> list[CodeType]:
    """A code and all that is defined in it."""
    own = [one for one in code.co_consts if isinstance(one, CodeType)]
    return [code, *(found for one in own for found in inside(one))]


@pytest.mark.parametrize(
    "code",
    [
        compile(LONG, "/job/long.py", "exec"),
        *inside(argparse.ArgumentParser._parse_known_args.__code__),
    ],
    ids=lambda code: code.co_name,
)
def test_the_interpreter_tells_the_lines_that_the_table_does(code: CodeType) -> None:
    offsets = list(range(0, len(code.co_code), 2))
    expected = places.lines_of(code, offsets)
    assert [places.line_of(code, offset) for offset in offsets] == expected
    for offset, line in zip(offsets, expected, strict=True):
        assert places._line_by_python(code, offset) in (-1, line)


def test_a_python_that_hides_its_functions_is_asked_by_the_table(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(places, "_own_function", [None])
    code = compile(LONG, "/job/long.py", "exec")
    last = len(code.co_code) - 2
    assert places.line_of(code, last) == places.lines_of(code, [last])[0] > 890
