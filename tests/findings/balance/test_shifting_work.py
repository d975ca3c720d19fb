"""Work that shifts to a rank is told as that, and half of the difference can be had back."""

import numpy as np
import pytest

from perfscope.arrays import Floats
from perfscope.findings.core.finding import Finding
from perfscope.losses.shifting import is_shifting
from perfscope.schema.enums import PhaseKind, Status
from tests.findings.analyzed import analyze_trace
from tests.support.trace_builder import TraceBuilder

STEPS = 300
SHIFTED_S = np.minimum(np.arange(STEPS) / 60, 1.0) * 0.04


def found(first_s: Floats, second_s: Floats) -> Finding:
    builder, clock = TraceBuilder(2, end_s=1e6), 1.0
    for step, works in enumerate(zip(first_s.tolist(), second_s.tolist(), strict=True)):
        end = clock + max(works) + 0.001
        for number, work_s in enumerate(works):
            rank = builder.rank(number)
            rank.phase(PhaseKind.TRAIN, clock, clock + work_s, step=step)
            rank.step(step, clock, end)
            rank.op("MPI_Allreduce", clock + work_s, end)
        clock = end
    for number in (0, 1):
        builder.rank(number).init(1.0).finalize(clock).end_s = clock + 0.1
    return analyze_trace(builder.build()).findings["load_imbalance"]


def test_work_that_shifts_is_to_be_divided_anew() -> None:
    finding = found(0.05 - SHIFTED_S, 0.05 + SHIFTED_S)
    assert finding.status is Status.FAIL
    assert finding.title == "Work in training shifts to rank 1 during the run while rank 0 waits"
    assert finding.gain is not None
    assert finding.gain.seconds == pytest.approx(SHIFTED_S.sum(), rel=1e-6)
    assert "Rebalance the work every few steps" in finding.actions[0]


def test_a_rank_that_takes_longer_while_the_other_does_as_before_is_not_told_as_that() -> None:
    finding = found(np.full(STEPS, 0.05), 0.05 + SHIFTED_S)
    assert "shifts" not in finding.title


def test_steps_that_vary_do_not_shift() -> None:
    """Where most is lost one rank works long and the other one short, by chance alone."""
    random = np.random.default_rng(11)
    told = 0
    for _ in range(200):
        work = random.gamma(4.0, size=(200, 2)) + np.array([0.0, 3.0])
        late = np.maximum(work - work[:, ::-1], 0.0)
        told += is_shifting(late, work)
    assert told == 0
