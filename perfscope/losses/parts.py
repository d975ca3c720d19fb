"""A whole number of nanoseconds, divided without a rest."""

import numpy as np

from perfscope.arrays import Floats, Ints


def whole_parts(whole: int, weights: Floats) -> Ints:
    """A whole number in whole parts, as near to their weights as can be, that add up to it.

    What rounding down leaves goes to the parts that lost most by it (largest remainders). Without
    weight the first part gets all.

    Args:
        whole: what is divided, not below 0.
        weights: of the parts, not below 0, at least one.
    """
    total = float(weights.sum())
    if total <= 0:
        result = np.zeros(len(weights), np.int64)
        result[0] = whole
        return result
    exact = (weights / total) * whole
    parts = np.floor(exact).astype(np.int64)
    order = np.argsort(parts - exact, kind="stable")
    left = whole - int(parts.sum())
    if left < 0:  # floating point gave too much; the largest part is far larger than that
        parts[np.argmax(parts)] += left
        return parts
    full, rest = divmod(left, len(parts))
    parts += full
    parts[order[:rest]] += 1
    return parts
