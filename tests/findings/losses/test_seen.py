"""What a few samples have met is no finding, however much time they stand for."""

import pytest

from tests.findings.analyzed import analyze_trace
from tests.support.trace_builder import TraceBuilder

STEPS, STEP_S, APART_S = 80, 0.1, 0.5
MAIN = ("main", "/job/train.py", 40)
COMPUTES = (MAIN, ("numpy.ndarray.dot", "<built-in>", 0))
SLEEPS = (("pause", "/job/train.py", 12), ("time.sleep", "<built-in>", 0))


@pytest.mark.parametrize(("looks", "is_told"), [(2, False), (3, False), (4, True), (6, True)])
def test_a_finding_takes_four_samples(looks: int, is_told: bool) -> None:
    builder = TraceBuilder(1, end_s=3.0 + STEPS * STEP_S)
    rank = builder.rank(0)
    for step in range(STEPS):
        rank.step(step, 1.0 + STEP_S * step, 1.0 + STEP_S * (step + 1))
    for place in range(int(STEPS * STEP_S / APART_S)):
        is_asleep = place % 2 and place // 2 < looks
        rank.stack(1.0 + APART_S * (place + 0.5), SLEEPS if is_asleep else COMPUTES)
    for tick in range(100):
        rank.main_sample(tick / 10, cpu_s=tick / 10)
    findings = analyze_trace(builder.build()).findings
    assert ("lost_to_sleep" in findings) == is_told
