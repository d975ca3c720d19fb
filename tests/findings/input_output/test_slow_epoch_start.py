"""First steps of epochs that take long: planted ones, and what is none."""

import pytest

from perfscope.findings.core.finding import Finding
from perfscope.schema.enums import PhaseKind, Status
from tests.findings.analyzed import analyze_trace
from tests.support.trace_builder import TraceBuilder

EPOCHS, STEPS, USUAL_S = 6, 20, 0.1
MAIN, MODEL = ("main", "/job/train.py", 49), ("Net.forward", "/job/net.py", 7)


def judged(
    first_s: tuple[float, float], *, kind: PhaseKind = PhaseKind.TRAIN, steps: int = STEPS
) -> Finding:
    """Two ranks whose first steps of epochs take so long, in such a phase; all others train."""
    builder = TraceBuilder(2, end_s=1e4)
    clock = 1.0
    for number in (0, 1):
        builder.rank(number).init(clock)
    for epoch in range(EPOCHS):
        for step in range(steps):
            end = clock + (max(first_s) if step == 0 else USUAL_S)
            for number, own_s in enumerate(first_s):
                rank = builder.rank(number)
                trained = clock + (own_s if step == 0 else USUAL_S)
                rank.step(epoch * steps + step, clock, end, epoch=epoch)
                rank.phase(PhaseKind.TRAIN if step else kind, clock, trained)
                rank.stack(clock + 0.01, [MAIN] if step == 0 else [MAIN, MODEL])
                rank.op("MPI_Allreduce", trained, end + 0.001, seq=epoch * steps + step)
            clock = end + 0.001
    for number in (0, 1):
        builder.rank(number).finalize(clock)
        builder.rank(number).end_s = clock + 0.5
    trace = builder.set(wall_ns=round((clock + 0.5) * 1e9)).build()
    return analyze_trace(trace).findings["slow_epoch_start"]


def test_what_begins_anew_with_each_epoch_is_told_with_its_cost() -> None:
    """The first epoch of the run does what is done once: five of six count."""
    found = judged((1.1, 1.1))
    assert found.status is Status.FAIL
    assert found.title == "The first step of each epoch takes 1.10 s instead of 100 ms"
    assert found.gain_s == pytest.approx((EPOCHS - 1) * (1.1 - USUAL_S), rel=0.02)
    assert found.gain is not None
    assert found.gain.is_bound
    assert (found.where[0].function, found.where[0].line) == MAIN[::2]


@pytest.mark.parametrize(
    "innocent",
    [
        {"first_s": (0.14, 0.14)},  # hardly longer
        {"first_s": (1.1, USUAL_S)},  # of one rank, for which the other waits
        {"first_s": (1.1, 1.1), "kind": PhaseKind.INPUT},  # told as waiting for input
        {"first_s": (1.1, 1.1), "steps": 1},  # an epoch of one step has no other
    ],
)
def test_other_long_steps_are_none(innocent: dict[str, object]) -> None:
    assert judged(**innocent).status is Status.PASS  # type: ignore[arg-type]


def test_without_epochs_it_does_not_apply() -> None:
    builder = TraceBuilder(1, end_s=10.0)
    for step in range(9):
        builder.rank(0).step(step, 1.0 + step, 2.0 + step)
    assert "slow_epoch_start" not in analyze_trace(builder.build()).findings
