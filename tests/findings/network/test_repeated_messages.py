"""Broadcasts of what the receivers hold already, told from those that bring something new."""

from dataclasses import replace
from typing import Any

import pytest

from perfscope.findings.core.finding import Finding
from perfscope.trace.operations import BY_NAME
from tests.findings.analyzed import analyze_trace
from tests.findings.exchange_runs import exchanges

MAIN = ("main", "/job/train.py", 5)
MPI = ("Bcast", "/usr/lib/python3/site-packages/mpi4py/comm.py", 9)
SENDS = ("share", "/job/train.py", 88)
STEPS, EACH_S, SIZE = 50, 0.1, 1 << 24
BCAST, GATHER = BY_NAME["MPI_Bcast"].code, BY_NAME["MPI_Allgather"].code


def judged(*rows: Any) -> Finding:
    """Both ranks broadcast for as long as they compute; rank 1 receives."""
    stacks = [(MAIN, SENDS, MPI)] * 9
    trace = exchanges(
        size=SIZE, count=1, each_s=EACH_S, steps=STEPS, stacks=stacks, operation="MPI_Bcast"
    )
    first, second = trace.ranks
    told = {**second.metadata, "received_again": list(rows)}
    return analyze_trace(replace(trace, ranks=[first, replace(second, metadata=told)])).findings[
        "network_bound"
    ]


def is_told(finding: Finding) -> bool:
    return "hold already" in finding.title


@pytest.mark.parametrize(("looks", "same"), [(10, 9), (40, 40)])
def test_what_receivers_hold_already_is_left_out(looks: int, same: int) -> None:
    found = judged([BCAST, SIZE, looks, same, STEPS])
    assert is_told(found)
    assert "leave out MPI_Bcast" in found.actions[0]
    assert found.gain_s == pytest.approx(same / looks * STEPS * EACH_S, rel=0.02)
    assert found.gain is not None
    assert found.gain.is_bound


@pytest.mark.parametrize(
    "row",
    [
        [BCAST, SIZE, 40, 25, STEPS],  # much is new
        [BCAST, SIZE, 1, 1, STEPS],  # one look
        [BCAST, SIZE, 8, 8, 8],  # of the first calls, and most of them were not looked at
        [GATHER, SIZE, 40, 40, STEPS],  # not what takes long
        [BCAST, SIZE, 3, 40, STEPS],  # no such thing
        [BCAST, SIZE, 40, 40, 3],
        [BCAST, 0, 40, 40, STEPS],
        [BCAST, SIZE],
        "odd",
    ],
)
def test_what_is_new_or_not_known_is_not(row: Any) -> None:
    found = judged(row)
    assert found.status.is_fault
    assert not is_told(found)
