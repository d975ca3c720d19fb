"""Scaling laws: Amdahl's law and one-term performance models, with their predictions.

A performance model is t(p) = c0 + c1 p^i log2(p)^j, the normal form of A. Calotoiu et al., "Using
automated performance modeling to find scalability bugs in complex codes", SC13, which Extra-P uses,
with negative i for strong scaling. The law is chosen by leave-one-out cross-validation over sizes:
of those that predict the left-out size as well as the best one does, within the standard error of
its errors, the simplest is taken. Three or four sizes tell no more than a few plain laws apart, so
only those are tried on them.
"""

import math
from collections.abc import Sequence
from fractions import Fraction

from perfscope.schema.scaling import Amdahl, FittedModel, Forecast, NotFitted
from perfscope.structures import dataclass
from perfscope.student_t import student_95
from perfscope.studies.common.regression import ROUNDING, Fit, fit

LEAST_SIZES = 3
ALL_LAWS_SIZES = 5  # what Extra-P asks for
EXPONENTS = tuple(
    Fraction(text)
    for text in "-2 -3/2 -4/3 -5/4 -1 -3/4 -2/3 -1/2 -1/3 -1/4 0 1/4 1/3 1/2 2/3 3/4 1 5/4 4/3 3/2 "
    "5/3 7/4 2 9/4 7/3 5/2 8/3 11/4 3".split()
)
LOG_EXPONENTS = (0, 1, 2)  # of what grows; what falls has no logarithm
EXTRAPOLATED = (2, 4)  # times the largest size measured
NEGLIGIBLE = 1e-9  # relative errors below which a law is exact


@dataclass(frozen=True)
class Law:
    """p^i log2(p)^j; both exponents 0 mean a constant."""

    power: Fraction
    log: int

    @property
    def is_constant(self) -> bool:
        """Whether nothing grows."""
        return self.power == 0 and self.log == 0

    def at(self, size: float) -> float:
        """Its value at a size."""
        return float(size ** float(self.power) * math.log2(size) ** self.log)

    @property
    def complexity(self) -> tuple[float, ...]:
        """Orders laws from simple to contrived: constant, 1/p, log p, p, sqrt p, ..."""
        exotic = self.power.denominator > 1
        mixed = self.power != 0 and self.log != 0
        return (
            int(mixed) + int(exotic) + max(self.log - 1, 0),
            abs(float(self.power)) + self.log,
            float(self.power),
        )

    def text(self) -> str:
        """`p^(1/2) log2(p)`."""
        parts = []
        if self.power != 0:
            is_plain = self.power.denominator == 1 and self.power > 0
            exponent = f"^{self.power}" if is_plain else f"^({self.power})"
            parts.append("p" if self.power == 1 else f"p{exponent}")
        if self.log:
            parts.append("log2(p)" if self.log == 1 else f"log2(p)^{self.log}")
        return " ".join(parts)


PLAIN = tuple(Law(Fraction(power), log) for power, log in ((0, 0), (-1, 0), (0, 1), (1, 0)))
"""Constant, 1/p, log2(p) and p."""
ALL = tuple(
    Law(power, log) for power in EXPONENTS for log in (LOG_EXPONENTS if power >= 0 else (0,))
)


@dataclass(frozen=True)
class Model:
    """A performance model of one quantity: constant + slope × law."""

    law: Law
    constant: float
    slope: float
    cross_validation_error: float  # mean relative error of sizes predicted from all others
    alternatives: tuple[Law, ...]  # laws that predict as well, within the standard error
    forecasts: tuple[Forecast, ...]  # extrapolations
    fitted: tuple[float, ...]  # values at the sizes measured

    def at(self, size: float) -> float:
        """Its value at a size."""
        return self.constant + self.slope * self.law.at(size)

    @property
    def text(self) -> str:
        """`1.2 + 3.4 p^(1/2)`."""
        return expression(self.constant, self.slope, self.law)


def fitted(found: Model | str) -> NotFitted | FittedModel:
    """A model, or why there is none, as a document holds it."""
    if isinstance(found, str):
        return NotFitted(None, found)
    return FittedModel(
        value=found.text,
        reason=None,
        power=str(found.law.power),
        log=found.law.log,
        constant=found.constant,
        slope=found.slope,
        cross_validation_error=found.cross_validation_error,
        alternatives=tuple(law.text() or "constant" for law in found.alternatives),
        forecasts=found.forecasts,
        fitted=found.fitted,
    )


def expression(constant: float, slope: float, law: Law) -> str:
    """A model in one line, three digits."""
    if law.is_constant or slope == 0:
        return f"{constant:.3g}"
    term = f"{slope:.3g} {law.text()}"
    return term if constant == 0 else f"{constant:.3g} + {term}"


