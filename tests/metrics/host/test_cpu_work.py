"""CPU time of work, of threads that run, wait for a CPU, or do neither."""

import pytest

from perfscope.metrics.compute import compute
from perfscope.metrics.host.cpu_work import cpu_work_s
from tests.support.trace_builder import TraceBuilder


@pytest.mark.parametrize(
    ("runs", "queued", "told"),
    [
        (1.0, 0.0, 1.0),
        (0.6, 0.4, 0.6),
        (0.5, 0.0, 0.5),  # it sleeps in half of its work, or no one counts its waiting
    ],
)
def test_work_without_a_cpu_is_no_cpu_time(runs: float, queued: float, told: float) -> None:
    builder = TraceBuilder(1, end_s=12.0)
    rank = builder.rank(0).init(1.0).finalize(11.0)
    for tick in range(121):
        at = tick / 10
        rank.main_sample(at, cpu_s=runs * at, queue_delay_s=queued * at)
    found = cpu_work_s(compute(builder.build()))
    assert found is not None
    assert found.sum() == pytest.approx(told * 10.0, rel=0.03)
