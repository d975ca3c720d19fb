"""The first steps of a run in which a change saves most."""

import numpy as np
import pytest

from perfscope.replay.early import early
from perfscope.units import NS


def told(gains: list[float], segments: int = 1) -> tuple[int, int, float, float, float] | None:
    """Of steps of 10 s in so many segments, with seconds that are saved in each."""
    by_segment = np.append(np.repeat(np.array(gains) / NS / segments, segments), 0.0)
    lengths = np.append(np.full(len(gains) * segments, 10.0 / NS / segments), 0.0)
    steps = np.append(np.repeat(np.arange(1, len(gains) + 1), segments), len(gains) + 1)
    found = early(by_segment, lengths, steps)
    if found is None:
        return None
    return found.steps, found.of, found.gain_s, found.rest_s, found.rest_length_s


@pytest.mark.parametrize("segments", [1, 4])
def test_where_later_steps_begin_to_save_less(segments: int) -> None:
    gains = [3.0, 4.0, 3.0, 4.0] + 12 * [0.5]
    assert told(gains, segments) == pytest.approx((4, 16, 14.0, 6.0, 120.0))


def test_steps_that_save_as_much_or_more_later_have_no_beginning() -> None:
    assert told(16 * [1.5]) is None
    assert told([0.5] * 12 + [3.0] * 4) is None
    assert told([-1.0] * 4 + [0.0] * 12) is None
    assert early(np.zeros(0), np.zeros(0), np.zeros(0, np.int64)) is None


def test_what_comes_back_is_left_in_the_rest() -> None:
    found = told([3.0] * 4 + [0.0] * 8 + [3.0] * 4)
    assert found is None or found[3] >= 12.0
