"""What fewer bytes and fewer calls save where CPUs are short, in closed form."""

import pytest

from perfscope.findings.core.finding import Finding
from perfscope.findings.facts.outside_load import SAME
from perfscope.schema.enums import Status
from tests.findings.analyzed import analyze_trace
from tests.support.trace_builder import TraceBuilder

SLOW_S = 0.06
EVERY = 10


def judged(*, fast_s: float, waited: float, steps: int = 100) -> Finding:
    """Two ranks exchange 2 MiB a step, all of them have a CPU in each tenth exchange alone."""
    step_s = 0.02 + SLOW_S
    builder = TraceBuilder(2, end_s=2.0 + steps * step_s)
    for number in range(2):
        rank = builder.rank(number).init(1.0).finalize(1.5 + steps * step_s)
        rank.set(cpu_count_allowed=1, cpus_allowed=str(number))
        for step in range(steps):
            begin, end = 1.0 + step * step_s, 1.0 + (step + 1) * step_s
            rank.step(step, begin, end)
            spent_s = SLOW_S if step % EVERY else fast_s
            size = 1 << 21
            rank.op("MPI_Allgather", end - spent_s, end, comm=0, seq=step, sent=size, received=size)
        for tick in range(int(10 * (2.0 + steps * step_s))):
            at = tick / 10
            rank.main_sample(at, cpu_s=at * (1 - waited), queue_delay_s=at * waited)
            rank.process_sample(at, cpu_s=at * (1 - waited), queue_delay_s=at * waited)
            rank.cpu_sample(at, busy_s=at, used_s=at * (1 - waited), cpus=1)
    return analyze_trace(builder.build()).findings["network_bound"]


def test_fewer_bytes_save_no_waiting_for_cpus() -> None:
    """Half of what the fastest exchanges take, on an idle host as well; here all take 60 ms."""
    found = judged(fast_s=0.04, waited=0.5)
    assert found.status.is_fault
    assert found.first is not None
    assert found.first.seconds == pytest.approx(0.5 * 0.04 * 100, rel=0.05)
    assert (found.first.under_load_s, found.first.counts) == (found.first.seconds, SAME)


@pytest.mark.parametrize(("fast_s", "steps"), [(0.002, 100), (0.006, 100), (0.06, 40)])
def test_what_hardly_is_bytes_is_told_of_only(fast_s: float, steps: int) -> None:
    """Nor is anything promised where too few exchanges are alike to tell what bytes take."""
    found = judged(fast_s=fast_s, waited=0.5, steps=steps)
    assert (found.status, found.gain, found.first) == (Status.INFO, None, None)


def test_on_an_idle_host_half_of_the_exchange_is_saved() -> None:
    found = judged(fast_s=0.002, waited=0.0)
    assert found.status is Status.FAIL
    assert found.first is not None
    assert found.first.seconds == pytest.approx(0.5 * (0.9 * SLOW_S + 0.1 * 0.002) * 100, rel=0.05)


def test_a_small_load_hides_no_transfer() -> None:
    """Whatever a load of 3 % may have done to exchanges, most of their 54 s are none of it."""
    found = judged(fast_s=0.002, waited=0.03, steps=1000)
    assert found.status.is_fault
    assert found.first is not None
    all_s = (0.9 * SLOW_S + 0.1 * 0.002) * 1000
    assert 0.5 * 0.8 * all_s <= found.first.seconds < 0.5 * all_s


@pytest.mark.parametrize(("slow_every", "status"), [(1, Status.FAIL), (10, Status.PASS)])
def test_fewer_calls_wait_less_often_for_cpus(slow_every: int, status: Status) -> None:
    """Twenty small calls a step, of which all, or each tenth, take long as CPUs are short."""
    builder, steps = TraceBuilder(2, end_s=10.0), 60
    for rank, step, begin in builder.steps(steps, 0.1):
        at = begin + 0.04
        for call in range(20):
            end = at + (0.0025 if call % slow_every == 0 else 0.00002)
            rank.op("MPI_Allreduce", at, end, seq=20 * step + call, sent=512, received=512)
            at = end
    for number in range(2):
        rank = builder.rank(number).set(cpu_count_allowed=1, cpus_allowed="0")
        for tick in range(100):
            rank.main_sample(tick / 10, cpu_s=tick / 20, queue_delay_s=tick / 20)
            rank.process_sample(tick / 10, cpu_s=tick / 20, queue_delay_s=tick / 20)
            rank.cpu_sample(tick / 10, busy_s=tick / 10, used_s=tick / 10, cpus=1)
    finding = analyze_trace(builder.build()).findings["small_allreduces"]
    assert finding.status is status
