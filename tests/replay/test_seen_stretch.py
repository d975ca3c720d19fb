"""What samples saw in the first steps alone is taken from these steps alone, on a busy host."""

import numpy as np
import pytest

from perfscope.attribution.stack_rules import BUILT_IN
from perfscope.replay.model import Edit
from perfscope.replay.segments import SegmentReplay
from perfscope.schema.enums import Activity
from perfscope.trace.model import Trace
from tests.findings.analyzed import analyze_trace
from tests.support.trace_builder import FrameLike, TraceBuilder

STEPS, SLEEPING, SLEEP_S, WORK_S, PERIOD_S, MEETING_S = 200, 90, 0.02, 0.015, 0.01, 0.0002
MAIN: FrameLike = ("main", "/job/train.py", 40)
SLEEP: FrameLike = ("time.sleep", BUILT_IN, 0)
DOT: FrameLike = ("numpy.dot", BUILT_IN, 0)


def run(seed: int, sleeps: range) -> Trace:
    """Two ranks that sleep in some steps; others take CPUs from each of them by chance.

    Each rank is sampled each 10 ms.
    """
    random = np.random.default_rng(seed)
    works = WORK_S + np.where(random.random((STEPS, 2)) < 0.3, 0.02 * random.random((STEPS, 2)), 0)
    builder = TraceBuilder(2, end_s=30.0)
    both = [builder.rank(number).init(1.0) for number in (0, 1)]
    begin, nexts = 1.0, 1.0 + PERIOD_S * random.random(2)
    for step in range(STEPS):
        sleep_s = SLEEP_S if step in sleeps else 0.0
        end = begin + sleep_s + works[step].max() + MEETING_S
        for number, rank in enumerate(both):
            arrival = begin + sleep_s + works[step, number]
            while nexts[number] < end:
                if nexts[number] < arrival:
                    is_asleep = nexts[number] < begin + sleep_s
                    rank.stack(nexts[number], [MAIN, SLEEP if is_asleep else DOT])
                nexts[number] += PERIOD_S
            rank.op("MPI_Allreduce", arrival, end, seq=step)
            rank.step(step, begin, end)
        begin = end
    for rank in both:
        rank.finalize(begin)
    return builder.build()


def replay(trace: Trace) -> SegmentReplay:
    return analyze_trace(trace).replay


@pytest.mark.parametrize("seed", range(6))
def test_steps_after_it_save_nothing(seed: int) -> None:
    asked = [Edit(activity=Activity.SLEEP, factor=0.0)]
    found = replay(run(seed, range(SLEEPING))).predict(asked)
    assert found is not None
    assert found.early is not None
    assert found.gain_s == pytest.approx(SLEEPING * SLEEP_S, rel=0.1)
    assert found.early.steps == pytest.approx(SLEEPING, abs=2)
    assert found.early.rest_s == pytest.approx(0.0, abs=2 * SLEEP_S)


@pytest.mark.parametrize("seed", range(3))
def test_what_is_seen_all_along_is_taken_all_along(seed: int) -> None:
    """Also where few samples saw it: a tenth of the steps, one in ten."""
    asked = [Edit(activity=Activity.SLEEP, factor=0.0)]
    found = replay(run(seed, range(0, STEPS, 10))).predict(asked)
    assert found is not None
    assert found.gain_s == pytest.approx(STEPS // 10 * SLEEP_S, rel=0.25)
    assert found.early is None or found.early.rest_s > 0.0
