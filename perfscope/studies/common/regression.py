"""Fits of a few runs: relative least squares with its uncertainty, without scipy.

Errors of run times grow with the times, so every residual counts relative to what was measured.
"""

from collections.abc import Callable, Sequence

import numpy as np

from perfscope.arrays import Bools, Floats
from perfscope.structures import dataclass
from perfscope.student_t import student_95

ROUNDING = 1e-9  # share of the values below which a coefficient is rounding


@dataclass(frozen=True)
class Fit:
    """y = constant + slope × g(size), with coefficients that are not negative."""

    constant: float  # times cannot fall below zero at any size
    slope: float
    basis: Callable[[float], float]  # g
    # both coefficients where they may be negative. A coefficient that is held at zero is as
    # uncertain as any other, so intervals are around these and cut at zero afterwards
    free: tuple[float, float]
    covariance: Floats  # of `free`
    error: float  # relative standard deviation of a run around the fit
    freedom: int  # points less coefficients of the law
    # relative error with which each size is predicted from all others
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
        middle = float(row @ np.array(self.free))
        return max(min(middle - half, value), 0.0), max(middle + half, value)


def fit(
    sizes: Sequence[float], values: Sequence[float], basis: Callable[[float], float] | None
) -> Fit | None:
    """The fit of one law; None where a size cannot be left out without losing the fit.

    Repeats of a size are runs of their own; values are above zero. `basis` is g, None for a
    constant.
    """
    x = np.array([basis(size) if basis else 0.0 for size in sizes], dtype=float)
    y = np.array(values, dtype=float)
    if not (np.isfinite(x).all() and np.isfinite(y).all() and (y > 0).all()):
        return None
    kept = _folds(np.array(sizes, dtype=float))
    if kept.shape[0] < 3 and basis is not None:
        return None  # one size left alone fits every law
    solved = _solve(x, y, kept, is_constant=basis is None)
    if solved is None:
        return None
    constants, slopes = solved
    coefficients = (float(constants[0]), float(slopes[0]))
    left_out = ~kept[1:]
    missed = np.abs((constants[1:, None] + slopes[1:, None] * x) / y - 1) * left_out
    errors = tuple(float(e) for e in missed.sum(axis=1) / left_out.sum(axis=1))
    columns = 1 if basis is None else 2
    free, covariance, freedom = _uncertainty(x, y, columns)
    used = max(sum(value > 0 for value in coefficients[:columns]), 1)
    error = _error(x, y, coefficients, len(y) - used)
    return Fit(*coefficients, basis or _zero, free, covariance, error, freedom, errors)


def _zero(_: float) -> float:
    return 0.0


def _folds(sizes: Floats) -> Bools:
    """Which points each fit keeps: all of them, then all but those of one size after the other."""
    unique = np.unique(sizes)
    return np.vstack([np.ones((1, len(sizes)), dtype=bool), sizes[None, :] != unique[:, None]])


def _solve(x: Floats, y: Floats, kept: Bools, *, is_constant: bool) -> tuple[Floats, Floats] | None:
    """Constants and slopes that minimize the relative residuals, none below zero; one a fold."""
    weights = kept / y**2
    total = weights.sum(axis=1)
    if not (total > 0).all():
        return None
    y_mean = (weights @ y) / total
    if is_constant:
        return y_mean, np.zeros_like(y_mean)
    x_mean = (weights @ x) / total
    x_off = x[None, :] - x_mean[:, None]
    spread = (weights * x_off**2).sum(axis=1)
    scale = float(np.abs(x).max())
    if not (spread > total * (1e-12 * scale) ** 2).all():
        return None  # one size alone, or a law that does not tell the sizes apart
    slope = (weights * x_off * (y[None, :] - y_mean[:, None])).sum(axis=1) / spread
    constant = y_mean - slope * x_mean
    through_zero = (weights @ (x * y)) / (weights @ x**2)
    least = ROUNDING * float(y.min())
    is_flat = slope * scale <= least
    is_pure = ~is_flat & (constant <= least)
    return (
        np.where(is_flat, y_mean, np.where(is_pure, 0.0, constant)),
        np.where(is_flat, 0.0, np.where(is_pure, through_zero, slope)),
    )


def _uncertainty(x: Floats, y: Floats, columns: int) -> tuple[tuple[float, float], Floats, int]:
    """Coefficients that may be negative, their covariance and the freedom; one column: constant."""
    design = np.stack([1.0 / y, x / y], axis=1)[:, :columns]
    norms = np.sqrt((design**2).sum(axis=0))
    scaled = design / norms
    solution = np.linalg.lstsq(scaled, np.ones(len(y)), rcond=None)[0]
    residuals = 1.0 - scaled @ solution
    free, covariance = np.zeros(2), np.zeros((2, 2))
    free[:columns] = solution / norms
    freedom = len(y) - columns
    if freedom >= 1:
        variance = float(residuals @ residuals) / freedom
        inverse = np.linalg.pinv(scaled.T @ scaled) * variance
        covariance[:columns, :columns] = inverse / np.outer(norms, norms)
    return (float(free[0]), float(free[1])), covariance, freedom


def _error(x: Floats, y: Floats, coefficients: tuple[float, float], freedom: int) -> float:
    """Relative standard deviation of a run around the fit."""
    residuals = 1.0 - (coefficients[0] + coefficients[1] * x) / y
    return float(np.sqrt(float(residuals @ residuals) / freedom)) if freedom >= 1 else 0.0
