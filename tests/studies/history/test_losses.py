"""What the time is lost to over the points of a history, with changes made on purpose."""

import pytest

from perfscope.report.studies.sections.history_trends import losses
from perfscope.studies.common.run import StudyRun
from perfscope.studies.history.history import body, groups
from perfscope.studies.history.labels import verdict
from tests.studies.history.test_history import WIGGLE, series
from tests.support.loss_accounts import losses_of


def runs(count: int = 24, change_at: int = 16) -> list[StudyRun]:
    """Files cost 1 s more a rank from a commit on, waiting wavers, and a small loss doubles."""
    made = series(count, change_at=change_at)
    for place, run in enumerate(made):
        wiggle = WIGGLE[place % len(WIGGLE)]
        files = 2.0 if place < change_at else 4.0
        run.document["losses"] = losses_of(
            14.0,
            ("Files", "read", files + wiggle, 1),
            ("Waiting", "", 2.0 + wiggle, 1),
            ("Logging", "log", 0.1 if place < change_at else 0.2, 1),
        )
    return made


def test_a_loss_that_grows_is_dated_and_told_with_the_speed() -> None:
    found = body(groups(made := runs()), made)
    training, files, waiting, logging = found.groups[0].losses
    assert training.label == "Useful computation"
    assert files.label == "Files in read()"
    assert files.values[0] == pytest.approx(1.0)
    [change] = files.changes
    assert (change.at, change.is_worse) == (16, True)
    assert change.after - change.before == pytest.approx(1.0, abs=0.01)
    assert [(one.first, one.last) for one in files.segments] == [(0, 15), (16, 23)]
    assert not training.changes
    assert not waiting.changes
    assert not logging.changes, "it is too small a part of the run"
    assert "What changed most with it: Files in read(), 1 s more a rank." in verdict(found)[1]
    table = losses(found.groups[0])
    assert table is not None
    assert [row[2].told for row in table.cells][1].startswith("+1.00\xa0s since 0000000000")


def test_runs_without_an_account_are_gaps() -> None:
    made = runs()
    del made[3].document["losses"]
    found = body(groups(made), made).groups[0].losses
    assert [place for place, value in enumerate(found[1].values) if value is None] == [3]
    plain = series()
    group = body(groups(plain), plain).groups[0]
    assert group.losses == ()
    assert losses(group) is None
