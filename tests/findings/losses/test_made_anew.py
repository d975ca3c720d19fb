"""What a function compiles again and again and could keep, in closed form."""

import pytest

from perfscope.findings.core.finding import Finding
from tests.findings.analyzed import analyze_trace
from tests.support.trace_builder import FrameLike, TraceBuilder

STEPS = 60
EXPAND = (("main", "/job/tickets.py", 87), ("expand", "/job/tickets.py", 35))
SUB = ("sub", "/usr/lib/python3.11/re/__init__.py", 185)
MATCHES: tuple[FrameLike, ...] = (*EXPAND, SUB, ("re.Pattern.sub", "<built-in>", 0))
COMPILES: tuple[FrameLike, ...] = (
    *EXPAND,
    SUB,
    ("_compile", "/usr/lib/python3.11/re/__init__.py", 294),
    ("compile", "/usr/lib/python3.11/re/_compiler.py", 745),
)
SOLVES = (("main", "/job/tickets.py", 90), ("numpy.linalg.solve", "<built-in>", 0))


def told(ticks: int, *, steps: int = STEPS) -> Finding:
    """Two ranks that work on text for 60 of 100 ms, and compile for so many ticks of 10 of these.

    They compile in the first steps alone, or in all.
    """
    builder = TraceBuilder(2, end_s=3.0 + 0.1 * STEPS)
    for rank, step, begin in builder.steps(STEPS, 0.1):
        for tick in range(9):
            text = COMPILES if tick < ticks and step < steps else MATCHES
            rank.stack(begin + 0.01 * tick + 0.005, text if tick < 6 else SOLVES)
        rank.op("MPI_Allreduce", begin + 0.095, begin + 0.0999, seq=step)
    return analyze_trace(builder.build()).findings["lost_to_text"]


def test_what_is_compiled_all_through_the_run_has_a_share_and_a_gain_of_its_own() -> None:
    found = told(2)
    assert found.gain_s == pytest.approx(0.06 * STEPS, rel=0.02)
    assert found.recommended is not None
    assert found.recommended.seconds == pytest.approx(0.02 * STEPS, rel=0.02)
    assert found.actions[0].startswith("Compile once, before the loop, and keep the result: ")
    assert "calls of re.sub() compile anew all through the run" in found.actions[0]
    assert " compiles anew all through the run, for 1.2" in found.title
    assert len(found.actions) == 2
    values = {row.label: row.value for row in found.evidence}
    assert values["Of it, compiling in re.sub(), per rank"] == pytest.approx(0.02 * STEPS, rel=0.02)


def test_what_is_compiled_at_the_beginning_is_kept_already() -> None:
    found = told(2, steps=10)
    assert len(found.actions) == 1
    assert "ompile once, before the loop" not in found.actions[0]
    assert len(told(0).actions) == 1
