"""Statistics of few repeated runs: is the difference between two sides larger than the noise?

What is compared is one number a run (its median step time, say), because the steps of one run share
the chance of that run: the nodes it got, the neighbors it had, the layout of its memory. Steps are
no repeats, so a thousand of them do not replace a second run.

The interface that other studies use:

    compare_runs(before, after)     ratio, interval and p of two sides of runs -> Difference
    holm(ps)                        p values of several questions asked at once
    effective_count(series)         as how many independent values autocorrelated ones count

Everything is a pure function of its arguments; random numbers have fixed seeds.
Values are times, rates or sizes: positive, finite, compared as ratios, hence through logarithms.
"""

import math
from collections.abc import Sequence
from enum import Enum

import numpy as np

from perfscope.arrays import Floats, Ints
from perfscope.structures import dataclass
from perfscope.student_t import student_quantile, student_two_sided

Array = Floats
LEVEL = 0.05  # of a test; intervals hold the truth with 1 - LEVEL
MOST_EXACT = 60  # values of both sides up to which the rank test counts every arrangement
RESAMPLES = 2000
LEAST_RUNS = 2  # on a side: one run says nothing about the noise between runs of its side
_SEED = 20260601


class Method(Enum):
    """How two sides were compared."""

    RANKS = "ranks"  # Mann-Whitney's test, Hodges-Lehmann's estimate and interval
    STUDENT = "student"  # Student's t of the logarithms: too few runs for ranks
    NONE = "none"


@dataclass(frozen=True)
class Difference:
    """How the values of one side differ from those of another, as a ratio."""

    # after / before; None without usable values on both sides. By ranks Hodges-Lehmann's estimate
    # (the median of all ratios of a run after and a run before), by Student's t the ratio of the
    # geometric means
    ratio: float | None
    interval: tuple[float, float] | None  # of the ratio, 1 - `LEVEL`; None where `p` is None
    p: float | None  # of two sides that do not differ, two-sided; None where the runs cannot tell
    method: Method  # how p and the interval were had
    reason: str  # why p is None, else ""
    counts: tuple[int, int]  # usable values before and after
    # the smallest p that so many runs can give, whatever they measure
    attainable_p: float | None = None

    @property
    def is_significant(self) -> bool:
        """Whether noise alone would give such a difference in at most `LEVEL` of the cases."""
        return self.p is not None and self.p <= LEVEL


def usable(values: Sequence[float | None]) -> Array:
    """The values that can be compared as ratios: finite and above zero."""
    known = [value for value in values if value is not None]
    kept = [value for value in known if math.isfinite(value) and value > 0]
    return np.array(kept, dtype=np.float64)


def compare_runs(before: Sequence[float | None], after: Sequence[float | None]) -> Difference:
    """How much larger the values after are than those before, and whether noise explains it.

    From four runs a side on (or unequal numbers that give as much) by ranks, which needs no
    distribution of the noise. With fewer no arrangement of ranks is rare enough; then Student's t
    of the logarithms answers, which assumes that the noise is about log-normal and alike on both
    sides. A side of one run cannot tell: in simulations with heavy tails Student's t gave more
    false alarms than it should.

    Each side has one value a run, of repeats that are independent of each other.
    """
    a, b = np.log(usable(before)), np.log(usable(after))
    counts = (len(a), len(b))
    if not (len(a) and len(b)):
        return Difference(None, None, None, Method.NONE, "a side has no run with a value", counts)
    shifts = np.sort(np.subtract.outer(b, a).ravel())
    ratio = math.exp(float(np.median(shifts)))
    attainable = 2.0 / math.comb(len(a) + len(b), len(a))
    if attainable <= LEVEL and min(counts) >= LEAST_RUNS:
        return Difference(
            ratio,
            _rank_interval(shifts, counts),
            rank_test(a, b),
            Method.RANKS,
            "",
            counts,
            min(attainable, 1.0),
        )
    return _student(a, b, ratio)


def _student(a: Array, b: Array, ratio: float) -> Difference:
    counts = (len(a), len(b))
    degrees = len(a) + len(b) - 2
    if min(counts) < LEAST_RUNS:
        reason = "a single run on a side cannot tell a difference from the noise between runs"
        return Difference(ratio, None, None, Method.NONE, reason, counts)
    error = error_of_means(a, b)
    shift = float(b.mean() - a.mean())
    if error <= 1e-12 * max(1.0, abs(shift)):
        reason = "the repeats do not differ at all, which measured times never do"
        return Difference(ratio, None, None, Method.NONE, reason, counts)
    half = student_quantile(1 - LEVEL / 2, degrees) * error
    interval = (math.exp(shift - half), math.exp(shift + half))
    p = student_two_sided(shift / error, degrees)
    return Difference(math.exp(shift), interval, p, Method.STUDENT, "", counts, 0.0)


def error_of_means(a: Array, b: Array) -> float:
    """Standard error of the difference of two means, with the noise that both sides show."""
    squares = float(np.sum((a - a.mean()) ** 2) + np.sum((b - b.mean()) ** 2))
    return math.sqrt(squares / (len(a) + len(b) - 2) * (1 / len(a) + 1 / len(b)))


