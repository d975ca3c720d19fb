"""Steps that grow over the run, in closed form, and steps that differ for other reasons."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from perfscope.findings.core.finding import Finding
from perfscope.schema.enums import Status
from perfscope.trace.model import Frame
from tests.findings.analyzed import analyze_trace
from tests.support.trace_builder import TraceBuilder

STEPS = 80
NOISE = np.random.default_rng(3).uniform(-0.002, 0.002, STEPS)
FIXED = ("step", "/home/me/train.py", 5)
GROWING = ("summarize", "/home/me/train.py", 30)


def judged(extra: Callable[[int], float]) -> Finding:
    """Two ranks with steps of 0.1 s and what is given, and chance."""
    spent = [extra(step) for step in range(STEPS)]
    lengths = [0.1 + NOISE[step] + spent[step] for step in range(STEPS)]
    builder = TraceBuilder(2, end_s=3.0 + sum(lengths))
    for number in range(2):
        rank = builder.rank(number).init(1.0).finalize(1.5 + sum(lengths))
        begin = 1.0
        for step, length in enumerate(lengths):
            end = begin + length
            rank.step(step, begin, end).op("MPI_Allreduce", end - 0.01, end, comm=0, seq=step)
            rank.stack(begin + 0.02, (FIXED,))
            if spent[step] > 0.01:
                rank.stack(end - 0.02, (FIXED, GROWING))
            begin = end
        for tick in range(int(10 * (sum(lengths) + 2.0))):
            rank.main_sample(tick / 10, cpu_s=tick / 10).process_sample(tick / 10, cpu_s=tick / 10)
    return analyze_trace(builder.build()).findings["growing_steps"]


def test_what_grows_with_every_step() -> None:
    """Step k takes k milliseconds more: beyond the median of the first 20, 30 ms on average."""
    finding = judged(lambda step: 0.001 * step)
    assert finding.status is Status.FAIL
    assert finding.gain_s == pytest.approx(0.030 * STEPS, rel=0.1)
    assert [(one.function, one.file) for one in finding.where] == [GROWING[:2]]
    assert finding.where == (Frame(*GROWING),)


@pytest.mark.parametrize(
    "extra",
    [
        lambda _: 0.0,
        lambda step: 0.1 if 30 <= step < 55 else 0.0,
        lambda step: 0.05 if step >= 40 else 0.0,
        lambda step: 0.2 if step < 10 else 0.0,
        lambda step: 0.3 if step % 10 == 9 else 0.0,
    ],
    ids=["even", "a slow window", "a change", "warm-up", "a checkpoint now and then"],
)
def test_steps_that_differ_and_do_not_grow(extra: Callable[[int], float]) -> None:
    assert judged(extra).status is Status.PASS
