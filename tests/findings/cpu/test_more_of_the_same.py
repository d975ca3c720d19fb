"""Steps that get longer because each does more of the same are no fault of the program."""

import numpy as np
import pytest

from perfscope.findings.core.finding import Finding
from perfscope.schema.enums import Status
from perfscope.trace.model import Frame
from tests.findings.analyzed import analyze_trace
from tests.findings.cpu.test_growing_steps import FIXED, GROWING, STEPS, busier, crowded, judged
from tests.support.trace_builder import TraceBuilder


def test_steps_that_do_more_and_more_of_the_same_are_no_fault() -> None:
    """As episodes get longer, or sequences: all that a step does takes twice as long at the end."""
    alike = crowded(lambda _: 0.05, busier, waits=False)
    assert alike.status is Status.PASS
    assert "all that they do takes longer alike" in alike.summary
    one = crowded(lambda step: 0.05 + 0.1 * step / STEPS, lambda _: 1.0, waits=False)
    assert one.status is Status.FAIL
    assert one.where == (Frame(*GROWING),)


def test_steps_that_hold_more_and_more_samples_are_no_fault() -> None:
    more = judged(lambda step: 0.002 * step, samples=lambda step: 8 + step)
    assert more.status is Status.PASS
    assert "as the number of their samples does" in more.summary
    few = judged(lambda step: 0.002 * step, samples=lambda step: 80 + step // 8)
    assert few.status is Status.FAIL


def shifted(fixed: float, growing: float, *, apart_s: float, is_even: bool = False) -> Finding:
    """One process whose steps, from the 20th on, take so many times as long in each of two lines.

    Or they get there evenly, at the last one. It calls nothing that tells what a step does, and is
    looked at every so many seconds.
    """
    builder = TraceBuilder(1, end_s=60.0)
    rank, begin = builder.rank(0), 1.0
    for step in range(STEPS):
        part = step / STEPS if is_even else float(step >= 20)
        times = [1.0 + part * (most - 1.0) for most in (fixed, growing)]
        half, end = begin + 0.05 * times[0], begin + 0.05 * sum(times)
        rank.step(step, begin, end)
        for moment in np.arange(np.ceil(begin / apart_s), end / apart_s) * apart_s:
            rank.stack(moment, (FIXED, FIXED if moment < half else GROWING))
        begin = end
    for tick in range(int(10 * begin)):
        rank.main_sample(tick / 10, cpu_s=tick / 10)
    return analyze_trace(builder.build()).findings["growing_steps"]


@pytest.mark.parametrize(
    ("fixed", "growing", "apart_s", "status"),
    [
        (3.0, 3.0, 0.013, Status.PASS),
        (1.0, 5.0, 0.013, Status.FAIL),
        (3.0, 3.0, 0.83, Status.NOT_MEASURED),
    ],
)
def test_longer_steps_of_a_program_without_calls(
    fixed: float, growing: float, apart_s: float, status: Status
) -> None:
    """Longer episodes make all of a step longer, and slower values one line of it."""
    found = shifted(fixed, growing, apart_s=apart_s)
    assert found.status is status
    assert "from step 20 on" in f"{found.title} {found.summary}".lower()
    assert (found.where == (Frame(*GROWING),)) == (status is Status.FAIL)


def test_steps_that_grow_evenly_and_are_seldom_looked_at_are_not_judged() -> None:
    found = shifted(3.0, 3.0, apart_s=0.83, is_even=True)
    assert found.status is Status.NOT_MEASURED
    assert "Too few samples tell" in found.summary
    assert shifted(1.0, 9.0, apart_s=0.013, is_even=True).status is Status.FAIL