def too_few(sizes: Sequence[int], least: int, what: str) -> str | None:
    """Why there is no fit; None when there are sizes enough."""
    count = len(set(sizes))
    if count >= least:
        return None
    return f"{what} needs runs of {least} sizes, and {count} {'is' if count == 1 else 'are'} there"


def amdahl(
    sizes: Sequence[int], values: Sequence[float], *, largest: int | None = None
) -> Amdahl | str:
    """Amdahl's law fitted to run times of strong scaling, or why it cannot be.

    It is extrapolated beyond `largest`, else beyond the largest of the sizes.
    """
    if reason := too_few(sizes, LEAST_SIZES, "Amdahl's law"):
        return reason
    first = min(sizes)
    found = fit(sizes, values, lambda size: first / size)
    if found is None:
        return "the run times are no positive numbers"
    whole = found.constant + found.slope
    share = found.constant / whole
    interval = _share_interval(found)
    ceiling = interval is not None and share <= 0 and interval[1] > ROUNDING
    return Amdahl(
        value=share,
        reason=None,
        serial_share=share,
        serial_interval=interval,
        most_speedup=1 / share if share > 0 else None,
        most_speedup_at_least=1 / interval[1] if interval is not None and ceiling else None,
        constant_s=found.constant,
        parallel_s=found.slope,
        error=found.error,
        forecasts=tuple(
            Forecast(size, found.at(size), found.interval(size)) for size in _beyond(sizes, largest)
        ),
    )


def model(
    sizes: Sequence[int], values: Sequence[float], *, largest: int | None = None
) -> Model | str:
    """The performance model of a quantity, or why there is none; arguments as of `amdahl`."""
    if reason := too_few(sizes, LEAST_SIZES, "a performance model"):
        return reason
    candidates = _candidates(sizes, values)
    if not candidates:
        return "the values are no positive numbers"
    scored = {law: sum(found.loo_errors) / len(found.loo_errors) for law, found in candidates}
    fits = dict(candidates)
    best = min(scored, key=lambda law: (round(scored[law] / NEGLIGIBLE), law.complexity))
    bound = scored[best] + _standard_error(fits[best].loo_errors) + NEGLIGIBLE
    equal = sorted((law for law in scored if scored[law] <= bound), key=lambda law: law.complexity)
    # the errors of few sizes are too few for their standard error to prefer the simpler law
    law = equal[0] if len(set(sizes)) >= ALL_LAWS_SIZES else best
    chosen = fits[law]
    return Model(
        law=law,
        constant=chosen.constant,
        slope=chosen.slope,
        cross_validation_error=scored[law],
        alternatives=tuple(other for other in equal if other != law),
        forecasts=tuple(
            _forecast(size, chosen, [fits[other] for other in equal])
            for size in _beyond(sizes, largest)
        ),
        fitted=tuple(chosen.at(size) for size in sorted(set(sizes))),
    )


def _candidates(sizes: Sequence[int], values: Sequence[float]) -> list[tuple[Law, Fit]]:
    """Every law that grows or falls as the runs do; a slope of zero is the constant law."""
    out = []
    for law in ALL if len(set(sizes)) >= ALL_LAWS_SIZES else PLAIN:
        found = fit(sizes, values, None if law.is_constant else law.at)
        if found is not None and (law.is_constant or found.slope > 0):
            out.append((law, found))
    return out


def _standard_error(errors: Sequence[float]) -> float:
    if len(errors) < 2:
        return 0.0
    mean = sum(errors) / len(errors)
    variance = sum((error - mean) ** 2 for error in errors) / (len(errors) - 1)
    return math.sqrt(variance / len(errors))


def _forecast(size: int, chosen: Fit, equal: Sequence[Fit]) -> Forecast:
    intervals = [interval for found in equal if (interval := found.interval(size)) is not None]
    whole = (min(i[0] for i in intervals), max(i[1] for i in intervals)) if intervals else None
    return Forecast(size, chosen.at(size), whole)


def _beyond(sizes: Sequence[int], largest: int | None) -> list[int]:
    return [factor * (largest or max(sizes)) for factor in EXTRAPOLATED]


def _share_interval(found: Fit) -> tuple[float, float] | None:
    """By error propagation of s = a / (a + b) around the free coefficients, cut to what can be."""
    whole = sum(found.free)
    if found.freedom < 1 or whole <= 0:
        return None
    share = found.free[0] / whole
    gradient = ((1 - share) / whole, -share / whole)
    variance = sum(
        gradient[i] * gradient[j] * float(found.covariance[i, j]) for i in (0, 1) for j in (0, 1)
    )
    half = student_95(found.freedom) * math.sqrt(max(variance, 0.0))
    return min(max(share - half, 0.0), 1.0), max(min(share + half, 1.0), 0.0)
