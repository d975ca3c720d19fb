"""Who had the CPUs for which a rank waited: in closed form."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perfscope.attribution.focus import Focus
from perfscope.metrics.host.cpu_takers import CpuTakers, cpu_takers
from perfscope.trace.model import Trace
from tests.support.trace_builder import TraceBuilder

LENGTH_S = 20.0


def on_one_cpu(
    ran: tuple[float, float], others: float, *, is_measured: bool, throttled: float = 0.0
) -> Trace:
    """Two ranks on CPU 0 that want to run all the time; shares of it by rank and of others."""
    builder = TraceBuilder(2, end_s=LENGTH_S)
    for number, share in enumerate(ran):
        rank = builder.rank(number).set(cpus_allowed="0", cpu_count_allowed=1)
        for tick in range(21):
            at = LENGTH_S * tick / 20
            rank.process_sample(at, cpu_s=share * at)
            rank.main_sample(
                at, cpu_s=share * at, queue_delay_s=(1 - share) * at, throttled_s=throttled * at
            )
            if is_measured:
                busy_s = (sum(ran) + others) * at
                rank.cpu_sample(at, busy_s=busy_s, used_s=share * at, cpus=1)
    return builder.build()


def of_first(trace: Trace) -> CpuTakers:
    return cpu_takers(trace.ranks[0], trace.ranks, Focus(0, int(LENGTH_S * 1e9), "whole_trace", ""))


@given(st.floats(0.05, 0.9), st.floats(0.0, 1.0), st.booleans())
def test_ranks_take_no_more_from_each_other_than_they_run(
    first: float, part: float, is_measured: bool
) -> None:
    """What neither of two ranks on a CPU runs, others have, and the wait for them is that long."""
    second = (1.0 - first) * part
    found = of_first(on_one_cpu((first, second), 1 - first - second, is_measured=is_measured))
    assert found.share * (1 - first) == pytest.approx(1 - first - second, abs=1e-6)
    if is_measured:
        assert found.busy_cpus == pytest.approx(1 - first - second, abs=1e-6)
    else:
        assert found.busy_cpus is None


def test_time_that_a_limit_withholds_is_nobodys() -> None:
    trace = on_one_cpu((0.3, 0.3), 0.0, is_measured=False, throttled=0.4)
    assert of_first(trace).share == pytest.approx(0.0, abs=1e-9)


def test_a_container_that_hides_what_the_cpus_do_tells_nothing() -> None:
    trace = on_one_cpu((0.5, 0.5), 0.0, is_measured=True)
    for rank in trace.ranks:
        rank.cpu_samples["busy_ns"] = 0
    assert of_first(trace) == CpuTakers(0.0, None, 1)


def test_a_rank_on_another_cpu_takes_nothing_from_this_one() -> None:
    trace = on_one_cpu((0.5, 0.5), 0.0, is_measured=False)
    trace.ranks[1].cpus_allowed = "1"
    assert of_first(trace).share == pytest.approx(1.0)


def test_what_a_rank_used_before_it_was_sampled_is_not_that_of_others() -> None:
    """The second rank's CPUs were seen to change after half of the run: its samples begin there."""
    trace = on_one_cpu((0.5, 0.5), 0.0, is_measured=True)
    trace.ranks[1].cpu_samples = trace.ranks[1].cpu_samples[10:]
    found = of_first(trace)
    assert (found.share, found.busy_cpus or 0.0) == pytest.approx((0.0, 0.0))
    trace.ranks[1].cpu_samples = trace.ranks[1].cpu_samples[10:]
    assert of_first(trace).busy_cpus is None


def test_a_child_whose_cpu_time_is_lost_is_not_that_of_others() -> None:
    """It ends after half of the run, and nobody waited for it."""
    trace = on_one_cpu((0.5, 0.5), 0.0, is_measured=True)
    trace.ranks[1].cpu_samples["used_ns"][10:] -= int(4e9)
    found = of_first(trace)
    assert (found.share, found.busy_cpus or 0.0) == pytest.approx((0.0, 0.0))


def each_with_a_cpu(
    count: int, *, mains: tuple[float, float], helpers: float, others: float, is_measured: bool
) -> CpuTakers:
    """The first of as many ranks as CPUs: shares of a CPU of its main thread and of each other.

    It waits for a CPU whenever it does not run. Helpers are threads of that rank.
    """
    builder = TraceBuilder(count, end_s=LENGTH_S)
    for number in range(count):
        rank = builder.rank(number)
        rank.set(cpus_allowed=f"0-{count - 1}", cpu_count_allowed=count)
        main = mains[min(number, 1)]
        used, busy = (
            main + (0 if number else helpers),
            sum(mains) + (count - 2) * mains[1] + helpers + others,
        )
        assert busy <= count + 1e-9
        for tick in range(21):
            at = LENGTH_S * tick / 20
            rank.process_sample(at, cpu_s=used * at)
            rank.main_sample(at, cpu_s=main * at, queue_delay_s=(1 - main) * at)
            if is_measured:
                rank.cpu_sample(at, busy_s=busy * at, used_s=used * at, cpus=count)
    return of_first(builder.build())


@pytest.mark.parametrize("is_measured", [True, False])
@pytest.mark.parametrize(
    ("count", "mains", "helpers", "others", "share"),
    [
        (2, (0.9, 1.0), 0.1, 0.0, 0.0),
        (8, (0.5, 1.0), 0.5, 0.0, 0.0),
        (2, (0.7, 0.7), 0.0, 0.6, 1.0),
        (2, (0.7, 0.7), 0.3, 0.3, 0.5),
        (2, (0.7, 0.7), 0.6, 0.0, 0.0),
        (2, (0.5, 1.0), 0.2, 0.3, 0.6),
    ],
)
def test_ranks_with_a_cpu_each_are_held_up_by_what_has_the_others(
    count: int,
    mains: tuple[float, float],
    helpers: float,
    others: float,
    share: float,
    *,
    is_measured: bool,
) -> None:
    """All CPUs are busy: what main threads of other ranks leave, helpers and others have."""
    found = each_with_a_cpu(
        count, mains=mains, helpers=helpers, others=others, is_measured=is_measured
    )
    if is_measured:
        assert found.busy_cpus == pytest.approx(others, abs=1e-6)
        assert found.share == pytest.approx(share, abs=1e-6)
    else:
        assert found.share <= share + 1e-6


def test_nobody_else_takes_what_a_rank_waits_beside_idle_cpus() -> None:
    """As where two threads are on one CPU for a moment: nothing outside the job ran."""
    found = each_with_a_cpu(2, mains=(0.9, 0.9), helpers=0.0, others=0.0, is_measured=True)
    assert (found.share, found.busy_cpus) == pytest.approx((0.0, 0.0))
