"""Fits of a few runs: relative least squares with its uncertainty, without scipy.

Errors of run times grow with the times, so every residual counts relative to what was measured.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
# Two-sided 95 % points of Student's t by degrees of freedom; between them the larger is taken.
STUDENT_95 = {
    1: 12.706, 2: 4.303, 3: 3.182, 4: 2.776, 5: 2.571, 6: 2.447, 7: 2.365, 8: 2.306, 9: 2.262,
    10: 2.228, 12: 2.179, 15: 2.131, 20: 2.086, 30: 2.042, 60: 2.000, 120: 1.980,
}  # fmt: skip
ROUNDING = 1e-9  # share of the values below which a coefficient is rounding


@dataclass(frozen=True)
class Fit:
    """y = constant + slope x g(size), with coefficients that are not negative.

    Attributes:
        constant, slope: the coefficients; times cannot fall below zero at any size.
        basis: g.
        covariance: of the two; zeros for a coefficient that was held at zero.
        error: relative standard deviation of a run around the fit.
        freedom: points less coefficients.
        loo_errors: relative error with which each size is predicted from all others.
    """

    constant: float
    slope: float
    basis: Callable[[float], float]
    covariance: Floats
    error: float
    freedom: int
    loo_errors: tuple[float, ...]

    def at(self, size: float) -> float:
        """The fitted value at a size."""
        return self.constant + self.slope * self.basis(size)

    def interval(self, size: float) -> tuple[float, float] | None:
        """95 % interval of a further run at a size; None where no freedom is left to tell it.

        It holds if the law is the right one.
        """
        if self.freedom < 1:
            return None
        row = np.array([1.0, self.basis(size)])
        value = self.at(size)
        variance = float(row @ self.covariance @ row) + (self.error * value) ** 2
        half = student_95(self.freedom) * float(np.sqrt(max(variance, 0.0)))
        return max(value - half, 0.0), value + half


def fit(
    sizes: Sequence[float], values: Sequence[float], basis: Callable[[float], float] | None
) -> Fit | None:
    """The fit of one law; None where a size cannot be left out without losing the fit.

    Args:
        sizes: of each run; repeats of a size are runs of their own.
        values: what was measured, above zero.
        basis: g; None for a constant.
    """
    x = np.array([basis(size) if basis else 0.0 for size in sizes], dtype=float)
    y = np.array(values, dtype=float)
    if not (np.isfinite(x).all() and np.isfinite(y).all() and (y > 0).all()):
        return None
    coefficients = _solve(x, y, is_constant=basis is None)
    if coefficients is None:
        return None
    errors = []
    for size in dict.fromkeys(sizes):
        kept = np.array([other != size for other in sizes])
        left = _solve(x[kept], y[kept], is_constant=basis is None) if kept.any() else None
        if left is None:
            return None
        gone = ~kept
        errors.append(float(np.mean(np.abs((left[0] + left[1] * x[gone]) / y[gone] - 1))))
    used = np.array([coefficients[0] > 0, basis is not None and coefficients[1] > 0])
    covariance, error, freedom = _uncertainty(x, y, coefficients, used)
    return Fit(
        coefficients[0], coefficients[1], basis or _zero, covariance, error, freedom, tuple(errors)
    )


def student_95(freedom: int) -> float:
    """Half the width of a 95 % interval in standard errors."""
    known = max((n for n in STUDENT_95 if n <= freedom), default=1)
    return STUDENT_95[known] if freedom <= max(STUDENT_95) else 1.96


def _zero(_: float) -> float:
    return 0.0


def _solve(x: Floats, y: Floats, *, is_constant: bool) -> tuple[float, float] | None:
    """Constant and slope that minimise the relative residuals, none below zero."""
    ones = 1.0 / y
    scaled = x / y
    if is_constant:
        return float(ones.sum() / (ones @ ones)), 0.0
    if np.ptp(x) <= 1e-12 * max(float(np.abs(x).max()), 1e-300):
        return None  # one size alone, or a law that does not tell the sizes apart
    design = np.stack([ones, scaled], axis=1)
    (constant, slope), *_ = np.linalg.lstsq(design, np.ones(len(y)), rcond=None)
    if slope * float(np.abs(x).max()) <= ROUNDING * float(y.min()):
        return float(ones.sum() / (ones @ ones)), 0.0
    if constant <= ROUNDING * float(y.min()):
        return 0.0, float(scaled.sum() / (scaled @ scaled))
    return float(constant), float(slope)


def _uncertainty(
    x: Floats, y: Floats, coefficients: tuple[float, float], used: npt.NDArray[np.bool_]
) -> tuple[Floats, float, int]:
    design = np.stack([1.0 / y, x / y], axis=1)[:, used]
    residuals = 1.0 - (coefficients[0] + coefficients[1] * x) / y
    freedom = len(y) - int(used.sum())
    covariance = np.zeros((2, 2))
    if freedom < 1 or not used.any():
        return covariance, 0.0, freedom
    variance = float(residuals @ residuals) / freedom
    inverse = np.linalg.pinv(design.T @ design) * variance
    covariance[np.ix_(used, used)] = inverse
    return covariance, float(np.sqrt(variance)), freedom
