"""A call or operator of which nothing tells what it works on is not taken for Python's own work."""

import sys
from typing import Any

from perfscope.agent.perfscope_agent import callees


def _noted(statement: str) -> str:
    """What is told of a frame that calls what looks at it."""
    seen: list[str] = []

    class Probe:
        def __call__(self, *_: Any, **__: Any) -> int:
            seen.append(callees.called(sys._getframe(1)))
            return 1

        __add__ = __call__

    exec(compile(statement, "program.py", "exec"), {"probes": [Probe()]})
    return seen[0]


def test_a_call_with_a_condition_among_its_arguments_is_not_told() -> None:
    assert _noted("probes[0](1, out=None if probes else 2)") == callees.UNTOLD


def test_an_operator_on_what_an_expression_gave_is_not_told() -> None:
    assert _noted("probes[0] + 1") in (callees.UNTOLD, "")
    assert _noted("(probes[0] if probes else 1) + 1") == callees.UNTOLD
