"""Where events repeat themselves: the odd cases that no program of the other tests has."""

import numpy as np

from perfscope.attribution.cycles import MOST_EVENTS, marks


def test_of_many_events_the_ones_looked_at_may_be_all_alike() -> None:
    """No likeness is beyond that of chance then, and nothing is divided by what is left of it."""
    token = np.full(MOST_EVENTS + 100, 2)
    token[0] = 1
    found = marks(token, np.ones(len(token), np.int64))
    assert np.array_equal(found, np.arange(1, len(token)))
