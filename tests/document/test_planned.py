"""Gains over a planned run: what comes again in every step, and what comes once."""

from typing import Any

import pytest

from perfscope.document.planned import ONCE
from perfscope.metrics.results import Options
from perfscope.schema.enums import PhaseKind
from perfscope.trace.model import Trace
from tests.findings.analyzed import analyze_trace
from tests.support.trace_builder import TraceBuilder


def late_start() -> Trace:
    """Rank 1 sets up 20 s longer, then both train 100 steps of 50 ms; rank 0 evaluates for 50 s."""
    builder = TraceBuilder(2, end_s=1e6)
    clock = 22.0
    for number in (0, 1):
        builder.rank(number).init(1.0).op("MPI_Barrier", (2.0, 22.0)[number] - 0.001, clock)
    for step in range(100):
        evaluates = 5.0 if step % 10 == 9 else 0.0
        for number in (0, 1):
            rank = builder.rank(number)
            rank.step(step, clock, clock + 0.051 + evaluates)
            rank.phase(PhaseKind.TRAIN, clock, clock + 0.05)
            begin = clock + 0.05 + (evaluates if number == 0 else 0.0)
            if number == 0 and evaluates:
                rank.phase(PhaseKind.EVALUATE, clock + 0.05, begin)
            rank.op("MPI_Allreduce", begin, clock + 0.051 + evaluates, sent=8, received=8)
        clock += 0.051 + evaluates
    return builder.ended(clock, after_s=0.1)


def test_what_happens_once_a_run_is_not_multiplied_by_its_steps() -> None:
    document: Any = analyze_trace(late_start(), Options(planned_steps=100_000)).document()
    planned = {row["id"]: row["planned"] for row in document["findings"] if row["planned"]}
    # the first action deals 50 s of evaluation out to both ranks, which saves half of it
    assert planned["rank_zero_evaluation"]["gain_s"] == pytest.approx(25_000.0, rel=0.02)
    once = planned["initialization_skew"]
    assert (once["gain_s"], once["runtime_s"], once["reason"]) == (None, None, ONCE)
