"""What a rank costs: nothing that an analysis asks may compare each rank with all others."""

import sys
from collections import Counter
from collections.abc import Callable
from dis import get_instructions
from functools import cache
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import pytest

from benchmarks.engine.many_ranks import SOURCE, write_many
from perfscope.cli.main import main

FEWEST_RANKS = 8
PER_PAIR = 0.7
"""Lines run for a pair of ranks that are too many: what is asked for each pair runs one or more."""


@cache
def lines_of(code: CodeType) -> int | None:
    """How many lines each call of a function of perfscope runs at most; None where it loops."""
    if "/perfscope/" not in code.co_filename:
        return 0
    names = [one.opname for one in get_instructions(code)]
    if any("FOR_ITER" in name or "JUMP_BACKWARD" in name for name in names):
        return None
    return len({line for _, _, line in code.co_lines()})


def lines_run(ranks: int, place: Path) -> Counter[CodeType]:
    """How many lines of each function of perfscope an analysis of that many ranks runs."""
    lines: Counter[CodeType] = Counter()

    def count(frame: FrameType, _: str, __: object) -> Callable[..., Any] | None:
        of_call = lines_of(frame.f_code)
        lines[frame.f_code] += 1 if of_call is None else of_call
        return count if of_call is None else None

    before = sys.gettrace()
    sys.settrace(count)
    try:
        analyze(ranks, place)
    finally:
        sys.settrace(before)
    return lines


def analyze(ranks: int, place: Path) -> None:
    """Writes a recording of that many ranks and analyzes it."""
    write_many(SOURCE, place / "run", ranks, slow=(3,))
    main(["analyze", str(place / "run"), "--no-report", "-o", str(place / "analyzed")])


@pytest.mark.usefixtures("capsys")
def test_no_line_is_run_for_each_pair_of_ranks(tmp_path: Path) -> None:
    analyze(FEWEST_RANKS, tmp_path / "first")  # fills what the process keeps
    few, some, many = (
        lines_run(FEWEST_RANKS * times, tmp_path / str(times)) for times in (1, 2, 3)
    )
    # The second difference of a n^2 + b n + c over three equal distances d is 2 a d^2.
    per_pair = {
        f"{code.co_filename}:{code.co_firstlineno}": (many[code] - 2 * some[code] + few[code])
        / (2 * FEWEST_RANKS**2)
        for code in many
    }
    assert per_pair
    assert {name: found for name, found in per_pair.items() if found > PER_PAIR} == {}
