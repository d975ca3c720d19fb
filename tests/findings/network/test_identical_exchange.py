"""Exchanges of what all ranks hold already, told from those that bring something new."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from perfscope.findings.core.finding import Finding
from perfscope.schema.enums import Status
from perfscope.trace.operations import BY_NAME
from tests.findings.analyzed import analyze_trace
from tests.findings.exchange_runs import exchanges
from tests.support.trace_builder import TraceBuilder

STEPS, EACH_S, SIZE = 50, 0.1, 1 << 24
ALLREDUCE, GROUP = BY_NAME["MPI_Allreduce"].code, 77
LINE = "sync\x1f/job/train.py\x1f56"


def row(digests: Sequence[int], **others: Any) -> list[Any]:
    """What one rank tells of calls that it looked at."""
    looks = [[GROUP, 2, 3 * call, digest] for call, digest in enumerate(digests)]
    told = {"operation": ALLREDUCE, "bytes": SIZE, "where": LINE, "calls": STEPS, "looks": looks}
    return list({**told, **others}.values())


def judged(first: Any, second: Any, operation: str = "MPI_Allreduce") -> Finding:
    """Both ranks are in an exchange for as long as they compute."""
    trace = exchanges(size=SIZE, count=1, each_s=EACH_S, steps=STEPS, operation=operation)
    ranks = [
        replace(rank, metadata={**rank.metadata, "given": told})
        for rank, told in zip(trace.ranks, (first, second), strict=True)
    ]
    return analyze_trace(replace(trace, ranks=ranks)).findings["identical_exchange"]


CALLS = list(range(11, 31, 2))
AFTER_THE_FIRST = [99, *CALLS[1:]]


@pytest.mark.parametrize("other", [CALLS, AFTER_THE_FIRST])
def test_what_all_ranks_give_need_not_be_exchanged(other: list[int]) -> None:
    """All transfer is saved but a thousandth."""
    found = judged([row(CALLS)], [row(other)])
    assert found.status is Status.FAIL
    assert found.gain_s == pytest.approx(STEPS * EACH_S, rel=0.02)
    assert found.title == "Ranks exchange what all of them hold already, in sync() (train.py:56)"
    same = sum(map(int.__eq__, CALLS, other))
    assert f"In {same} of 10 calls of MPI_Allreduce" in found.summary
    assert found.actions[0].startswith("In sync() (train.py:56): leave out MPI_Allreduce, if what")
    assert [one.line for one in found.where] == [56]


def test_of_the_transfer_their_part_is_saved() -> None:
    """Other calls of the operation, half as many bytes, are needed."""
    rows = [row(CALLS, calls=STEPS // 2)], [row(CALLS, calls=STEPS // 2)]
    assert judged(*rows).gain_s == pytest.approx(STEPS * EACH_S / 2, rel=0.05)


def test_what_receivers_hold_of_a_broadcast() -> None:
    name = "torch.distributed.broadcast"
    told = [row(CALLS, operation=name)]
    found = judged(told, told, operation=name)
    assert found.status is Status.FAIL
    assert "what it sends, its receivers hold already" in found.actions[0]


@pytest.mark.parametrize(
    "other",
    [
        [row([*CALLS[:5], 99, *CALLS[6:]])],  # one look differs
        [row([one + 100 for one in CALLS])],
        [row(CALLS, bytes=SIZE // 2)],  # other calls
        [row(CALLS, operation="MPI_Allgather")],
        [row(CALLS, looks=[[GROUP + 1, 2, 3 * call, one] for call, one in enumerate(CALLS)])],
        [row(CALLS[:2])],  # two looks
        [row([*CALLS[:5], 0, *CALLS[6:]])],  # one value throughout, where the other has more
        [],
    ],
)
def test_what_differs_or_is_not_known_is_no_fault(other: Any) -> None:
    assert not judged([row(CALLS)], other).status.is_fault


def test_what_holds_one_value_on_all_ranks_tells_nothing() -> None:
    assert not judged([row([0] * 10)], [row([0] * 10)]).status.is_fault


@pytest.mark.parametrize(
    ("pairs", "title"),
    [
        ([(0, 1)], "Ranks 0 and 1 exchange what all of them hold already"),
        (
            [(0, 1), (2, 3)],
            "Groups of ranks, as ranks 0 and 1, exchange what all in one hold already",
        ),
    ],
)
def test_groups_are_named(pairs: list[tuple[int, int]], title: str) -> None:
    """Two pairs of four ranks exchange; in those that are given, both hold the same."""
    builder = TraceBuilder(4, end_s=1e6)
    for first in (0, 2):
        pair = builder.communicator((first, first + 1))
        for rank in (first, first + 1):
            same = (first, first + 1) in pairs
            digests = CALLS if same else [one + 100 * rank for one in CALLS]
            looks = [[GROUP + first, 2, 3 * call, one] for call, one in enumerate(digests)]
            builder.rank(rank).set(metadata={"given": [row(CALLS, looks=looks)]})
            for step in range(STEPS):
                end = 1.0 + (step + 1) * 2 * EACH_S
                builder.rank(rank).op(
                    *("MPI_Allreduce", end - EACH_S, end), comm=pair, sent=SIZE, received=SIZE
                )
    found = analyze_trace(builder.ended(1.0 + STEPS * 2 * EACH_S, init_s=1.0)).findings
    one = found["identical_exchange"]
    assert one.status is Status.FAIL
    assert one.title == f"{title}, in sync() (train.py:56)"
    assert one.ranks == tuple(rank for pair in pairs for rank in pair)
    assert ("on ranks 0 and 1, each" if len(pairs) == 1 else "all ranks in them") in one.summary


def test_few_bytes_cost_nothing() -> None:
    told = [row(CALLS, bytes=SIZE >> 10)]
    assert judged(told, told).status is Status.PASS


@pytest.mark.parametrize(
    "odd",
    [
        None,
        7,
        [None],
        [[]],
        [[1, 2]],
        [row(CALLS, looks=4)],
        [row(CALLS, looks=[4, [], [GROUP, 2, 3, "x"], [GROUP, -2, [], {}]])],
        [row(CALLS, operation=[])],
        [row(CALLS, operation="x")],
        [row(CALLS, bytes="x", where=3, calls=None)],
    ],
)
def test_odd_notes_are_no_fault(odd: Any) -> None:
    assert not judged(odd, odd).status.is_fault
