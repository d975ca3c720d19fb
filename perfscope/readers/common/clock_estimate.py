"""How far two clocks are apart, from what was observed between them (docs/metrics.md, Clocks)."""

import numpy as np
import numpy.typing as npt

from perfscope.arrays import Bools, Floats, Ints
from perfscope.judging import MAD_TO_SIGMA
from perfscope.readers.common.clock_limits import MAX_SLOPE, Corridor, Limits, corridor
from perfscope.readers.common.clock_observations import Pair
from perfscope.structures import dataclass

Times = Ints

BLOCK_NS = 10 * 10**9
"""Knots of the offset are at least so far apart: noise must not look like drift."""
BLOCK_POINTS = 40
MAX_BLOCKS = 500
BEND_PARTS = 8
MEDIAN_REACH = 2.576 / 2  # of a 99 % confidence interval, in ranks per root of the count
COMMON_SLOPE = 1e-4
"""Clocks that are not being set drift no faster: what a drift too small to be seen may be."""
MESSAGE_WINDOWS = 64
SLOPE_POINTS = 400
LEAST_SLOPE_POINTS = 8


@dataclass(frozen=True)
class TimeMap:
    """Leads from one clock to another: a constant, a drift, and what remains at some knots."""

    base_ns: int
    origin_ns: int
    slope: float
    knots_ns: Floats  # since origin_ns
    rest_ns: Floats

    @classmethod
    def constant(cls, offset_ns: int) -> "TimeMap":
        """Clocks that run at one speed."""
        return cls(offset_ns, 0, 0.0, np.zeros(1), np.zeros(1))

    def __call__(self, moments: Times) -> Times:
        """The moments on the other clock; their order is kept."""
        since = (moments - self.origin_ns).astype(np.float64)
        rest = np.interp(since, self.knots_ns, self.rest_ns)
        shift = np.rint(self.slope * since + rest).astype(np.int64)
        moved: Times = moments + self.base_ns + shift
        return moved

    def at(self, moment_ns: int) -> int:
        """One moment on the other clock."""
        return int(self(np.array([moment_ns], np.int64))[0])


@dataclass(frozen=True)
class Estimate:
    """The map from the far to the near clock of a pair, and how wrong it may be.

    `is_consistent` tells whether one such map can satisfy causality everywhere.
    """

    clock: TimeMap
    error_ns: int
    is_consistent: bool


@dataclass(frozen=True)
class _Points:
    """Estimates of the offset at moments of the far clock, each with its own uncertainty."""

    at: Times
    offset: Times
    doubt: Times

    def __len__(self) -> int:
        return len(self.at)

    def of(self, rows: npt.NDArray[np.integer] | Bools) -> "_Points":
        return _Points(self.at[rows], self.offset[rows], self.doubt[rows])


@dataclass(frozen=True)
class _Bounds:
    """Limits that the offset cannot cross, at moments of the far clock."""

    upper_at: Times
    upper: Times
    lower_at: Times
    lower: Times


def estimate(pair: Pair) -> Estimate | None:
    """The offset of the far clock of a pair, None where nothing bounds it from both sides."""
    bounds = _bounds(pair)
    met = pair.meetings
    if len(met.far_exit):
        points = _tightest(_exit_points(pair))
    elif len(bounds.upper) and len(bounds.lower):
        points = _message_points(bounds)
    else:
        return None
    if not len(points):
        return None
    base = int(np.median(points.offset))
    origin = int(np.median(points.at))
    slope, slope_error = _slope(points.at - origin, points.offset - base)
    return _unless_needless(_fit(points, bounds, _Line(base, origin, slope, slope_error)), pair)


def _unless_needless(found: Estimate, pair: Pair) -> Estimate:
    """The clocks as they were, where the estimate moves them by what may be chance.

    That is so where it takes apart what they showed to end together, or where that showed no
    offset. They must be possible as they were: where an effect precedes its cause, they were not.
    """
    bounds, apart = _bounds(pair), pair.meetings.near_exit - pair.meetings.far_exit
    if not len(apart) or int(bounds.lower.max()) > 0 or int(bounds.upper.min()) < 0:
        return found
    shift = found.clock(pair.meetings.far_exit) - pair.meetings.far_exit
    is_worse = np.median(np.abs(apart - shift)) > np.median(np.abs(apart))
    is_chance = found.clock.slope == 0 and np.abs(shift).max() <= _median_error(
        apart.astype(np.float64)
    )
    if not is_worse and not is_chance:
        return found
    error = found.error_ns + int(np.abs(shift).max())
    return Estimate(TimeMap.constant(0), error, found.is_consistent)


def _bounds(pair: Pair) -> _Bounds:
    met, out, back = pair.meetings, pair.out, pair.back
    return _Bounds(
        upper_at=np.concatenate([met.far_enter, back.sent]),
        upper=np.concatenate([met.near_exit - met.far_enter, back.received - back.sent]),
        lower_at=np.concatenate([met.far_exit, out.received]),
        lower=np.concatenate([met.near_enter - met.far_exit, out.sent - out.received]),
    )


