"""Which loss grew from one side of a comparison to the next."""

import pytest

from perfscope.studies.compare.sides import Side, make_side
from perfscope.studies.compare.waterfall import losses
from tests.support.loss_accounts import losses_of
from tests.support.study_runs import made_run


def test_the_loss_that_grew_is_told_and_the_parts_add_up() -> None:
    sides: list[Side] = []
    for name, reading_s, smaller in (("A", 1.0, 3), ("B", 3.0, 5)):
        run = made_run(name, focus_s=8, work_s=[6.0, 6.0], steps=10, step_s=0.8)
        run.document["losses"] = losses_of(
            12.0,
            ("Files", "read", reading_s, 1),
            ("Files", "read", 1.0, 1),
            (f"Files: {smaller} smaller causes", "", 0.5, smaller),
            ("Start-up", "", 2.0, 1),
        )
        sides.append(make_side(name, [run]))
    found = losses(sides)
    assert found.totals_s == pytest.approx([8.25, 9.25])
    first, *others = found.steps[0].parts
    assert first.label == "Files in read()"
    assert first.delta_s == pytest.approx(1.0)
    assert [part.delta_s for part in others] == pytest.approx([0.0] * len(others))


def test_results_without_a_loss_account_say_so() -> None:
    run = made_run("a", focus_s=8, work_s=[6.0], steps=10, step_s=0.8)
    found = losses([make_side("A", [run]), make_side("B", [run])])
    assert found.reason == "a run has no loss account: analyze it anew"
