"""Every percent of a saving names its whole."""

from typing import Any

import pytest

from perfscope.savings import Beside, Wholes, interval_text, rest_text


def test_a_saving_is_a_share_of_the_run_and_of_the_window() -> None:
    of = Wholes(run_s=10.0, window_s=4.0)
    assert of.saving(1.0) == (
        "1.00 s (10.0 % of the 10.0 s run, 25.0 % of the 4.00 s analyzed window)"
    )
    shares = "1.00 s (10.0 % of the 10.0 s run, 25.0 % of the 4.00 s analyzed window)"
    assert of.saving(1.0, interval=(0.5, 1.5)) == f"{shares}, 500 ms to 1.50 s as its steps vary"


def test_a_bound_has_no_interval_beside_it() -> None:
    of = Wholes(run_s=10.0, window_s=4.0)
    assert of.saving(1.0, is_bound=True, interval=(0.5, 1.5)) == (
        "about 1.00 s (10.0 % of the 10.0 s run, 25.0 % of the 4.00 s analyzed window)"
    )


@pytest.mark.parametrize("window_s", [10.0, 9.95])
def test_a_window_that_is_all_of_the_run_is_named_once(window_s: float) -> None:
    assert Wholes(10.0, window_s).shares(1.0) == "10.0 % of the 10.0 s run"


def test_what_is_not_known_has_no_share() -> None:
    assert Wholes(None, None).saving(1.0) == "1.00 s"
    assert Wholes(None, 2.0).shares(1.0) == "50.0 % of the 2.00 s analyzed window"
    assert Wholes(0.0, 0.0).shares(1.0) == ""
    assert Wholes(1.0, 1.0).shares(None) == ""


def test_an_interval_without_width_is_not_told() -> None:
    assert interval_text((1.0, 1.0)) == interval_text(None) == interval_text(()) == ""


@pytest.mark.parametrize(
    ("told", "seconds", "spent_s", "lead"),
    [
        (
            "Of the 10.0 s per rank, 2.00 s would turn into waiting for other ranks",
            8.0,
            10.0,
            "",
        ),
        (
            (
                "Of the 10.0 s per rank by which it is shorter, 5.00 s would turn into waiting for "
                "other ranks"
            ),
            5.0,
            10.0,
            "by which it is shorter",
        ),
        (
            "That is the 10.0 s per rank and 5.00 s of waiting and transfer that end with it",
            15.0,
            10.0,
            "",
        ),
        (
            (
                "That is the 10.0 s per rank by which it is shorter and 5.00 s of waiting and "
                "transfer that end with it"
            ),
            15.0,
            10.0,
            "by which it is shorter",
        ),
        ("", 9.85, 10.0, ""),
    ],
)
def test_what_something_takes_leads_to_what_its_change_saves(
    told: str, seconds: float, spent_s: float, lead: str
) -> None:
    assert rest_text(seconds, spent_s, lead, each=" per rank") == told


def test_what_a_saving_is_less_is_not_told_where_it_is_less_than_it_varies() -> None:
    told = [rest_text(9.0, 10.0, "", each="", interval=(8.9, most_s)) for most_s in (9.1, 9.9)]
    assert told == [
        "Of the 10.0 s, 1.00 s would turn into waiting for other ranks",
        "",
    ]


def leading(of: Wholes, seconds: float, **told: Any) -> str:
    """What the fix of the problem saves that comes first."""
    ends = of.odds(seconds, **told)
    kept = {name: one for name, one in told.items() if name in {"is_bound", "interval"}}
    return of.fix(seconds, beside=Beside(ends), **kept)


def test_a_fix_is_told_of_one_whole_with_its_range() -> None:
    """What it rests on stands elsewhere: every range has one form."""
    of, first = Wholes(40.0, 10.0), "about 12.0 s of the 40.0 s run (30.0 %), likely between"
    assert leading(of, 12.0, interval=(10.0, 14.0)) == f"{first} 10.0 s and 14.0 s"
    assert leading(of, 12.0, interval=(11.0, 14.0)) == f"{first} 10.8 s and 21.6 s"
    bound = leading(of, 12.0, is_bound=True, interval=(10.0, 14.0))
    assert bound == f"{first} 10.8 s and 18.0 s"
    told = leading(Wholes(None, 10.0), 2.0, interval=(1.0, 3.0), is_by_assumption=True)
    window = "about 2.00 s of the 10.0 s analyzed window (20.0 %)"
    assert told == f"{window}, likely between 1.00 s and 3.00 s"
    assert Wholes(40.0, None).fix(2.0) == "about 2.00 s of the 40.0 s run (5.0 %)"


