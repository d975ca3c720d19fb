"""What a compiled function of TensorFlow is given as a batch."""

from typing import Any

import numpy as np
import pytest

from perfscope.agent.perfscope_agent.frameworks.tensorflow import _samples

PICTURES, LABELS, GRADIENTS = np.zeros((64, 784)), np.zeros(64), np.zeros(1_079_600)


@pytest.mark.parametrize(
    ("given", "named", "expected"),
    [
        ((PICTURES,), {}, 64),
        ((PICTURES, 0.5), {}, 64),
        ((LABELS, LABELS), {}, 64),
        ((), {"x": PICTURES}, 64),
        ((), {"x": LABELS, "y": LABELS}, 64),
        (((PICTURES, LABELS),), {}, 64),
        (([LABELS, LABELS],), {}, 64),
        (((GRADIENTS,),), {}, 0),
        ((GRADIENTS,), {}, 0),
        ((), {"flat": GRADIENTS}, 0),
        ((GRADIENTS, LABELS), {}, 0),
        ((np.float32(0.5),), {}, 0),
    ],
)
def test_a_row_of_numbers_alone_is_no_batch(
    given: tuple[Any, ...], named: dict[str, Any], expected: int
) -> None:
    """All gradients one after the other, for example, that an update gets."""
    assert _samples(given, named) == expected
