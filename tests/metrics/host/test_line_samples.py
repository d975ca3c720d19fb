"""How long a thread was in a line, where samples do not come equally often."""

import pytest

from perfscope.metrics.compute import compute
from perfscope.metrics.host.hot_lines import LineSamples
from perfscope.metrics.results import Options
from perfscope.trace.model import Frame
from tests.support.trace_builder import TraceBuilder

FILE = "/job/train.py"


def test_a_sample_speaks_for_the_time_around_it() -> None:
    """Two lines take five seconds each; the shallow one is looked at ten times as often."""
    shallow, deep = Frame("count", FILE, 7), Frame("model", FILE, 31)
    builder = TraceBuilder(1, end_s=12.0)
    rank = builder.rank(0).init(1.0).finalize(11.0)
    for tick in range(100):
        rank.stack(1.025 + 0.05 * tick, [("count", FILE, 7)])
    for tick in range(10):
        rank.stack(6.25 + 0.5 * tick, [("model", FILE, 31)])
    samples = LineSamples(compute(builder.build(), Options()))
    (known,) = builder.build().ranks
    assert samples.seconds(known, [shallow]) == pytest.approx(5.0, rel=0.05)
    assert samples.seconds(known, [deep]) == pytest.approx(5.0, rel=0.05)
    assert samples.seconds(known, [shallow, deep]) == pytest.approx(10.0)
