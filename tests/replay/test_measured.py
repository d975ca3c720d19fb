"""Delay costs charge the waiting that was measured, whatever the clocks say."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.findings.analyzed import Analyzed, analyze_trace
from tests.support.trace_builder import TraceBuilder


def pipeline(shift_s: float, *, rounds: int = 50, every: int = 1) -> Analyzed:
    """Rank 0 works and sends, rank 1 receives at once; its clock is shifted for some messages."""
    builder = TraceBuilder(2, end_s=20.0 + max(0.0, shift_s))
    sender, receiver = builder.rank(0).init(0.5), builder.rank(1).init(0.5)
    free = 0.5
    for number in range(rounds):
        at = 1.0 + 0.1 * number
        sender.op("MPI_Send", at, at + 0.001, peer=1, tag=number, sent=8)
        by_s = 0.0 if number % every else shift_s
        arrived = at + 0.002 + by_s
        receiver.op(
            "MPI_Recv", max(free, at - 0.05 + by_s), arrived, peer=0, tag=number, received=8
        )
        free = arrived
    end = 1.0 + 0.1 * rounds + max(0.0, shift_s)
    sender.finalize(end)
    receiver.finalize(end)
    return analyze_trace(builder.build())


@pytest.mark.parametrize("shift_s", [0.0, -0.03, -0.05])
def test_waits_charged_are_those_measured(shift_s: float) -> None:
    """With a clock that is behind, messages arrive before they are sent."""
    found = pipeline(shift_s, every=13)  # of more, nobody believes that it is one run
    assert found.replay.available, found.replay.reason
    causes = found.replay.causes
    assert causes is not None
    measured = sum(found.results.communication.wait_s_by_rank)
    charged = sum(delay.direct_s + delay.indirect_s for delay in causes.delays)
    assert causes.waiting_s == pytest.approx(measured, abs=1e-9)
    assert charged + causes.unattributed_s == pytest.approx(measured, abs=1e-9)
    assert sum(pair.seconds for pair in causes.pairs) <= measured + 1e-9
    assert charged <= measured + 1e-9


@settings(max_examples=10)
@given(st.floats(-0.4, 3.0))
def test_any_shift(shift_s: float) -> None:
    found = pipeline(shift_s, rounds=5)
    causes = found.replay.causes
    if causes is None:
        return
    measured = sum(found.results.communication.wait_s_by_rank)
    assert causes.waiting_s == pytest.approx(measured, abs=1e-9)
