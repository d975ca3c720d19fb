"""What was not measured is shown as missing, never as a zero."""

from __future__ import annotations

import pytest

from perfscope.report.access import maybe_numbers, numbers, part_of, rank_name, total
from perfscope.report.sections._horovod import horovod
from perfscope.units import MISSING, counted, format_seconds


def test_a_missing_median_of_a_rank_is_no_zero() -> None:
    document = {
        "horovod": {
            "locations": [{"rank": 0}, {"rank": 1}],
            "exposed": {
                "step_wait_s_median_by_rank": [0.012, None],
                "step_transfer_s_median_by_rank": [None, 0.0],
            },
        }
    }
    shown = horovod(document)
    assert shown is not None
    first, second = ([cell.text for cell in row] for row in shown["ranks"].cells)
    assert (second[1], first[2]) == (MISSING, MISSING)
    assert second[2] == "0\u00a0s"
    assert first[3] == MISSING  # the row does not hold it


def test_an_array_with_a_hole_is_read_whole_with_its_hole_or_not_at_all() -> None:
    document = {"values": [1.0, None, "2", float("nan"), 3]}
    assert maybe_numbers(document, "values") == [1.0, None, None, None, 3]
    assert numbers(document, "values") == []
    assert numbers({"values": [1, 2.5]}, "values") == [1, 2.5]


def test_a_sum_and_a_share_with_a_part_that_is_missing_are_missing() -> None:
    assert total([1.0, None]) is None
    assert total([1.0, 2.0]) == 3.0
    assert part_of(None, 2.0) is None
    assert part_of(1.0, None) is None
    assert part_of(1.0, 0.0) is None
    assert part_of(1.0, 4.0) == 0.25
    assert rank_name({}) == "a rank not known"
    assert rank_name({"rank": 0}) == "rank 0"


@pytest.mark.parametrize("dust", [3.9e-14, -2.9e-20, 9.6e-17, -9.9e-10])
def test_what_is_less_than_a_clock_counts_is_nothing(dust: float) -> None:
    assert format_seconds(dust) == "0 s"


def test_a_nanosecond_is_shown() -> None:
    assert format_seconds(1e-9) == "1.00 ns"


def test_one_is_no_plural() -> None:
    assert counted(1, "rank") == "1 rank"
    assert counted(0, "rank") == "0 ranks"
    assert counted(1200, "process", "processes") == "1,200 processes"
