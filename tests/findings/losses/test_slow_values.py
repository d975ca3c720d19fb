"""Growth and imbalance that subnormal values explain, and such that they do not."""

from typing import Any

import numpy as np
import pytest

from perfscope.findings.core.finding import Finding
from perfscope.schema.enums import Confidence, Status
from perfscope.units import format_seconds
from tests.findings.analyzed import analyze_trace
from tests.support.trace_builder import TraceBuilder

STEPS = 80
FILE = "/home/me/factors.py"
STEP, UPDATE, OTHER = ("step", FILE, 5), ("update", FILE, 30), ("other", FILE, 50)


def site(subnormal: float, place: tuple[str, str, int]) -> dict[str, Any]:
    """Ten looks at a line that takes one array, other values each time."""
    form = {"name": "w", "looks": 10, "kind": "array", "dtype": "float32", "byte_order": "native"}
    size = {"shape": [400, 40], "elements": [16000, 16000], "layout": "rows", "stride": 4}
    array = {**form, **size, "contents": 10, "shares": {"subnormal": subnormal}}
    looks = {"looks": 10, "whole_looks": 10, "contents": 10, "result_looks": 0, "results": 0}
    told = "\x1f".join(map(str, place))
    return {"place": told, "is_innermost": True, **looks, "operands": [array]}


def judged(
    *,
    grows_in: tuple[str, str, int] = UPDATE,
    on: tuple[int, ...] = (0, 1),
    subnormal: float = 0.3,
    more_s: float = 0.0,
) -> dict[str, Finding]:
    """Two ranks whose update takes subnormal values; step k takes k ms more, or `more_s`, on some.

    The update takes 40 ms of each step besides.
    """
    spent = [more_s or 0.001 * step for step in range(STEPS)]
    lengths = [0.1 + one for one in spent]
    builder = TraceBuilder(2, end_s=3.0 + sum(lengths))
    for number in range(2):
        rank = builder.rank(number).init(1.0).finalize(1.5 + sum(lengths))
        sites = [site(subnormal if number in on else 0.0, UPDATE), site(0.0, OTHER)]
        rank.set(metadata={"operands": {"looks": 10, "cpu_ns": 1, "sites": sites}})
        begin = 1.0
        for step, length in enumerate(lengths):
            end = begin + length
            rank.step(step, begin, end)
            waited_s = 0.0 if number in on else spent[step]
            rank.op("MPI_Allreduce", end - 0.01 - waited_s, end, comm=0, seq=step)
            for now in np.arange(begin + 0.002, end - 0.01 - waited_s, 0.01):
                is_more = now >= begin + 0.09
                in_update = now >= begin + 0.05
                rank.stack(now, (STEP, grows_in if is_more else UPDATE) if in_update else (STEP,))
            begin = end
        for tick in range(int(10 * (sum(lengths) + 2.0))):
            rank.main_sample(tick / 10, cpu_s=tick / 10, queue_delay_s=0.0)
            rank.process_sample(tick / 10, cpu_s=tick / 10, queue_delay_s=0.0)
    return dict(analyze_trace(builder.build()).findings)


def test_steps_that_grow_with_subnormal_values_are_told_by_these() -> None:
    found = judged()
    slow, growing = found["slow_operands"], found["growing_steps"]
    assert slow.status is Status.FAIL
    assert any(row.label.startswith("Median step, last") for row in slow.evidence)
    assert growing.status is Status.INFO
    assert growing.gain is None
    assert slow.title in growing.summary


def test_what_the_growth_costs_is_claimed_where_it_is_more() -> None:
    """Few values are subnormal in the mean of the run: they take a quarter of these lines."""
    found = judged(subnormal=0.0004)
    slow = found["slow_operands"]
    assert slow.gain_s == pytest.approx(0.040 * STEPS, rel=0.1)
    assert slow.confidence is Confidence.MEDIUM  # no more than in that it grows
    assert format_seconds(slow.gain_s) in slow.summary


def test_steps_that_grow_in_another_function_are_told_of_themselves() -> None:
    found = judged(grows_in=OTHER)
    assert found["growing_steps"].status is Status.FAIL
    assert found["slow_operands"].status.is_fault


def test_a_rank_that_alone_has_subnormal_values_has_no_larger_share_of_the_data() -> None:
    found = judged(on=(1,), more_s=0.05)
    assert found["slow_operands"].status is Status.FAIL
    assert found["load_imbalance"].status is Status.INFO
    assert found["load_imbalance"].gain is None


def test_a_rank_that_works_longer_in_another_function_is_told_of_itself() -> None:
    found = judged(on=(1,), more_s=0.05, grows_in=OTHER)
    assert found["load_imbalance"].status is Status.FAIL
