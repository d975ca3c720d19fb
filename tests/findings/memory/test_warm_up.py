"""Memory that grows while a rank is set up is none that keeps growing."""

import pytest

from tests.findings.analyzed import analyze_trace
from tests.support.trace_builder import FrameLike, TraceBuilder

MIB = 1 << 20


@pytest.mark.parametrize(("until", "is_fault"), [(50, False), (3, True)])
def test_what_compiles_before_the_work_is_warm_up(until: int, *, is_fault: bool) -> None:
    """A rank without steps grows, and compiles for so long."""
    compiling: list[FrameLike] = [("main", "/job/fit.py", 7)]
    compiling.append(("Dispatcher.compile", "/env/site-packages/numba/core/dispatcher.py", 900))
    working: list[FrameLike] = [("main", "/job/fit.py", 9), ("numpy.ndarray.dot", "<built-in>", 0)]
    builder = TraceBuilder(1, end_s=61.5)
    rank = builder.rank(0).init(0.5).finalize(61.0)
    for tick in range(5, 610):
        rss = 100 * MIB + 2 * MIB * tick / 10
        rank.process_sample(tick / 10, rss_bytes=round(rss))
        rank.stack(tick / 10 + 0.01, compiling if tick / 10 < until else working)
    found = analyze_trace(builder.build()).findings["memory_growth"]
    assert found.status.is_fault is is_fault
