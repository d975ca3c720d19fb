"""Losses over sizes, with laws that are known in closed form."""

import math

import pytest

from perfscope.schema.scaling import FittedModel
from perfscope.studies.scaling.scaling import scaling
from tests.support.loss_accounts import losses_of
from tests.support.scaling_series import trained

SIZES = (1, 2, 4, 8, 16, 32)


def test_each_loss_has_its_law() -> None:
    """Training work is divided, reading stays as long on each rank, a wait grows with log p."""
    runs = trained(SIZES)
    for run, p in zip(runs, SIZES, strict=True):
        waits = 0.5 + 0.25 * math.log2(p)
        run.document["losses"] = losses_of(
            80.0,
            ("Files", "read", 3.0 * p, 1),
            ("Waiting", "", waits * p, 1),
            ("Start-up", "", 9.0, 1),
        )
    training, reading, waiting = scaling(runs).losses
    assert training.label == "Useful computation"
    assert training.seconds == pytest.approx([80.0 / p for p in SIZES])
    assert training.shares[0] == pytest.approx(80.0 / 83.5)
    assert reading.label == "Files in read()"
    assert reading.seconds == pytest.approx([3.0] * len(SIZES))
    assert isinstance(reading.model, FittedModel)
    assert (reading.model.power, reading.model.log) == ("0", 0)
    assert isinstance(waiting.model, FittedModel)
    assert (waiting.model.power, waiting.model.log) == ("0", 1)


def test_without_loss_accounts_nothing_is_told() -> None:
    assert scaling(trained()).losses == ()
