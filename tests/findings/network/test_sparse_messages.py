"""Buffers of mostly zeros that ranks exchange, told from those that are to be exchanged whole."""

from dataclasses import replace
from typing import Any

import pytest

from perfscope.findings.core.finding import Finding
from perfscope.trace.model import Trace
from tests.findings.analyzed import analyze_trace
from tests.findings.exchange_runs import exchanges

MAIN = ("main", "/job/train.py", 5)
MPI = ("Allreduce", "/usr/lib/python3/site-packages/mpi4py/comm.py", 9)
SENDS = ("update", "/job/train.py", 88)
ROWS, STEPS, EACH_S = 1 << 16, 50, 0.1
SIZE = ROWS * 64 * 4


def operand(name: str, zero: float, pieces: float, **changes: Any) -> dict[str, Any]:
    """A table of numbers of four bytes, ROWS x 64, in ten looks."""
    form = {"kind": "array", "dtype": "float32", "byte_order": "native", "shape": [ROWS, 64]}
    size = {"elements": [ROWS * 64] * 2, "layout": "rows", "stride": 4, "contents": 9}
    shares = {"zero": zero, "zero_pieces": pieces}
    return {"name": name, "looks": 10, **form, **size, "shares": shares, **changes}


def site(line: int, *operands: dict[str, Any]) -> dict[str, Any]:
    """Ten looks at a line of the function that sends."""
    place = "\x1f".join(map(str, (*SENDS[:2], line)))
    looks = {"looks": 10, "whole_looks": 10, "contents": 9, "result_looks": 0, "results": 0}
    return {"place": place, "is_innermost": True, **looks, "operands": operands}


def with_sites(trace: Trace, *by_rank: list[dict[str, Any]]) -> Trace:
    told = [{"looks": 10, "cpu_ns": 1, "sites": sites} for sites in by_rank]
    ranks = [
        replace(rank, metadata={**rank.metadata, "operands": one})
        for rank, one in zip(trace.ranks, told, strict=True)
    ]
    return replace(trace, ranks=ranks)


def judged(*sent: dict[str, Any], operation: str = "MPI_Allreduce") -> Finding:
    """Both ranks send the same kind of buffer for as long as they compute."""
    stacks = [(MAIN, SENDS, MPI)] * 9
    trace = exchanges(
        size=SIZE, count=1, each_s=EACH_S, steps=STEPS, stacks=stacks, operation=operation
    )
    sites = [site(88, *sent)]
    return analyze_trace(with_sites(trace, sites, sites)).findings["network_bound"]


def told_of_zeros(finding: Finding) -> bool:
    return any(row.label.startswith("Zeros in ") for row in finding.evidence)


def test_rows_that_are_zero_need_not_be_sent() -> None:
    """One row in a hundred is not zero: of two ranks together 2 % of the bytes are left."""
    found = judged(operand("dense", 0.99, 0.99), operand("total", 0.98, 0.98))
    assert told_of_zeros(found)
    assert "99.0 % of `dense` is zeros" in found.title
    assert "non-zero rows" in found.actions[0]
    assert found.gain_s == pytest.approx(0.98 * STEPS * EACH_S, rel=0.02)
    assert found.gain is not None
    assert found.gain.is_bound


def test_values_that_are_zero_here_and_there_are_sent_with_the_places_of_the_others() -> None:
    """Each value has its place beside it, three times the bytes: 6 % of them for two ranks."""
    found = judged(operand("dense", 0.99, 0.5))
    assert "non-zero values" in found.actions[0]
    assert found.gain_s == pytest.approx(0.94 * STEPS * EACH_S, rel=0.02)


@pytest.mark.parametrize(
    "sent",
    [
        (operand("dense", 0.0, 0.0), operand("total", 1.0, 1.0)),  # what is received into is empty
        (operand("dense", 0.7, 0.6),),  # of both ranks there would be as much
        (operand("dense", 0.99, 0.99, shape=[64], elements=[64, 64]),),  # not what takes long
    ],
)
def test_buffers_that_are_not_mostly_zeros(sent: tuple[dict[str, Any], ...]) -> None:
    found = judged(*sent)
    assert found.status.is_fault
    assert not told_of_zeros(found)


def test_what_others_receive_into_tells_nothing_of_what_is_sent() -> None:
    found = judged(operand("table", 0.99, 0.99), operation="MPI_Bcast")
    assert not told_of_zeros(found)


def test_a_rank_whose_buffer_is_full_decides() -> None:
    trace = exchanges(
        size=SIZE, count=1, each_s=EACH_S, steps=STEPS, stacks=[(MAIN, SENDS, MPI)] * 9
    )
    sparse, full = ([site(88, operand("dense", share, share))] for share in (0.99, 0.1))
    found = analyze_trace(with_sites(trace, sparse, full)).findings["network_bound"]
    assert not told_of_zeros(found)
