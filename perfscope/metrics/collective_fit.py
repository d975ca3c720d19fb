"""Latency and bandwidth of an operation: t = A + B x, fitted to relative errors."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

LEAST_SPAN = 8.0  # largest by smallest size; below it A and B cannot be told apart
FEWEST_CALLS = 16
MOST_CALLS = 256  # of which the fit is made
REPEATS = 100
SEED = 20261120  # fixed: the same recording gives the same interval
RATIOS = np.concatenate([[0.0], np.logspace(-4.0, 4.0, 41), [np.inf]])
"""A / (B x) at the geometric mean of x: from pure bandwidth to pure latency."""


@dataclass(frozen=True)
class Line:
    """t = latency_s + x / bytes_per_s, with 95 % intervals; infinite where x does not count."""

    latency_s: float
    latency_interval_s: tuple[float, float]
    bytes_per_s: float
    bytes_per_s_interval: tuple[float, float]
    typical_error: float  # median of |t / fit - 1|


def fit_line(x: Floats, seconds: Floats) -> Line | None:
    """The line through times of operations; None when there are too few, or too like each other.

    Args:
        x: bytes that each operation moves, factor included, shape (calls,).
        seconds: what each took, shape (calls,).
    """
    if len(x) < FEWEST_CALLS or x.min() <= 0 or x.max() < LEAST_SPAN * x.min():
        return None
    order = np.argsort(x, kind="stable")
    if len(order) > MOST_CALLS:
        order = order[np.linspace(0, len(order) - 1, MOST_CALLS).astype(np.int64)]
    x, seconds = x[order], seconds[order]
    latency, slope = _best(x, seconds)
    random = np.random.default_rng(SEED)
    drawn = [random.integers(0, len(x), len(x)) for _ in range(REPEATS)]
    again = np.array([_best(x[places], seconds[places]) for places in drawn])
    low, high = np.quantile(again, (0.025, 0.975), axis=0)
    fitted = latency + slope * x
    return Line(
        latency_s=latency,
        latency_interval_s=(float(low[0]), float(high[0])),
        bytes_per_s=_inverse(slope),
        bytes_per_s_interval=(_inverse(float(high[1])), _inverse(float(low[1]))),
        typical_error=float(np.median(np.abs(seconds / fitted - 1.0))),
    )


def _inverse(slope: float) -> float:
    return 1.0 / slope if slope > 0 else float("inf")


def _best(x: Floats, seconds: Floats) -> tuple[float, float]:
    """A and B >= 0 that minimise sum |t / (A + B x) - 1|.

    For a given ratio of A to B the rest is a weighted median; least squares would follow the few
    operations that took very long.
    """
    middle = float(np.exp(np.log(x).mean()))
    ratios = RATIOS
    for _ in range(2):
        costs, scales = _along(x, seconds, middle, ratios)
        best = int(np.argmin(costs))
        chosen, scale = float(ratios[best]), float(scales[best])
        if not 0 < chosen < np.inf:
            break
        ratios = chosen * np.logspace(-0.2, 0.2, 21)  # between the neighbours on the first grid
    if np.isinf(chosen):
        return scale, 0.0
    return scale * chosen * middle, scale


def _along(x: Floats, seconds: Floats, middle: float, ratios: Floats) -> tuple[Floats, Floats]:
    """For each ratio the least cost and the scale that has it."""
    shape = np.where(
        np.isinf(ratios)[:, None],
        1.0,
        np.where(np.isinf(ratios), 0.0, ratios)[:, None] * middle + x,
    )
    scaled = seconds / shape  # cost: sum scaled |1 / scale - 1 / scaled|
    order = np.argsort(1.0 / scaled, axis=1)
    weights = np.take_along_axis(scaled, order, axis=1)
    half = np.argmax(np.cumsum(weights, axis=1) >= 0.5 * weights.sum(axis=1)[:, None], axis=1)
    scales = weights[np.arange(len(ratios)), half]
    costs = np.abs(scaled / scales[:, None] - 1.0).sum(axis=1)
    return costs, scales
