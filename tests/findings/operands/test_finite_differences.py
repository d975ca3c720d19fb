"""Gradients by finite differences, told by samples between two functions of the program."""

import pytest

from perfscope.findings.core.finding import Finding
from perfscope.schema.enums import Status
from tests.findings.analyzed import analyze_trace
from tests.support.trace_builder import TraceBuilder

STEPS = 60
SCIPY = "/env/lib/python3.11/site-packages/scipy/optimize"
FIT = [("main", "/job/fit.py", 60), ("Kernel.fit", "/job/fit.py", 40)]
MINIMIZE = ("minimize", f"{SCIPY}/_minimize.py", 784)
DIFFERENCE = [
    ("_ScalarGradWrapper.__call__", f"{SCIPY}/_differentiable_functions.py", 41),
    ("_dense_difference", f"{SCIPY}/_numdiff.py", 686),
]
LOSS = ("Kernel.loss", "/job/fit.py", 20)
MODULE = ("<module>", "/job/fit.py", 70)


def judged(differences: int, direct: int, between: list[tuple[str, str, int]]) -> Finding:
    """Steps of 0.1 s whose ten samples show so many calls of the loss of either kind."""
    builder = TraceBuilder(2, end_s=3.0 + 0.1 * STEPS)
    for rank, _step, begin in builder.steps(STEPS, 0.1):
        for tick in range(10):
            stack = [MODULE, *FIT]
            if tick < differences + direct:
                stack += [MINIMIZE, *(between if tick < differences else []), LOSS]
            rank.stack(begin + 0.01 * tick + 0.005, stack)
    return analyze_trace(builder.build()).findings["finite_differences"]


def test_a_gradient_of_ones_own_costs_as_much_as_the_function() -> None:
    """Six calls for differences and two others in each step: 60 ms less 20 ms are saved."""
    finding = judged(6, 2, DIFFERENCE)
    assert finding.status is Status.FAIL
    assert finding.title.startswith("Kernel.fit() (fit.py:40) has derivatives of Kernel.loss() ")
    assert finding.gain_s == pytest.approx(0.04 * STEPS, rel=0.05)
    assert finding.ranks == (0, 1)
    assert [(one.function, one.line) for one in finding.where] == [
        ("Kernel.fit", 40),
        ("Kernel.loss", 20),
    ]
    assert finding.actions[0].startswith("In Kernel.fit() (fit.py:40): ")


@pytest.mark.parametrize(
    ("differences", "between"),
    [
        (6, [("_line_search", f"{SCIPY}/_linesearch.py", 30)]),
        (6, [("approx_fprime", "/job/tools.py", 3)]),  # the program's own: its author knows
        (0, DIFFERENCE),
    ],
)
def test_calls_for_another_purpose(differences: int, between: list[tuple[str, str, int]]) -> None:
    assert judged(differences, 2, between).status is Status.PASS
