"""What is called training, and what is not."""

from typing import Any

import pytest

from perfscope.document.account_labels import account_labels
from perfscope.schema.enums import Account, PhaseKind
from tests.support.trace_builder import TraceBuilder


def label(frameworks: dict[str, Any], *kinds: PhaseKind) -> str:
    builder = TraceBuilder(2, end_s=10.0)
    for number in (0, 1):
        rank = builder.rank(number).set(metadata={"frameworks": frameworks})
        for place, kind in enumerate((PhaseKind.TRAIN, *kinds)):
            rank.phase(kind, 1.0 + place, 1.5 + place)
    return account_labels(builder.build())[Account.TRAINING]


@pytest.mark.parametrize(
    ("frameworks", "kinds", "told"),
    [
        ({"jax": {"gradients": False}}, (), "Computation in steps"),
        ({"jax": {"gradients": False}, "mpi4py": {}}, (), "Computation in steps"),
        ({"jax": {"gradients": True}}, (), "Training"),
        ({"jax": {}}, (), "Training"),  # a recording from before that was noted
        ({"jax": {"gradients": False}, "torch": {}}, (), "Training"),
        ({"jax": {"gradients": False}}, (PhaseKind.BACKWARD,), "Training"),
        ({}, (), "Training"),
    ],
)
def test_steps_without_gradients_are_no_training(
    frameworks: dict[str, Any], kinds: tuple[PhaseKind, ...], told: str
) -> None:
    assert label(frameworks, *kinds) == told
