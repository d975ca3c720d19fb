"""Efficiencies of small runs known in closed form, as the document, terminal and page have them."""

import html
import re
from collections.abc import Callable
from typing import Any

import pytest

from perfscope.document.invariants import broken
from perfscope.metrics.efficiency.pop import ONE_PROCESS
from perfscope.report.build import build_html
from perfscope.schema.read import read_known
from perfscope.units import format_ratio
from tests.findings.analyzed import analyze_trace
from tests.report.test_terminal import shown
from tests.support.trace_builder import TraceBuilder

Calls = dict[int, list[tuple[str, float, float]]]
NAMES = (
    "parallel_efficiency",
    "load_balance",
    "communication_efficiency",
    "serialization_efficiency",
    "transfer_efficiency",
)
ONLY_WAITING = "no rank worked outside communication"
EMPTY = "the window is empty"
Answer = tuple[float | str, ...]


def run(ranks: int, calls: Calls, *, init_s: float = 1.0, end_s: float = 11.0) -> TraceBuilder:
    """Ranks that initialize communication at `init_s` and enter finalization at `end_s`."""
    builder = TraceBuilder(ranks, end_s=end_s)
    for number in range(ranks):
        rank = builder.rank(number).init(init_s)
        for name, enter_s, exit_s in calls.get(number, []):
            rank.op(name, enter_s, exit_s)
        rank.finalize(end_s)
    return builder


def ended_early() -> TraceBuilder:
    builder = run(2, {})
    builder.rank(0).finalize(6.0, exit_s=11.0)
    return builder


SUM = "MPI_Allreduce"
CASES: dict[str, tuple[Callable[[], TraceBuilder], Answer]] = {
    # W / T of its own; the call moves data for 1 s of 10
    "one rank": (lambda: run(1, {0: [(SUM, 4.0, 5.0)]}), (0.9, 1.0, 0.9, 1.0, 0.9)),
    "one rank without MPI": (lambda: TraceBuilder(1, end_s=12.0), (ONE_PROCESS,) * 5),
    "never communicating": (lambda: run(2, {}), (1.0, 1.0, 1.0, 1.0, 1.0)),
    # rank 0 waits in finalization from 6 s on: W = 5 and 10 s of T = 10 s
    "never communicating, unequal": (ended_early, (0.75, 0.75, 1.0, 1.0, 1.0)),
    "a rank that only waits": (
        lambda: run(2, {0: [("MPI_Barrier", 11.0, 11.0)], 1: [("MPI_Barrier", 1.0, 11.0)]}),
        (0.5, 0.5, 1.0, 1.0, 1.0),
    ),
    "all ranks only communicate": (
        lambda: run(2, {n: [("MPI_Barrier", 1.0, 11.0)] for n in (0, 1)}),
        (0.0, ONLY_WAITING, 0.0, ONLY_WAITING, 0.0),
    ),
    # W = 8 and 7 s; the last one enters at 6 s, all leave at 8 s
    "one call": (
        lambda: run(2, {0: [(SUM, 6.0, 8.0)], 1: [(SUM, 5.0, 8.0)]}),
        (0.75, 15 / 16, 0.8, 1.0, 0.8),
    ),
    # different ranks are the last: T_id = 4 + 5 s, and the busiest works 8 of them
    "taking turns": (
        lambda: run(
            2, {0: [(SUM, 5.0, 6.0), (SUM, 10.0, 11.0)], 1: [(SUM, 3.0, 6.0), (SUM, 11.0, 11.0)]}
        ),
        (0.75, 15 / 16, 0.8, 8 / 9, 0.9),
    ),
    "identical ranks": (
        lambda: run(4, {n: [(SUM, 3.0, 4.0), (SUM, 7.0, 8.0)] for n in range(4)}),
        (0.8, 1.0, 0.8, 1.0, 0.8),
    ),
    "from time zero": (
        lambda: run(2, {0: [(SUM, 6.0, 7.0)], 1: [(SUM, 3.0, 7.0)]}, init_s=0.0, end_s=10.0),
        (0.75, 5 / 6, 0.9, 1.0, 0.9),
    ),
    "ends in a collective": (
        lambda: run(2, {0: [(SUM, 10.0, 11.0)], 1: [(SUM, 6.0, 11.0)]}),
        (0.7, 7 / 9, 0.9, 1.0, 0.9),
    ),
    "no time at all": (lambda: TraceBuilder(2, end_s=0.0), (EMPTY,) * 5),
}


def lines(text: str) -> str:
    """A page as its words."""
    body = re.sub(r"<(script|style)\b.*?</\1>", " ", text, flags=re.DOTALL)
    return re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^>]*>", " ", body)))


@pytest.mark.parametrize("name", CASES)
def test_known_efficiencies(name: str) -> None:
    made, expected = CASES[name]
    document: Any = analyze_trace(made().build(), is_shown=True).document()
    metrics = document["metrics"]
    assert broken(document) == []
    terminal, page = shown(document, width=200), lines(build_html(read_known(document)))
    for metric, answer in zip(NAMES, expected, strict=True):
        if isinstance(answer, str):
            assert (metrics[metric]["value"], metrics[metric]["reason"]) == (None, answer)
            assert answer in terminal
            assert answer in page
            assert f"{metric.replace('_', ' ')} -" not in terminal
        else:
            assert metrics[metric]["value"] == pytest.approx(answer, abs=1e-12)
            assert format_ratio(answer) in terminal
            assert format_ratio(answer) in page


@pytest.mark.parametrize("name", ["no time at all", "all ranks only communicate"])
def test_what_cannot_be_judged_is_not_called_healthy(name: str) -> None:
    document: Any = analyze_trace(CASES[name][0]().build(), is_shown=True).document()
    assert document["verdict"]["status"] != "pass"
    assert "All is well" not in document["verdict"]["sentence"]
