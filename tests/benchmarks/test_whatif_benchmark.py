"""The table of predicted against real gains: what counts as met, missed and not to be told."""

import pytest

from benchmarks.whatif.gains import Gain


@pytest.mark.parametrize(
    ("interval", "predicted", "judgment"),
    [
        ((0.95, 1.05), 1.08, "within 10 %"),
        ((0.95, 1.05), 1.2, "missed"),
        ((0.8, 1.2), 1.3, "too noisy to tell"),
        ((0.8, 1.2), 1.4, "missed"),
        ((0.8, 1.2), 0.7, "missed"),
        (None, 1.0, "one repeat"),
        ((0.9, 1.1), None, "not predicted"),
    ],
)
def test_a_wide_interval_excuses_no_prediction_outside_it(
    interval: tuple[float, float] | None, predicted: float | None, judgment: str
) -> None:
    """The fix really gave back 1 s."""
    assert Gain(3.0, 2.0, interval, predicted).judgment == judgment
