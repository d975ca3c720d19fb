"""What was not measured is shown as missing, never as a zero."""

from collections.abc import Callable
from math import nan

import pytest

from perfscope.report.formats import part_of
from perfscope.report.sections._horovod import horovod
from perfscope.schema.read import read_known
from perfscope.units import (
    MISSING,
    counted,
    format_bytes,
    format_count,
    format_ratio,
    format_seconds,
    format_share,
)
from tests.report.sample_document import with_horovod


def test_a_missing_median_of_a_rank_is_no_zero() -> None:
    document = with_horovod()
    found = document["horovod"]
    found["exposed"]["step_wait_s_median_by_rank"] = [0.012, None]
    found["exposed"]["step_transfer_s_median_by_rank"] = [None, 0.0]
    del found["locations"][0]["data_s"]
    shown = horovod(read_known(document).horovod)
    assert shown is not None
    first, second = ([cell.text for cell in row] for row in shown["ranks"].cells)
    assert (second[1], first[2]) == (MISSING, MISSING)
    assert second[2] == "0\u00a0s"
    assert first[3] == MISSING  # the row does not hold it


@pytest.mark.parametrize(
    "write", [format_seconds, format_bytes, format_share, format_count, format_ratio]
)
def test_a_figure_that_a_document_does_not_hold_is_missing(
    write: Callable[[float | None], str],
) -> None:
    assert write(nan) == write(None) == MISSING


def test_a_share_with_a_part_that_is_missing_is_missing() -> None:
    assert part_of(None, 2.0) is None
    assert part_of(1.0, None) is None
    assert part_of(1.0, 0.0) is None
    assert part_of(1.0, 4.0) == 0.25


@pytest.mark.parametrize("dust", [3.9e-14, -2.9e-20, 9.6e-17, -9.9e-10])
def test_what_is_less_than_a_clock_counts_is_nothing(dust: float) -> None:
    assert format_seconds(dust) == "0 s"


def test_a_nanosecond_is_shown() -> None:
    assert format_seconds(1e-9) == "1.00 ns"


def test_one_is_no_plural() -> None:
    assert counted(1, "rank") == "1 rank"
    assert counted(0, "rank") == "0 ranks"
    assert counted(1200, "process", "processes") == "1,200 processes"
