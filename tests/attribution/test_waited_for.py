"""What most of a wait is for, asked of many losses of a run."""

from collections import Counter
from collections.abc import Sequence

import pytest

from perfscope.attribution.stack_rules import BUILT_IN
from perfscope.attribution.waited_for import main_wait
from perfscope.trace import loops
from perfscope.trace.loops import Lines
from perfscope.trace.model import Function, Rank
from tests.support.trace_builder import TraceBuilder

OWN = ("zebra", "/home/me/train.py", 12)


@pytest.mark.parametrize(("leaf", "reads"), [(".acquire", 0), ("", 1)])
def test_loops_are_read_once_and_only_where_nothing_else_tells(
    monkeypatch: pytest.MonkeyPatch, leaf: str, reads: int
) -> None:
    """Of a thousand ranks they are long, and each loss asks what it waits for."""
    seen: list[int] = []

    def none(ranks: Sequence[Rank]) -> dict[Function, frozenset[Lines]]:
        seen.append(len(ranks))
        return {}

    monkeypatch.setattr(loops, "polling_loops", none)
    builder = TraceBuilder(1, end_s=1.0)
    builder.rank(0).stack(0.1, [OWN, *([(leaf, BUILT_IN, 0)] if leaf else [])])
    trace = builder.build()
    for _ in range(3):
        main_wait(Counter({0: 1}), trace)
    assert len(seen) == reads
