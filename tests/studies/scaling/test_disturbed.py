"""Sizes of a study that ran on hosts which worked for others as well."""

import pytest

from perfscope.schema.enums import LossKind
from perfscope.studies.scaling.document import notes
from perfscope.studies.scaling.scaling import scaling
from tests.support.loss_accounts import losses_of
from tests.support.scaling_series import trained


def said(*taken_s: float) -> list[str]:
    """What the notes say of sizes of 80 s of which other processes took so much."""
    runs = trained((1, 2, 4))
    for run, seconds in zip(runs, taken_s, strict=True):
        account = losses_of(80.0 - seconds, ("Others", "", seconds, 1))
        account["entries"][0]["kind"] = LossKind.OTHER_PROCESSES.value
        run.document["losses"] = account
    return [note for note in notes(scaling(runs)) if "outside the job" in note]


def test_a_busy_host_is_told_with_what_it_took_of_each_size() -> None:
    (note,) = said(20.0, 4.0, 0.0)
    assert "25.0 % with 1 rank, 5.0 % with 2 ranks and 0 % with 4 ranks" in note


@pytest.mark.parametrize("taken_s", [0.0, 0.1])
def test_a_host_that_works_for_the_job_is_not_told(taken_s: float) -> None:
    assert said(taken_s, taken_s, taken_s) == []
