"""What is moved while every rank has a CPU, in closed form, and what that makes of a finding."""

import pytest

from perfscope.metrics.communication.unhindered import unhindered_transfer_s
from perfscope.metrics.compute import compute
from perfscope.schema.enums import Status
from perfscope.trace.model import Trace
from tests.findings.analyzed import analyze_trace
from tests.support.trace_builder import TraceBuilder

CALLS = 200


def crowded(*, fast_s: float, slow_s: float, rare: int = 0) -> Trace:
    """Two ranks that work 20 ms and exchange; every fifth call is fast, in others a CPU is lacking.

    Half of all time each main thread waits for a CPU. The last `rare` calls are of other sizes.
    """
    length_s = CALLS * (0.02 + slow_s) + 2.0
    builder = TraceBuilder(2, end_s=length_s + 1.0)
    for number in range(2):
        rank, at = builder.rank(number).init(1.0), 1.0
        for call in range(CALLS):
            at += 0.02
            end = at + (fast_s if call % 5 == 0 else slow_s)
            size = 8 if call < CALLS - rare else 8 * call
            rank.op("MPI_Allreduce", at, end, seq=call, sent=size, received=size)
            at = end
        rank.finalize(at).set(cpu_count_allowed=2, cpus_allowed="0-1")
        for tick in range(int(10 * length_s)):
            at, half = tick / 10, tick / 20
            rank.main_sample(at, cpu_s=half, queue_delay_s=half)
            rank.process_sample(at, cpu_s=half, queue_delay_s=half)
    return builder.build()


@pytest.mark.parametrize("rare", [0, 50])
def test_all_calls_as_fast_as_the_fastest_like_them(rare: int) -> None:
    """Of calls that have few like them nothing is known."""
    results = compute(crowded(fast_s=0.004, slow_s=0.02, rare=rare))
    assert unhindered_transfer_s(results.waits, results.focus) == pytest.approx(
        0.004 * (CALLS - rare), rel=1e-6
    )


@pytest.mark.parametrize(("fast_s", "status"), [(0.004, Status.WARN), (0.0002, Status.INFO)])
def test_on_a_busy_machine_the_fastest_calls_decide(fast_s: float, status: Status) -> None:
    """4 ms of some 20 ms on CPUs of its own are a fifth; 0.2 ms are a hundredth."""
    finding = analyze_trace(crowded(fast_s=fast_s, slow_s=0.02)).findings["network_bound"]
    assert finding.status is status
