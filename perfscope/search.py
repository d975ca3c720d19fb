"""Binary search of times in a sorted array."""

from typing import Literal

import numpy as np

from perfscope.arrays import Ints
from perfscope.engine import engine

FEW = 1000
"""Below this number of times, NumPy is as fast."""


def places(ordered: Ints, moments: Ints, side: Literal["left", "right"] = "left") -> Ints:
    """The result of `np.searchsorted`, in a fraction of its time where `moments` ascends too.

    `side` says whether a time belongs before (left) or after (right) those equal to it.
    """
    if len(moments) < FEW or not _are_integers(ordered, moments):
        return np.searchsorted(ordered, moments, side=side).astype(np.int64, copy=False)
    packed = np.ascontiguousarray(ordered), np.ascontiguousarray(moments)
    return engine.places(*packed, side == "right")


def _are_integers(*columns: Ints) -> bool:
    return all(column.dtype == np.int64 for column in columns)
