"""Latency and bandwidth of an operation: t = A + B x, fitted to relative errors.

Libraries change how they do an operation with its size, so the line may have pieces. How many, and
where they meet, is chosen by the Bayesian information criterion (Schwarz 1978), for errors whose
sizes are exponentially distributed: sum |t / fit - 1| is then what is to be minimized.
"""

from itertools import combinations, pairwise

import numpy as np

from perfscope.arrays import Floats, Ints, rows_by
from perfscope.structures import dataclass

LEAST_SPAN = 8.0  # largest by smallest size; below it A and B cannot be told apart
FEWEST_CALLS = 16
MOST_CALLS = 256  # of which the fit is made
REPEATS = 100
LEAST_ERROR = 1e-4  # relative; smaller ones are rounding
SEED = 20261120  # fixed: the same recording gives the same interval
MOST_TIMES_USUAL = 4.0
MOST_PIECES = 3
MOST_BOUNDS = 12  # sizes at which pieces are tried to meet
PIECE_SPAN = 4.0  # largest by smallest size of a piece
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


@dataclass(frozen=True)
class Curve:
    """Pieces of t = A + B x, in order; piece i + 1 begins at bounds[i], a number of bytes x."""

    lines: tuple[Line, ...]
    bounds: tuple[float, ...]

    def line_at(self, x: float) -> Line:
        """The piece that holds a number of bytes."""
        return self.lines[int(np.searchsorted(self.bounds, x, side="right"))]

    def seconds(self, x: Floats) -> Floats:
        """What an operation takes that moves x bytes, factor included, shape as x."""
        latency_s, slope = self._of_lines
        if not self.bounds:
            return np.asarray(latency_s[0] + slope[0] * x)
        piece = np.searchsorted(self.bounds, x, side="right")
        result: Floats = latency_s.take(piece) + slope.take(piece) * x
        return result

    def latency_s(self, x: Floats) -> Floats:
        """What of it does not depend on the bytes, shape as x."""
        latency_s, _ = self._of_lines
        result: Floats = latency_s.take(np.searchsorted(self.bounds, x, side="right"))
        return result

    @property
    def _of_lines(self) -> tuple[Floats, Floats]:
        """What of a piece does not depend on the bytes, and what each byte takes."""
        return (
            np.array([line.latency_s for line in self.lines]),
            np.array([1.0 / line.bytes_per_s for line in self.lines]),
        )


def fit_curve(x: Floats, seconds: Floats) -> Curve | None:
    """Pieces of lines through times of operations; None when there are too few, or too alike.

    Args:
        x: bytes that each operation moves, factor included, shape (calls,).
        seconds: what each took, shape (calls,).
    """
    if not _is_spread(x):
        return None
    x, seconds = _thinned(x, seconds)
    bounds = _bounds(x, seconds)
    parts = np.searchsorted(bounds, x, side="right")
    lines = [_line(x[parts == i], seconds[parts == i]) for i in range(len(bounds) + 1)]
    return Curve(tuple(lines), bounds)


def _is_spread(x: Floats) -> bool:
    return len(x) >= FEWEST_CALLS and x.min() > 0 and x.max() >= LEAST_SPAN * x.min()


def _thinned(x: Floats, seconds: Floats) -> tuple[Floats, Floats]:
    """In the order of sizes, at most MOST_CALLS of them: of rare sizes more than of others.

    Of sizes within a factor of two none takes longer than so many times the median: a call in which
    a rank loses its CPU takes a thousand times as long, and a relative error of a thousand would
    outweigh all others.
    """
    size_class = np.floor(np.log2(x)).astype(np.int64)
    classes = [_in_order(x, places) for places in rows_by(size_class - size_class.min())]
    most = MOST_CALLS // len(classes) if len(x) > MOST_CALLS else MOST_CALLS
    chosen = [_spread_out(places, max(1, most)) for places in classes]
    usual = [MOST_TIMES_USUAL * np.median(seconds[places]) for places in classes]
    order = np.concatenate(chosen)
    limits = np.repeat(usual, [len(places) for places in chosen])
    return x[order], np.minimum(seconds[order], limits)


def _in_order(x: Floats, places: Ints) -> Ints:
    """The places by what stands there; mostly that is the same number."""
    own = x[places]
    return places if np.all(own == own[0]) else places[np.argsort(own, kind="stable")]


def _spread_out(places: Ints, most: int) -> Ints:
    """Some of the places, evenly spread, at most so many."""
    if len(places) <= most:
        return places
    return places[np.linspace(0, len(places) - 1, most).astype(np.int64)]


def _bounds(x: Floats, seconds: Floats) -> tuple[float, ...]:
    """Where pieces meet: the choice of the least criterion; x is in order."""
    sizes, first = np.unique(x, return_index=True)
    tried = first[1:][np.linspace(0, len(sizes) - 2, min(MOST_BOUNDS, len(sizes) - 1)).astype(int)]
    cuts = [0, *sorted(set(tried.tolist())), len(x)]
    costs: dict[tuple[int, int], float] = {}

    def cost(begin: int, end: int) -> float:
        """Sum of relative errors of a piece, infinite where it holds too little."""
        if (begin, end) not in costs:
            part, spent = x[begin:end], seconds[begin:end]
            enough = len(part) >= FEWEST_CALLS and part[-1] >= PIECE_SPAN * part[0]
            costs[begin, end] = _error(part, spent) if enough else float("inf")
        return costs[begin, end]

    best = float("inf")
    chosen: tuple[int, ...] = (0, len(x))
    for count in range(1, MOST_PIECES + 1):
        for inner in combinations(cuts[1:-1], count - 1):
            edges: tuple[int, ...] = (0, *inner, len(x))
            total = sum(cost(a, b) for a, b in pairwise(edges)) if count > 1 else _error(x, seconds)
            # two parameters a piece, and the place of each bound
            value = 2 * len(x) * np.log(max(total / len(x), LEAST_ERROR))
            value += (3 * count - 1) * np.log(len(x))
            if value < best:
                best, chosen = float(value), edges
    return tuple(float(np.sqrt(x[edge - 1] * x[edge])) for edge in chosen[1:-1])


def _error(x: Floats, seconds: Floats) -> float:
    latency, slope = _best(x, seconds)
    return float(np.abs(seconds / (latency + slope * x) - 1.0).sum())


def _line(x: Floats, seconds: Floats) -> Line:
    """The line through all of them, with intervals."""
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
    """A and B >= 0 that minimize sum |t / (A + B x) - 1|.

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
        ratios = chosen * np.logspace(-0.2, 0.2, 21)  # between the neighbors on the first grid
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
