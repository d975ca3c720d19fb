"""How near predicted savings have been: the sentence, and the tables that it comes from."""

import pytest

from benchmarks.gallery.track_record import ACCURACY, amount, pairs, ratios
from perfscope.document.track_record import BOUNDS, REPLAYED, Record, track_record


def test_what_lies_outside_of_the_middle_half_is_told() -> None:
    told = (
        f"Range: half of the {REPLAYED.programs} replayed fixes tried in other programs "
        "saved 0.9 to 1.8 times their estimate"
    )
    assert track_record(is_bound=False) == f"{told}."
    end = "here, it takes no more than 2.00 s"
    assert track_record(is_bound=False, end=end) == f"{told}; {end}."


def test_bounds_have_a_record_of_their_own() -> None:
    assert track_record(is_bound=True) == (
        f"Range: half of the {BOUNDS.programs} fixes tried in other programs saved 0.9 "
        "to 1.5 times their estimate."
    )


@pytest.mark.parametrize(("record", "is_bound"), [(REPLAYED, False), (BOUNDS, True)])
def test_it_is_that_of_the_tables(record: Record, *, is_bound: bool) -> None:
    """As many programs as the tables have, and factors that hold within a twentieth of them."""
    found = ratios(ACCURACY.read_text(encoding="utf-8"), is_bound=is_bound)
    low, high = record.half
    assert len(found) == record.programs
    assert sum(low <= one <= high for one in found) / len(found) == pytest.approx(0.5, abs=0.05)
    assert sum(one < low for one in found) / len(found) == pytest.approx(0.25, abs=0.05)
    assert sum(one > 1.0 for one in found) / len(found) == pytest.approx(2 / 3, abs=0.05)


def test_ratios_of_a_table() -> None:
    """One number a cell, in one unit: all else is left out, and a program counts once."""
    table = """
| program | gain, s | predicted, s |
|---|---|---|
| a | 4 | up to 2 |
| b | 2 | 4 (3 to 5) |
| c | 5 | none |
| d | 1 and 3 | 4 |
| e | 5 | up to 2 of 9 |
| f | 5 | 20 % |
| a | 9 | 1 |
| the same, not planned | 9 | 1 |
| quiet | | |
"""
    found, left_out = pairs(table)
    assert [one.program for one in found] == ["a", "b"]
    assert left_out == 6
    assert ratios(table, is_bound=True) == [2.0]
    assert ratios(table, is_bound=False) == [0.5]


def test_what_was_estimated_is_not_measured() -> None:
    table = "| program | gain, s (estimated) | predicted, s |\n|---|---|---|\n| a | 4 | 2 |\n"
    assert pairs(table) == ([], 1)


@pytest.mark.parametrize(
    "cell",
    [
        "8.3 % and 9.8 %",
        "94 %, which cannot be",
        "up to 63 %, broken",
        "1.1 %: the replay cures the rank alone on which it was seen",
        "up to 1.26 and 1.08",
        "up to 1.6, without any transfer 3.3",
        "none (12.4 % for page faults)",
        "9 % (its loop 42 %)",
        "7.6 to 19.9",
        "",
    ],
)
def test_what_is_no_one_number(cell: str) -> None:
    assert amount("predicted, s", cell) is None


def test_units_are_those_of_the_cell_or_of_its_column() -> None:
    found = [amount(*one) for one in (("gain, s", "4"), ("gain", "40 % (q)"), ("gain", "4"))]
    assert [one and (one.number, one.unit) for one in found] == [(4.0, "s"), (40.0, "%"), None]
