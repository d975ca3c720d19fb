"""Work that grows on one rank: beside ranks that stay as they are, or that do less and less."""

import pytest

from perfscope.attribution.stack_rules import BUILT_IN
from perfscope.findings.core.finding import Finding
from tests.findings.analyzed import analyze_trace
from tests.support.trace_builder import TraceBuilder

STEPS = 80
ADVECT = [("main", "/job/train.py", 40), ("advect", "/job/train.py", 12)]


def judged(less_s: float) -> Finding:
    """Rank 1 begins with 40 ms a step and does 0.5 ms more in each; rank 0 does so much less.

    Both wait for CPUs as long as they have one, and are looked at in one step of five.
    """
    builder = TraceBuilder(2, end_s=60.0)
    for number in range(2):
        rank, begin = builder.rank(number).init(1.0), 1.0
        for step in range(STEPS):
            most_s = 0.04 + 0.0005 * step
            own_s = most_s if number else 0.04 - less_s * step
            if step % 5 == 0:
                rank.stack(begin + own_s / 2, [*ADVECT, ("numpy.add", BUILT_IN, 0)])
            rank.op("MPI_Allreduce", begin + own_s, begin + most_s + 0.002, seq=step)
            rank.step(step, begin, begin + most_s + 0.002)
            begin += most_s + 0.002
        rank.finalize(begin + 0.5).set(cpu_count_allowed=2, cpus_allowed="0-1")
        for tick in range(int(10 * begin)):
            at, half = tick / 10, tick / 20
            rank.main_sample(at, cpu_s=half, queue_delay_s=half)
            rank.process_sample(at, cpu_s=half, queue_delay_s=half)
    return analyze_trace(builder.build()).findings["growing_steps"]


@pytest.mark.parametrize(("less_s", "moves"), [(0.0004, True), (0.0, False)])
def test_what_one_rank_does_more_of_and_the_other_less_is_to_be_divided_anew(
    less_s: float, *, moves: bool
) -> None:
    found = judged(less_s)
    assert found.title.startswith("The work of rank 1 in a step grows from ")
    assert found.title.endswith(", while that of rank 0 shrinks") is moves
    assert found.actions[0].endswith("it moves from rank 0 to rank 1.") is moves
