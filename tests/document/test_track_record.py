"""How near predicted savings have been: the sentence, and the tables that it comes from."""

import pytest

from benchmarks.gallery.track_record import ACCURACY, ratios
from perfscope.document.track_record import HALF, PROGRAMS, track_record


def test_the_middle_half_is_told_in_seconds() -> None:
    told = track_record(2.0, 10.0)
    assert "saved 0.9 to 1.7 times the prediction (here 1.80 s to 3.40 s)" in told


def test_no_more_is_expected_than_the_run_takes() -> None:
    assert "here" in track_record(2.0, 3.5)
    assert "here" not in track_record(2.0, 3.3)
    assert "here" not in track_record(2.0, None)


def test_it_is_that_of_the_tables() -> None:
    """Rows may be added to them without a change of the sentence while it is still true."""
    found = ratios(ACCURACY.read_text(encoding="utf-8"))
    low, high = HALF
    assert len(found) >= PROGRAMS
    assert sum(low <= one <= high for one in found) / len(found) == pytest.approx(0.5, abs=0.05)
    assert sum(one < low for one in found) / len(found) == pytest.approx(0.25, abs=0.05)


def test_ratios_of_a_table() -> None:
    table = """
| program | gain, s | predicted, s |
|---|---|---|
| a | 4 | up to 2 of 9 |
| b | 1 and 3 (7 %) | 4 (3 to 5) |
| c | 5 | none |
"""
    assert ratios(table) == [2.0, 0.5]
    assert ratios(table, is_bound=True) == [2.0]
    assert ratios(table, is_bound=False) == [0.5]
