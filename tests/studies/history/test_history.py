"""Histories made from formulas: grouping, order, changes, the badge and what is left out."""

from typing import Any

import pytest

from perfscope.schema.compare import NotCounted
from perfscope.schema.history import History, Trend
from perfscope.studies.common.run import StudyRun
from perfscope.studies.history.history import badge, body, day, groups
from perfscope.studies.history.labels import verdict
from tests.support.study_runs import made_run

DAY_S = 86_400.0
WIGGLE = (0.0, 0.004, -0.003, 0.002, -0.005, 0.001, 0.003, -0.001)


def run(
    number: int, samples_per_s: float | None, *, commit: str = "", ranks: int = 2, **of_run: Any
) -> StudyRun:
    """A run on a day of its own."""
    made = made_run(
        f"run-{number}", focus_s=10.0, work_s=[8.0] * ranks, samples_per_s=samples_per_s
    )
    made.document["run"] |= {
        "start_unix_s": 1.8e9 + DAY_S * number,
        "commit": {"id": commit, "branch": "main"} if commit else None,
    } | of_run
    return made


def series(count: int = 24, *, change_at: int | None = 16, factor: float = 0.9) -> list[StudyRun]:
    return [
        run(
            n,
            1000.0
            * (1 + WIGGLE[n % len(WIGGLE)])
            * (factor if change_at is not None and n >= change_at else 1.0),
            commit=f"{n:040x}",
        )
        for n in range(count)
    ]


def made(runs: list[StudyRun]) -> History:
    return body(groups(runs), runs)


def speed(found: History) -> Trend:
    [row] = [row for row in found.groups[0].series if row.id == "throughput"]
    return row


@pytest.mark.parametrize(
    ("factor", "status", "word", "told"),
    [(0.9, "warn", "fail", "worse"), (1.1, "pass", "pass", "better")],
)
def test_a_change_is_dated_and_judged(factor: float, status: str, word: str, told: str) -> None:
    found = made(series(factor=factor))
    [change] = speed(found).changes
    assert change.at == 16
    assert change.ratio == pytest.approx(factor, rel=0.01)
    assert verdict(found)[0] == status
    assert told in verdict(found)[1]
    assert f"{16:040x}"[:10] in verdict(found)[1]
    assert found.badge.status == word
    assert [(s.first, s.last) for s in speed(found).segments] == [(0, 15), (16, 23)]


def test_without_a_change_the_level_is_shown() -> None:
    found = made(series(change_at=None))
    assert speed(found).changes == ()
    assert verdict(found)[0] == "pass"
    assert "no change over 24 points" in verdict(found)[1]
    assert found.badge.text.endswith("samples/s")


def test_a_short_history_says_that_it_cannot_show_a_change() -> None:
    status, sentence = verdict(made(series(4, change_at=2)))
    assert status == "info"
    assert "10 points are needed" in sentence


def test_runs_of_a_commit_are_one_point_in_the_order_of_their_dates() -> None:
    runs = [run(3, 120.0, commit="b" * 40), run(1, 100.0, commit="a" * 40)]
    runs += [run(2, 104.0, commit="a" * 40), run(4, 130.0), run(5, 131.0)]
    found = made(runs)
    points = found.groups[0].points
    assert [point.label for point in points] == ["a" * 10, "b" * 10, "2027-01-19", "2027-01-20"]
    assert [point.runs for point in points] == [(1, 2), (0,), (3,), (4,)]
    assert speed(found).values == (102.0, 120.0, 130.0, 131.0)


def test_only_like_runs_are_in_a_trend_and_failed_ones_in_none() -> None:
    runs = [run(0, 100.0), run(1, 100.0), run(2, 200.0, ranks=4), run(3, 100.0, batch_size=8)]
    runs += [run(4, 100.0, command=["python", "other.py"]), run(5, 1.0, exit_code=1)]
    found = made(runs)
    assert [len(group.points) for group in found.groups] == [2, 1, 1, 1]
    assert found.left_out == (NotCounted(5, "it ended with exit code 1"),)
    together = groups(runs, ignore_command=True)
    assert [len(group.points) for group in together] == [3, 1, 1]


def test_what_was_not_measured_has_a_reason_and_another_speed_is_judged() -> None:
    found = made([run(n, None) for n in range(3)])
    assert speed(found).reason == "no steps were found"
    assert found.groups[0].judged == "wall"
    assert found.badge.label == "wall time"


def test_the_speed_of_most_points_is_judged_if_the_newest_has_it() -> None:
    few = made([run(0, 100.0), run(1, None), run(2, None), run(3, 100.0)])
    assert few.groups[0].judged == "wall"
    gone = made([run(n, 100.0 if n < 3 else None) for n in range(4)])
    assert gone.groups[0].judged == "wall"
    assert made([run(n, 100.0) for n in range(3)]).groups[0].judged == "throughput"


def test_the_trend_of_the_newest_run_is_judged() -> None:
    old = series(24, change_at=16, factor=1.1)
    new = [run(100 + n, 1000.0 if n < 8 else 800.0, ranks=4) for n in range(16)]
    found = made([*old, *new])
    assert len(found.groups[0].points) == 24
    assert found.badge.status == "fail"
    status, sentence = verdict(found)
    assert status == "warn"
    assert "Judged is the trend of the newest run: python train.py (4 ranks)." in sentence


def test_gaps_keep_the_place_of_a_change() -> None:
    runs = series()
    for n in (3, 5, 20):
        runs[n].document["run"]["throughput"]["samples_per_s"] = {"value": None, "reason": "gone"}
    [change] = speed(made(runs)).changes
    assert change.at == 16


def test_nothing_and_times_beyond_the_calendar() -> None:
    found = made([run(0, 1.0, exit_code=9)])
    assert verdict(found)[0] == "info"
    assert badge([]).text == "no runs"
    assert day(1e300) == day(-1e30) == ""
