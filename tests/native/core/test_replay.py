"""The compiled replay refuses what is no program, and orders what is one."""

from typing import Any

import numpy as np
import pytest

from perfscope import _core


def columns(**changes: list[int]) -> dict[str, Any]:
    """Two ranks, each with a start, a call and an end; rank 1's call needs that of rank 0."""
    plain = {
        "cut_rows": [0, 3, 2, 5],
        "hub_starts": [0],
        "hub_rows": [],
        "hub_parent": [],
        "need_starts": [0, 0, 0, 0, 0, 1, 1],
        "needs": [1],
    } | changes
    small = ("need_starts", "needs")
    return {
        name: np.array(values, np.int32 if name in small else np.int64)
        for name, values in plain.items()
    }


def test_a_receiver_waits_for_its_sender() -> None:
    replay = _core.Replay(ranks=2, **columns())
    gap = np.array([0.0, 5.0, 1.0, 0.0, 2.0, 1.0])
    transfer = np.array([0.0, 0.5, 0.0, 0.0, 0.25, 0.0])
    arrival, need, cause = replay.times(gap, transfer)
    assert arrival.tolist() == [0.0, 5.0, 6.5, 0.0, 2.0, 6.25]
    assert need[4] == 5.0
    assert cause[4] == 1
    assert replay.lengths(gap, transfer).tolist() == [6.5]
    row, ns = np.array([5, 1, 4, 1], np.int32), np.array([1.0, 2.0, 2.0, 3.0])
    alone, alone_ns = np.array([2], np.int32), np.array([1.0])
    assert replay.lengths_of_work(row, ns, alone, alone_ns, transfer).tolist() == [6.5]


@pytest.mark.parametrize(("rows", "transfers"), [([6], 6), ([-1], 6), ([1, 2], 6), ([1], 5)])
def test_work_that_fits_no_rows_is_refused(rows: list[int], transfers: int) -> None:
    replay = _core.Replay(ranks=2, **columns())
    row, ns, transfer = np.array(rows, np.int32), np.ones(1), np.zeros(transfers)
    with pytest.raises(_core.ReplayError):
        replay.lengths_of_work(row, ns, row[:0], ns[:0], transfer)
    if transfers == 6:
        with pytest.raises(_core.ReplayError):
            replay.lengths_of_work(row[:0], ns[:0], row, ns, transfer)


BAD: dict[str, dict[str, list[int]]] = {
    "a cut table without ends": {"cut_rows": [0, 3]},
    "a ragged cut table": {"cut_rows": [0, 3, 2]},
    "rows that overlap": {"cut_rows": [0, 2, 2, 5]},
    "cuts out of order": {"cut_rows": [0, 3, 2, 5, 1, 4]},
    "far too many rows": {"cut_rows": [0, 2**62, 2**62 - 1, 2**62 + 1]},
    "a need that is no row": {"needs": [6]},
    "a need that is no hub": {"needs": [-1]},
    "needs of fewer rows": {"need_starts": [0, 1]},
    "lists that go back": {"need_starts": [0, 0, 1, 0, 0, 1, 1]},
    "lists beyond their values": {"need_starts": [0, 0, 0, 0, 0, 1, 9]},
    "no lists": {"need_starts": []},
    "a hub of no row": {"hub_starts": [0, 1], "hub_rows": [-7], "hub_parent": [-1]},
    "a hub without a parent": {"hub_starts": [0, 1], "hub_rows": [1]},
    "a hub behind itself": {"hub_starts": [0, 1], "hub_rows": [1], "hub_parent": [0]},
    "ranks that wait in a circle": {
        "cut_rows": [0, 4, 3, 7],
        "need_starts": [0, 0, 1, 1, 1, 1, 2, 2, 2],
        "needs": [6, 2],
    },
}


@pytest.mark.parametrize("case", BAD)
def test_what_is_no_program_is_refused(case: str) -> None:
    with pytest.raises(_core.ReplayError, match=r"\w"):
        _core.Replay(ranks=2, **columns(**BAD[case]))


def test_columns_of_other_lengths_are_refused() -> None:
    replay = _core.Replay(ranks=2, **columns())
    six, five = np.zeros(6), np.zeros(5)
    pieces = np.zeros(7, np.int64)
    none, both = np.empty(0, np.int32), np.zeros(2, np.uint8)
    for gap, transfer in ((five, six), (six, five)):
        for ask in (replay.lengths, replay.times, replay.critical_path):
            with pytest.raises(_core.ReplayError):
                ask(gap, transfer)
    wrong: tuple[dict[str, Any], ...] = (
        {"piece_starts": pieces[1:]},
        {"tags": [(np.zeros(1, np.int32), 2, None)]},
        {"tags": [(none, 0, None)]},
        {"tags": [(none, 2, none)]},
        {"tags": [(none, 2, np.full(6, -1, np.int32))]},
        {"ns": np.zeros(1), "tags": [(np.full(1, 2, np.int32), 2, None)]},
        {"waits_at_end": both[1:]},
    )
    fits: dict[str, Any] = {
        "piece_starts": pieces,
        "ns": np.empty(0),
        "tags": [(none, 2, None)],
        "waits_at_end": both,
    }
    assert replay.delay_cost(six, six, **fits)[0]["waiting"] == 0.0
    for change in wrong:
        with pytest.raises(_core.ReplayError):
            replay.delay_cost(six, six, **(fits | change))
