"""Looking up many numbers at once: times in a sorted array, and codes in a table."""

from typing import Literal

import numpy as np
import numpy.typing as npt

from perfscope.arrays import Bools, Ints
from perfscope.engine import engine

FEW = 1000
"""Below this number of times or codes, NumPy is as fast."""


def places(ordered: Ints, moments: Ints, side: Literal["left", "right"] = "left") -> Ints:
    """The result of `np.searchsorted`, in a fraction of its time where `moments` ascends too.

    `side` says whether a time belongs before (left) or after (right) those equal to it.
    """
    if len(moments) < FEW or not _are_integers(ordered, moments):
        return np.searchsorted(ordered, moments, side=side).astype(np.int64, copy=False)
    packed = np.ascontiguousarray(ordered), np.ascontiguousarray(moments)
    return engine.places(*packed, side == "right")


def of_codes(wanted: Bools, codes: npt.NDArray[np.uint16]) -> Bools:
    """What a mask of all codes says of each: `wanted[codes]`, in a fraction of its time."""
    if len(codes) < FEW:
        return wanted[codes]
    found = engine.of_codes(wanted.view(np.uint8), np.ascontiguousarray(codes))
    return found.view(np.bool_)


def _are_integers(*columns: Ints) -> bool:
    return all(column.dtype == np.int64 for column in columns)
