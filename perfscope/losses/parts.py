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


def whole_parts_of_rows(whole: Ints, weights: Floats) -> Ints:
    """The same for each row, of the parts that have weight; nothing where none has.

    Args:
        whole: what is divided, shape (rows,).
        weights: shape (rows, parts), whole numbers whose sums are below 2**53.
    """
    total = weights.sum(axis=1)
    exact = np.divide(weights, total[:, None], where=total[:, None] > 0, out=np.zeros_like(weights))
    exact *= whole[:, None]
    parts: Ints = np.floor(exact).astype(np.int64)
    left = whole - parts.sum(axis=1)
    order = np.argsort(np.where(weights > 0, parts - exact, np.inf), axis=1, kind="stable")
    gets_more = np.arange(weights.shape[1]) < left[:, None]
    row, place = np.nonzero(gets_more)
    parts[row, order[row, place]] += 1
    for odd in np.flatnonzero((left < 0) | (left >= np.count_nonzero(weights, axis=1))).tolist():
        has = weights[odd] > 0
        parts[odd] = 0
        if has.any():
            parts[odd, has] = whole_parts(int(whole[odd]), weights[odd, has])
    return parts
