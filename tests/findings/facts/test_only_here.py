"""Lines that one rank alone is seen at: because it alone runs them, or by chance."""

import pytest

from perfscope.attribution.stack_rules import BUILT_IN
from perfscope.findings.facts.only_here import is_only_here, shared_frames
from tests.findings.analyzed import analyze_trace
from tests.support.trace_builder import TraceBuilder

WORK = [("main", "/job/train.py", 40), ("numpy.dot", BUILT_IN, 0)]
SCALE = [("scale", "/job/train.py", 17), ("numpy.divide", BUILT_IN, 0)]


@pytest.mark.parametrize(("samples", "is_sure"), [(4, False), (12, True)])
def test_a_few_samples_of_one_rank_alone_may_be_chance(samples: int, *, is_sure: bool) -> None:
    """Of two ranks that both run a line four samples are of one rank once in eight times."""
    builder = TraceBuilder(2, end_s=12.0)
    for number in range(2):
        rank = builder.rank(number).init(1.0).finalize(11.0)
        for tick in range(100):
            is_seen = number == 1 and tick < samples
            rank.stack(1.0 + 0.1 * tick + 0.05, SCALE if is_seen else WORK)
    results = analyze_trace(builder.build()).results
    shared = shared_frames(results, 1)
    assert is_only_here(results, 1, ("scale", "/job/train.py"), shared) is is_sure