def test_an_estimate_that_is_its_upper_end_is_told_as_one() -> None:
    told = Wholes(40.0, None).fix(12.0, beside=Beside((10.8, 12.0)))
    assert told == "up to 12.0 s of the 40.0 s run (30.0 %), at least 10.8 s"
    assert Wholes(40.0, None).fix(12.0, interval=(12.0, 12.001)).endswith(" (30.0 %)")


def test_what_is_saved_on_an_idle_host_is_told_of_the_run_that_its_page_shows() -> None:
    """No page tells of a second length, which no row of it has."""
    of = Wholes(40.0, None, idle_s=24.0)
    idle = Beside((7.2, 14.4), 8.0, ", if so")
    assert of.fix(12.0, beside=idle) == (
        "about 8.00 s of the 40.0 s run (20.0 %), likely between 7.20 s and 14.4 s, if so"
    )
    assert of.loaded(12.0) == "about 12.0 s, 30.0 % of the 40.0 s run"
    assert Wholes(None, None).fix(12.0, beside=idle) == (
        "about 8.00 s, likely between 7.20 s and 14.4 s, if so"
    )


@pytest.mark.parametrize(
    ("of", "told", "ends"),
    [
        (Wholes(40.0, 10.0), {}, (1.8, 3.6)),
        (Wholes(None, None), {}, (1.8, 3.6)),  # what is not known ends nothing
        (Wholes(3.5, None), {}, (1.8, 3.5)),  # no more is saved than there is
        (Wholes(40.0, None, idle_s=3.2), {}, (1.8, 3.2)),
        (Wholes(40.0, None), {"interval": (1.0, 3.0)}, None),
        (Wholes(40.0, None), {"most_s": 3.4}, (1.8, 3.4)),
        (Wholes(40.0, None), {"most_s": 3.7}, (1.8, 3.6)),
        (Wholes(40.0, None), {"most_s": 2.0}, (1.8, 2.0)),  # all of it is saved
        (Wholes(40.0, None), {"most_s": 1.0}, (1.8, 3.6)),
        (Wholes(40.0, None), {"is_bound": True}, (1.8, 3.0)),
        (Wholes(40.0, None), {"is_bound": True, "most_s": 2.5}, (1.8, 2.5)),
        (Wholes(40.0, None), {"is_bound": True, "most_s": 2.0, "is_exact": True}, (1.8, 2.0)),
        # other time that ends with it comes on top of all that the fix replaces
        (Wholes(40.0, None), {"is_bound": True, "most_s": 2.0}, (1.8, 3.0)),
    ],
)
def test_no_range_goes_beyond_what_is_lost(
    of: Wholes, told: dict[str, Any], ends: tuple[float, float] | None
) -> None:
    assert of.odds(2.0, **told) == (None if ends is None else pytest.approx(ends))


def test_a_saving_of_which_a_part_was_not_measured_reads_the_same_in_both_forms() -> None:
    of = Wholes(40.0, None)
    assert of.fix(12.0, is_least=True) == "about 12.0 s or more of the 40.0 s run (30.0 %)"
    assert of.saving(12.0, is_least=True) == "about 12.0 s or more (30.0 % of the 40.0 s run)"


def test_the_ends_of_a_saving_are_told_alike_wherever_they_are_told() -> None:
    """How many assumptions there are nobody counts."""
    ends = (1.0, 3.0)
    told = interval_text(ends, is_by_assumption=True).removeprefix(", ")
    of = Wholes(None, 10.0)
    assert told == "1.00 s to 3.00 s under different assumptions"
    assert ", likely between 1.00 s and 3.00 s" in of.fix(2.0, interval=ends)