def rank_test(a: Sequence[float] | Array, b: Sequence[float] | Array) -> float:
    """Two-sided p of Mann-Whitney's rank test, which assumes no distribution.

    Exact over all arrangements, equal values included, up to `MOST_EXACT` values; beyond by the
    normal distribution with corrections for ties and continuity. Source: H. B. Mann and
    D. R. Whitney, Annals of Mathematical Statistics 18 (1947).
    """
    every = np.concatenate([np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)])
    doubled = doubled_midranks(every)
    m, n = len(a), len(b)
    observed = int(doubled[:m].sum())
    center = m * (m + n + 1)  # of the doubled rank sum
    if m + n <= MOST_EXACT:
        ways = _rank_sum_ways(doubled, m)
        sums = np.arange(len(ways))
        extreme = np.abs(sums - center) >= abs(observed - center)
        return min(float(ways[extreme].sum() / ways.sum()), 1.0)
    _, ties = np.unique(every, return_counts=True)
    correction = float(np.sum(ties**3 - ties)) / ((m + n) * (m + n - 1))
    deviation = math.sqrt(m * n / 12 * (m + n + 1 - correction))
    if deviation == 0:
        return 1.0
    distance = max(abs(observed - center) / 2 - 0.5, 0.0) / deviation
    return math.erfc(distance / math.sqrt(2))


def doubled_midranks(values: Array) -> Ints:
    """Twice the rank of each value, equal values sharing the mean of theirs: whole numbers."""
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    shared: Ints = (2 * last - counts + 1).astype(np.int64)
    return shared[inverse]


def _rank_sum_ways(doubled: Ints, chosen: int) -> Array:
    """In how many ways `chosen` of the ranks have each sum, shape (largest sum + 1,)."""
    ways = np.zeros((chosen + 1, int(doubled.sum()) + 1))
    ways[0, 0] = 1.0
    for rank in doubled.tolist():
        for size in range(chosen, 0, -1):
            ways[size, rank:] += ways[size - 1, : ways.shape[1] - rank]
    found: Array = ways[chosen]
    return found


def _rank_interval(sorted_shifts: Array, counts: tuple[int, int]) -> tuple[float, float]:
    """Hodges-Lehmann's interval: the shifts that the rank test does not reject, as ratios."""
    m, n = counts
    if m + n <= MOST_EXACT:
        ways = _rank_sum_ways(2 * np.arange(1, m + n + 1, dtype=np.int64), m)[m * (m + 1) :: 2]
        tail = np.cumsum(ways) / ways.sum()  # P(U <= u)
        outside = int(np.searchsorted(tail, LEVEL / 2, side="right"))
    else:
        deviation = math.sqrt(m * n * (m + n + 1) / 12)
        outside = int(m * n / 2 - 1.959964 * deviation - 0.5)
    outside = min(max(outside, 1), m * n)
    low, high = sorted_shifts[outside - 1], sorted_shifts[m * n - outside]
    return math.exp(float(low)), math.exp(float(high))


def holm(ps: Sequence[float | None]) -> list[float | None]:
    """The p values of several questions, raised so that any false alarm stays within the level.

    Questions without an answer (None) are not asked. Source: S. Holm, Scandinavian Journal of
    Statistics 6 (1979).
    """
    known = sorted((p, n) for n, p in enumerate(ps) if p is not None)
    raised: list[float | None] = [None] * len(ps)
    largest = 0.0
    for done, (p, n) in enumerate(known):
        largest = max(largest, min(1.0, p * (len(known) - done)))
        raised[n] = largest
    return raised


def effective_count(series: Sequence[float]) -> float:
    """As how many independent values the values of a series count, given how alike neighbors are.

    n / (1 + 2 sum of autocorrelations), summed while pairs of neighbors stay positive; of ranks,
    so that one slow step does not hide the rest. Source: C. J. Geyer, Statistical Science 7 (1992).
    """
    values = np.asarray(series, dtype=np.float64)
    count = len(values)
    if count < 4 or np.ptp(values) == 0:
        return float(count)
    ranks = doubled_midranks(values).astype(np.float64)
    ranks -= ranks.mean()
    spectrum = np.abs(np.fft.rfft(ranks, 2 * count)) ** 2
    correlation = np.fft.irfft(spectrum)[:count]
    correlation = correlation / correlation[0]
    pairs = correlation[1 : count - 1 : 2] + correlation[2:count:2]
    negative = np.flatnonzero(pairs <= 0)
    kept = pairs[: negative[0]] if len(negative) else pairs
    # neighbors that avoid each other are not taken as more than independent ones
    return float(count / max(1.0, 1 + 2 * kept.sum()))


def block_medians(series: Sequence[float], *, seed: int = _SEED) -> Array:
    """Medians of the series resampled in blocks that keep its autocorrelation, (`RESAMPLES`,).

    Blocks are cut from the series closed to a ring; their length is twice the time after which
    steps are independent, at least the cube root of the number of steps. Source: D. N. Politis and
    J. P. Romano, circular block resampling (1992).
    """
    values = np.asarray(series, dtype=np.float64)
    count = len(values)
    length = max(round(count ** (1 / 3)), math.ceil(2 * count / effective_count(series)), 1)
    length = min(length, max(count // 4, 1))
    blocks = -(-count // length)
    random = np.random.default_rng(seed)
    resampled = np.empty(RESAMPLES)
    offsets = np.arange(length)
    for number in range(RESAMPLES):
        starts = random.integers(0, count, blocks)
        drawn = (starts[:, None] + offsets).ravel()[:count] % count
        resampled[number] = np.median(values[drawn])
    return resampled
