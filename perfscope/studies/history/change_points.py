"""Where the level of a series of measurements changed beyond noise."""

from collections.abc import Sequence
from itertools import pairwise
from math import comb

import numpy as np

from perfscope.arrays import Floats
from perfscope.schema.history import Level
from perfscope.structures import dataclass
from perfscope.studies.common.statistics import doubled_midranks

LEVEL = 0.01  # of each test: a page shows several series, and a false alarm costs a search
LEAST_POINTS = 3  # between changes: one odd run is no new level
PERMUTATIONS = 1999
_SEED = 20260602


@dataclass(frozen=True)
class Change:
    """A new level."""

    at: int  # index of the first value on the new level
    before: float  # median of the values since the change before
    after: float  # median of the values up to the change after
    p: float  # of a series without a change here, by permutation

    @property
    def ratio(self) -> float:
        """New level over old one."""
        return self.after / self.before


def trend(
    values: Sequence[float | None], *, factor: float, base: float = 0.0
) -> tuple[tuple[Change, ...], tuple[Level, ...]]:
    """The changes of a trend, by the place of the point, and the levels between them.

    A change below the factor is none; `base` is added to all values, so that a change counts by
    what it is of a whole.
    """
    known = [(place, value) for place, value in enumerate(values) if value is not None]
    found = change_points([base + value for _, value in known], factor=factor)
    edges = [0, *(change.at for change in found), len(known)]
    levels = tuple(
        Level(known[a][0], known[b - 1][0], float(np.median([value for _, value in known[a:b]])))
        for a, b in pairwise(edges)
        if b > a
    )
    changes = tuple(
        Change(known[one.at][0], one.before - base, one.after - base, one.p) for one in found
    )
    return changes, levels


def change_points(values: Sequence[float], *, factor: float = 1.0) -> tuple[Change, ...]:
    """The changes of level in a series of positive values, in order.

    The series is split where Mann-Whitney's rank sum of the values before against those after is
    farthest from what chance gives, standardized over all places, if permutations of the series
    reach that in at most `LEVEL` of the cases; then each part is split again. Ranks make an odd run
    count as any other. The values must be exchangeable where nothing changed: a slow drift is shown
    as steps. Sources: A. N. Pettitt, Applied Statistics 28 (1979); A. J. Scott and M. Knott,
    Biometrics 30 (1974).

    Neighboring levels closer than `factor`, at least 1, are one.
    """
    series = np.asarray(values, dtype=np.float64)
    found = _refined(series, _split(series, 0))
    kept = list(found)
    while kept:
        levels = _levels(series, kept)
        sizes = [max(b / a, a / b) for a, b in pairwise(levels)]
        smallest = int(np.argmin(sizes))
        if sizes[smallest] >= factor:
            break
        del kept[smallest]
    levels = _levels(series, kept)
    return tuple(
        Change(at, before, after, found[at])
        for at, (before, after) in zip(kept, pairwise(levels), strict=True)
    )


def least_points() -> int:
    """The fewest values in which any change can be found at `LEVEL`."""
    count = 2 * LEAST_POINTS
    while 2.0 / _ways(count) > LEVEL:
        count += 1
    return count


def _ways(count: int) -> float:
    """In how many ways a series of so many values can be cut into two halves by rank."""
    return float(comb(count, count // 2))


def _split(series: Floats, offset: int) -> list[int]:
    """Places of the changes."""
    found = _farthest(series, offset)
    if found is None:
        return []
    place, _ = found
    return [
        *_split(series[:place], offset),
        offset + place,
        *_split(series[place:], offset + place),
    ]


def _refined(series: Floats, places: Sequence[int]) -> dict[int, float]:
    """Each change looked for again between its neighbors, with its p; what is none is dropped.

    The first splits are made in sight of changes that are not yet known, and may miss by a little.
    """
    kept = list(places)
    found: dict[int, float] = {}
    for number in range(len(places)):
        start = max(found, default=0)
        end = kept[number + 1] if number + 1 < len(kept) else len(series)
        again = _farthest(series[start:end], start)
        if again is not None:
            found[start + again[0]] = again[1]
    return found


def _farthest(series: Floats, offset: int) -> tuple[int, float] | None:
    """The place of the largest change and its p; None when chance explains it."""
    count = len(series)
    if count < 2 * LEAST_POINTS:
        return None
    ranks = doubled_midranks(series) / 2
    distances = _distances(ranks[None, :])[0]
    at = int(np.argmax(distances))
    random = np.random.default_rng((_SEED, offset, count))
    shuffled = random.permuted(np.broadcast_to(ranks, (PERMUTATIONS, count)), axis=1)
    reached = np.count_nonzero(_distances(shuffled).max(axis=1) >= distances[at] - 1e-9)
    p = (1 + int(reached)) / (1 + PERMUTATIONS)
    return (at + LEAST_POINTS, p) if p <= LEVEL else None


def _distances(ranks: Floats) -> Floats:
    """Standardized distance of the rank sum before each place from chance, (rows, places)."""
    count = ranks.shape[1]
    sizes = np.arange(LEAST_POINTS, count - LEAST_POINTS + 1, dtype=np.float64)
    sums = np.cumsum(ranks, axis=1)[:, LEAST_POINTS - 1 : count - LEAST_POINTS]
    expected = sizes * (count + 1) / 2
    found: Floats = np.abs(sums - expected) / np.sqrt(sizes * (count - sizes) * (count + 1) / 12)
    return found


def _levels(series: Floats, places: Sequence[int]) -> list[float]:
    """Medians between the places."""
    if not len(series):
        return []
    return [float(np.median(part)) for part in np.split(series, list(places))]
