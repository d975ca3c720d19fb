"""Ranks of one host whose clocks differ, which another tool's trace need not say."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from perfscope.matching.waits import split_operations
from perfscope.readers.paraver.reader import open_paraver
from tests.support import paraver_files

SHIFT_US = 360
COLLECTIVE = ":50100001:{}:50100002:{}:50100004:1"


def exchange(source: int, target: int, at: int, shifts: Sequence[int]) -> list[str]:
    """A message that is received as soon as it is sent, each side on its own clock."""
    begin, end = at + shifts[source], at + 20 + shifts[target]
    sides = [f"1:1:{task + 1}:1" for task in (source, target)]
    return [
        *paraver_files.call(source + 1, 1, 1, begin, begin + 2),
        *paraver_files.call(target + 1, 1, 2, end - 15, end),
        f"3:{sides[0]}:{begin}000:{begin}000:{sides[1]}:{end - 15}000:{end}000:8:7",
    ]


def collective(kind: int, at: int, shifts: Sequence[int], sizes: Sequence[str]) -> list[str]:
    """A collective from and to the first rank, which all begin and end at one time."""
    lines = []
    for rank, (shift, size) in enumerate(zip(shifts, sizes, strict=True)):
        begin = at + shift
        lines += paraver_files.call(rank + 1, 2, kind, begin, begin + 10, size)
    return lines


def reason(path: Path, ranks: int, lines: list[str]) -> str:
    first = paraver_files.header(60_000, [1] * ranks, 1) + "\n" + paraver_files.world(ranks)
    paraver_files.write(path, first, lines)
    return split_operations(open_paraver(path)).clocks.reason


@pytest.mark.parametrize("shift", [0, -SHIFT_US])
def test_two_of_many_whose_messages_arrive_before_they_are_sent(tmp_path: Path, shift: int) -> None:
    shifts = [0, 0, 0, shift]
    lines = []
    for turn in range(500):
        at = 1000 + 100 * turn
        lines += exchange(0, 1, at, shifts)
        if turn % 125 == 0:
            lines += exchange(2, 3, at, shifts)
    said = reason(tmp_path / "a.prv", 4, lines)
    assert ("4 of 4 operations between ranks of one host" in said) is (shift != 0)
    assert bool(said) is (shift != 0)


@pytest.mark.parametrize(
    ("kind", "sizes", "shifts"),
    [
        (7, [(8, 0), (0, 8), (0, 8)], [SHIFT_US, 0, 0]),
        (9, [(0, 8), (8, 0), (8, 0)], [0, SHIFT_US, 0]),
    ],
    ids=["broadcast", "reduce"],
)
@pytest.mark.parametrize("is_shifted", [False, True])
def test_what_a_root_has_before_it_is_sent(
    tmp_path: Path, kind: int, sizes: list[tuple[int, int]], shifts: list[int], is_shifted: bool
) -> None:
    said = [COLLECTIVE.format(*size) for size in sizes]
    said[0] += ":50100003:1"
    lines = []
    for at in range(1000, 11000, 1000):
        lines += collective(kind, at, shifts if is_shifted else [0, 0, 0], said)
    assert ("ranks of one host" in reason(tmp_path / "a.prv", 3, lines)) is is_shifted


def test_ranks_of_one_of_two_hosts(tmp_path: Path) -> None:
    shifts = [0, 0, 0, -SHIFT_US]
    lines = []
    for turn in range(100):
        lines += exchange(0, 2, 1000 + 100 * turn, shifts)
        if turn % 25 == 0:
            lines += exchange(2, 3, 1000 + 100 * turn, shifts)
    first = "#Paraver (01/02/2024 at 10:00):60000000_ns:2(4,4):1:4(1:1,1:1,1:2,1:2),1\n"
    paraver_files.write(tmp_path / "a.prv", first + paraver_files.world(4), lines)
    trace = open_paraver(tmp_path / "a.prv")
    assert len({rank.clock_domain for rank in trace.ranks}) == 2
    assert "between ranks of one host" in split_operations(trace).clocks.reason
