"""Workers of loaders that stay: only what epochs begin and end with gets shorter."""

from dataclasses import replace

import pytest

from perfscope.metrics.compute import compute
from perfscope.metrics.results import Options
from perfscope.replay.assumptions import KEPT_WORKERS
from perfscope.replay.model import Edit, Prediction
from perfscope.replay.segments import SegmentReplay
from tests.support.loader_epochs import Epochs, epochs_run

KEPT = Edit(keeps_workers=True)
PLAN = Epochs()


def kept(plan: Epochs, edit: Edit = KEPT) -> Prediction:
    found = SegmentReplay(compute(epochs_run(plan), Options())).predict([edit])
    assert found is not None
    assert KEPT_WORKERS in found.assumptions
    return found


@pytest.mark.parametrize("epochs", [2, 6])
def test_later_epochs_begin_as_steps_do(epochs: int) -> None:
    """The first start and the last end stay: there is one of each in any run."""
    turn_s = PLAN.start_s + PLAN.first_s - PLAN.usual_s + PLAN.end_s
    found = kept(replace(PLAN, epochs=epochs))
    assert found.gain_s == pytest.approx((epochs - 1) * turn_s)


def test_first_batches_may_take_steps_longer_than_others() -> None:
    """A usual step takes 10 ms for its batch, and 101 ms."""
    found = kept(PLAN, replace(KEPT, factor=2.0))
    left_s = PLAN.usual_s + 2 * (PLAN.usual_s + 0.101)
    turn_s = PLAN.start_s + PLAN.first_s - left_s + PLAN.end_s
    assert found.gain_s == pytest.approx((PLAN.epochs - 1) * turn_s)


def test_one_rank_alone_saves_nothing() -> None:
    """The other one starts its workers as before."""
    assert kept(PLAN, replace(KEPT, ranks=(0,))).gain_s == pytest.approx(0.0, abs=1e-9)


def test_other_waits_stay() -> None:
    """Of an epoch that begins as fast as steps do, and of evaluations, nothing is saved."""
    plan = Epochs(start_s=0.0, first_s=0.01, end_s=0.0, usual_s=0.04, evaluation_s=0.5)
    assert kept(plan).gain_s == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize("epochs", [1, 6])
def test_nothing_is_claimed_where_nothing_tells_what_is_usual(epochs: int) -> None:
    """Of one epoch, or of one batch in each."""
    plan = replace(PLAN, epochs=epochs, batches=1 if epochs > 1 else 10)
    assert kept(plan).gain_s == pytest.approx(0.0, abs=1e-9)