def _exit_points(pair: Pair) -> _Points:
    """All leave a meeting when the last has come and the data has moved, about at one time.

    Who came last spent only the transfer in it: so long may the exits be apart.
    """
    met = pair.meetings
    transfer = np.minimum(met.far_exit - met.far_enter, met.near_exit - met.near_enter)
    return _Points(met.far_exit, met.near_exit - met.far_exit, np.maximum(transfer, 0))


def _tightest(points: _Points) -> _Points:
    """The better half of the points."""
    return points.of(np.flatnonzero(points.doubt <= np.median(points.doubt)))


def _message_points(bounds: _Bounds) -> _Points:
    """Without meetings: the middle between the limits, in windows of time that have both."""
    first = max(int(bounds.upper_at.min()), int(bounds.lower_at.min()))
    last = min(int(bounds.upper_at.max()), int(bounds.lower_at.max()))
    fewest = min(len(bounds.upper), len(bounds.lower))
    windows = min(MESSAGE_WINDOWS, max(1, fewest // LEAST_SLOPE_POINTS))
    edges = np.linspace(first, max(last, first + 1), windows + 1)[1:-1].astype(np.int64)
    upper = _extreme(np.searchsorted(edges, bounds.upper_at), bounds.upper, windows, least=True)
    lower = _extreme(np.searchsorted(edges, bounds.lower_at), bounds.lower, windows, least=False)
    centers = (first + (np.arange(windows) + 0.5) * (last - first) / windows).astype(np.int64)
    both = (upper != _NO_UPPER) & (lower != _NO_LOWER)
    upper, lower = upper[both], lower[both]
    return _Points(centers[both], lower + (upper - lower) // 2, np.abs(upper - lower) // 2)


_NO_UPPER = np.int64(1 << 62)
_NO_LOWER = np.int64(-(1 << 62))


def _extreme(group: Times, values: Times, groups: int, *, least: bool) -> Times:
    result = np.full(groups, _NO_UPPER if least else _NO_LOWER, np.int64)
    (np.minimum if least else np.maximum).at(result, group, values)
    return result


@dataclass(frozen=True)
class _Line:
    """The straight part of an offset over time."""

    base_ns: int
    origin_ns: int
    slope: float
    slope_error: float

    def rest(self, at: Times, offset: Times) -> Floats:
        """What the line leaves over."""
        along = self.slope * (at - self.origin_ns).astype(np.float64)
        return (offset - self.base_ns).astype(np.float64) - along


def _slope(at: Times, offset: Times) -> tuple[float, float]:
    """Median of the slopes between points, and its error; 0 where it could be chance."""
    if len(at) < LEAST_SLOPE_POINTS:
        return 0.0, 0.0
    chosen = np.linspace(0, len(at) - 1, min(len(at), SLOPE_POINTS)).astype(np.int64)
    order = np.argsort(at, kind="stable")[chosen]
    time, value = at[order].astype(np.float64), offset[order].astype(np.float64)
    one, other = np.triu_indices(len(time), 1)
    # neighbors tell noise rather than drift
    wide = time[other] - time[one] > (time[-1] - time[0]) / 4
    if not np.any(wide):
        return 0.0, 0.0
    slope = np.median((value[other] - value[one])[wide] / (time[other] - time[one])[wide])
    sigma = _scatter(value - slope * time)
    error = 1.25 * sigma / (np.sqrt(len(time)) * max(float(time.std()), 1.0))
    # what a busy machine delays for a while is no drift, which in so short a time is little
    most = MAX_SLOPE if time[-1] - time[0] >= BLOCK_NS else COMMON_SLOPE
    if abs(slope) <= 4 * error or abs(slope) > most:
        return 0.0, error
    return float(slope), error


def _fit(points: _Points, bounds: _Bounds, line: _Line) -> Estimate:
    """Knots on top of the line, one in each stretch of time with enough points.

    First the knots follow the points, so that drift that changes is out of the way; then each
    stretch is settled against that curve, within the limits of causality.
    """
    points = points.of(np.argsort(points.at, kind="stable"))
    edges = _edges(points.at)
    which = np.searchsorted(edges, points.at, side="right")
    rest = line.rest(points.at, points.offset)
    curve = _Curve.through(points.at, rest, which, len(edges) + 1)
    rest -= curve.value(points.at)
    upper = line.rest(bounds.upper_at, bounds.upper) - curve.value(bounds.upper_at)
    lower = line.rest(bounds.lower_at, bounds.lower) - curve.value(bounds.lower_at)
    above = np.searchsorted(edges, bounds.upper_at, side="right")
    below = np.searchsorted(edges, bounds.lower_at, side="right")
    corrections, errors, is_consistent = [], [], True
    for block in range(len(edges) + 1):
        here, over, under = which == block, above == block, below == block
        limits = Limits(
            (bounds.upper_at[over] - line.origin_ns).astype(np.float64),
            upper[over],
            (bounds.lower_at[under] - line.origin_ns).astype(np.float64),
            lower[under],
        )
        at = (points.at[here] - line.origin_ns).astype(np.float64)
        possible = corridor(limits, float(at[0]), float(at[-1]))
        unsure = min(line.slope_error, COMMON_SLOPE) * float(at[-1] - at[0]) / 2
        correction, error = _settle(rest[here], points.doubt[here], possible, unsure)
        is_consistent &= possible.gap == 0
        corrections.append(correction)
        errors.append(error)
    settled = curve.corrected(np.array(corrections))
    knots = (settled.knots - line.origin_ns).astype(np.float64)
    clock = TimeMap(line.base_ns, line.origin_ns, line.slope, knots, settled.values)
    return Estimate(clock, max(1, int(np.ceil(max(errors)))), is_consistent)


@dataclass(frozen=True)
class _Curve:
    """Straight pieces between knots; where there are several, the outer ones lie at the ends."""

    knots: Times
    values: Floats

    @classmethod
    def through(cls, at: Times, rest: Floats, which: Times, blocks: int) -> "_Curve":
        """One knot in the middle of each stretch, and the outer pieces prolonged to the ends."""
        inside = [which == block for block in range(blocks)]
        knots = np.array([np.median(at[here]) for here in inside]).astype(np.int64)
        values = np.array([np.median(rest[here]) for here in inside], np.float64)
        if blocks == 1:
            return cls(knots, values)
        speed = np.diff(values) / np.diff(knots)
        first = values[0] - speed[0] * float(knots[0] - at[0])
        last = values[-1] + speed[-1] * float(at[-1] - knots[-1])
        return cls(
            np.concatenate([at[:1], knots, at[-1:]]), np.concatenate([[first], values, [last]])
        )

    def value(self, at: Times) -> Floats:
        """The curve at some moments; beyond its ends it stays level."""
        found: Floats = np.interp(at, self.knots, self.values)
        return found

    def corrected(self, by_block: Floats) -> "_Curve":
        """The curve with the stretches moved; the ends move with their neighbors."""
        if len(self.knots) > 1:
            by_block = np.concatenate([by_block[:1], by_block, by_block[-1:]])
        return _Curve(self.knots, self.values + by_block)


def _edges(at: Times) -> Times:
    """Where stretches end that are long enough and hold enough of the points, which are sorted."""
    span = int(at[-1] - at[0])
    blocks = min(span // BLOCK_NS, len(at) // BLOCK_POINTS, MAX_BLOCKS)
    if blocks < 2:
        return np.empty(0, np.int64)
    edges, last, begin = [], int(at[0]), 0
    for place in range(BLOCK_POINTS, len(at) - BLOCK_POINTS + 1, BLOCK_POINTS):
        moment = int(at[place])
        if moment - last >= span // blocks and place - begin >= BLOCK_POINTS:
            edges.append(moment)
            last, begin = moment, place
    return np.array(edges, np.int64)


def _settle(rest: Floats, doubt: Times, possible: Corridor, unsure: float) -> tuple[float, float]:
    """The offset in one stretch and its error.

    The median of the points is as good as its confidence interval and what each point leaves open.
    What causality allows holds without any assumption, and so bounds both. The middle of it is the
    better offset only where it is closer than the points are to each other, as on busy machines:
    points that agree, as the ends of one kernel on all ranks do, are never given up for it.
    """
    middle = float(np.median(rest))
    chance = _median_error(rest)
    stated = float(np.median(doubt)) + chance + unsure + _bend(rest, chance)
    if possible.gap > 0:
        return middle, max(stated, possible.gap)
    if (possible.ceiling - possible.floor) / 2 <= min(stated, _scatter(rest)):
        # the quickest ways in both directions take about as long, however busy the machine is
        middle = (possible.floor + possible.ceiling) / 2
    middle = min(max(middle, possible.floor), possible.ceiling)
    return middle, min(stated, max(possible.highest - middle, middle - possible.lowest))


def _scatter(values: Floats) -> float:
    """How far values lie from their median, as the standard deviation of a bell curve."""
    return MAD_TO_SIGMA * float(np.median(np.abs(values - np.median(values))))


def _median_error(values: Floats) -> float:
    """Half the length of the 99 % confidence interval of a median, whatever the distribution.

    Values on a busy machine have long tails, which the order of the values does not mind.
    """
    ordered, count = np.sort(values), len(values)
    reach = MEDIAN_REACH * np.sqrt(count)
    least = max(0, int(np.floor(count / 2 - reach)))
    most = min(count - 1, int(np.ceil(count / 2 + reach)) - 1)
    middle = float(np.median(values))
    return max(middle - float(ordered[least]), float(ordered[most]) - middle)


def _bend(rest: Floats, chance: float) -> float:
    """How far the offset strays from its straight piece inside a stretch, beyond chance."""
    if len(rest) < BLOCK_POINTS:
        return 0.0
    middle = float(np.median(rest))
    parts = np.array_split(rest, BEND_PARTS)
    strayed = max(abs(float(np.median(part)) - middle) for part in parts)
    return max(0.0, strayed - chance)
