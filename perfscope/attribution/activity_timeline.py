"""What each moment of a rank was spent on, by activity: stack samples, and exact collections."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from perfscope.arrays import Bools, Ints, SmallCodes, is_one_of, joined
from perfscope.attribution.activities import ACTIVITIES
from perfscope.attribution.focus import Focus
from perfscope.attribution.ledger import IS_COMMUNICATION
from perfscope.attribution.timeline import Timeline
from perfscope.attribution.together import REACH_PERIODS, period_ns
from perfscope.matching.intervals import NOTHING, Times, disjoint_layer, distinct, union
from perfscope.schema.enums import Activity
from perfscope.search import places
from perfscope.structures import dataclass
from perfscope.trace.model import Rank

GARBAGE = ACTIVITIES.index(Activity.GARBAGE_COLLECTION)
LOADING = ACTIVITIES.index(Activity.IMPORTING)
SURELY_HEARD = 0.9
"""Part of a rank's collections that must have been measured for samples to add nothing."""


@dataclass(frozen=True)
class ActivityTimeline:
    """A partition of one rank's life, segment i being [boundaries[i], boundaries[i + 1]).

    `activities` are places in `tuple(Activity)`, NOTHING in communication and where no sample
    speaks; `stacks` indices in Trace.stacks of what ran there, NOTHING as well; `segments` the
    segment of the rank's `Timeline` that each one lies in.
    """

    boundaries: Times
    activities: npt.NDArray[np.int8]
    stacks: SmallCodes
    segments: Ints | slice

    @property
    def lengths(self) -> Times:
        """Nanoseconds of each segment."""
        return np.diff(self.boundaries)


@dataclass(frozen=True)
class _Samples:
    """Samples of a rank's main thread, by time, and the activity of each; `told` of any stack."""

    times: Times
    stacks: Ints
    activities: Ints
    told: npt.NDArray[np.int8]

    @classmethod
    def of(cls, rank: Rank, told: npt.NDArray[np.int8]) -> _Samples:
        rows = rank.main_stacks
        stacks = rows["stack"].astype(np.int64)
        return cls(rows["t"].astype(np.int64), stacks, told[stacks].astype(np.int64), told)

    def others_near(self, moments: Times) -> Ints:
        """The sample next to each moment that is in no collection, NOTHING where none is near."""
        other = np.flatnonzero(self.activities != GARBAGE)
        if not len(other):
            return np.full(len(moments), NOTHING, np.int64)
        times = self.times[other]
        after = np.searchsorted(times, moments)
        late, early = np.minimum(after, len(times) - 1), np.maximum(after - 1, 0)
        is_early = np.abs(times[early] - moments) <= np.abs(times[late] - moments)
        place = other[np.where(is_early, early, late)]
        far = np.abs(self.times[place] - moments) > REACH_PERIODS * period_ns(self.times)
        return np.where(far, NOTHING, place)

    def where(self, starts: Times, ends: Times) -> Ints:
        """The first stack seen in each interval or just behind it, NOTHING where none was."""
        if not len(self.times):
            return np.full(len(starts), NOTHING, np.int64)
        first = np.minimum(np.searchsorted(self.times, starts), len(self.times) - 1)
        near = (self.times[first] >= starts) & (self.times[first] < ends + period_ns(self.times))
        return np.where(near, self.stacks[first], NOTHING)


def activity_timeline(
    rank: Rank, timeline: Timeline, told: npt.NDArray[np.int8]
) -> ActivityTimeline:
    """The activities of one rank; `told` are those of the trace's stacks (`stack_activities`).

    Collections that were measured count for as long as they took, at the place that was seen
    first afterwards: the collector lets nobody look. Those that loading modules sets off are a part
    of loading them. What samples of them say beside that is
    given to what was seen next to it, if anything was: a line that collects by itself may also
    wait for a CPU.
    """
    rows = rank.garbage_collections
    rows = rows[is_one_of(rows["tid"], (0, rank.main_tid))]
    starts, ends = union(rows["t0"].astype(np.int64), rows["t1"].astype(np.int64))
    boundaries, segments = _cut(timeline.boundaries, np.concatenate([starts, ends]))
    known = np.append(told, np.int8(NOTHING))  # the last is what no stack shows
    stacks = timeline.stacks[segments]
    found = ActivityTimeline(boundaries, known.take(stacks), stacks, segments)
    if not len(starts) and not hears_collections(rank):
        return found
    found = replace(found, stacks=stacks.astype(np.int32))  # those of other moments may be larger
    free = ~IS_COMMUNICATION[timeline.accounts[segments]]
    _put_collections(found, (starts, ends), _Samples.of(rank, known), free, hears_collections(rank))
    return found


@dataclass(frozen=True)
class ActivityTable:
    """The activity timelines of some ranks as one table, one behind the other.

    Ranks are told by their places among those asked for; `account` and `phase` are those of the
    segments of the ranks' timelines. Columns have the shape (segments,).
    """

    each: Sequence[ActivityTimeline]
    rank: Ints
    begin: Times
    length: Times
    account: npt.NDArray[np.uint8]
    phase: SmallCodes
    stack: SmallCodes
    activity: npt.NDArray[np.int8]

    @classmethod
    def of(
        cls, ranks: Sequence[Rank], lines: Sequence[Timeline], told: npt.NDArray[np.int8]
    ) -> ActivityTable:
        """Those of timelines, or of pieces of them, of which there is one at least."""
        found = [activity_timeline(*one, told) for one in zip(ranks, lines, strict=True)]
        both = list(zip(found, lines, strict=True))
        return cls(
            found,
            np.repeat(np.arange(len(found)), [len(own.activities) for own in found]),
            joined(own.boundaries[:-1] for own in found),
            joined(own.lengths for own in found),
            joined(line.accounts[own.segments] for own, line in both),
            joined(line.phases[own.segments] for own, line in both),
            joined(own.stacks for own in found),
            joined(own.activities for own in found),
        )

    def within(self, focus: Focus) -> Bools:
        """Which segments begin in a focus."""
        inside: Bools = (self.begin >= focus.start_ns) & (self.begin < focus.end_ns)
        return inside


def _put_collections(
    found: ActivityTimeline,
    collections: tuple[Times, Times],
    samples: _Samples,
    free: Bools,
    is_measured: bool,
) -> None:
    """Collections into activities where they are `free`; if measured, samples tell of no other."""
    activities, stacks, at = found.activities, found.stacks, found.boundaries[:-1]
    starts, ends = collections
    if is_measured:
        seen = np.flatnonzero((activities == GARBAGE) & free)
        middle = at[seen] + (found.boundaries[seen + 1] - at[seen]) // 2
        other = samples.others_near(middle)
        seen, other = seen[other != NOTHING], other[other != NOTHING]
        activities[seen], stacks[seen] = samples.activities[other], samples.stacks[other]
    if len(starts):
        number = disjoint_layer(starts, ends, np.arange(len(starts))).at(at)
        during = np.flatnonzero((number != NOTHING) & free)
        seen_there = samples.where(starts, ends)[number[during]]
        stacks[during] = np.where(seen_there != NOTHING, seen_there, stacks[during])
        activities[during] = np.where(samples.told[seen_there] == LOADING, LOADING, GARBAGE)


def _cut(boundaries: Times, moments: Times) -> tuple[Times, Ints | slice]:
    """Boundaries with some moments more, and which segment of the first each one is in."""
    if not len(moments):
        return boundaries, slice(None)
    inside = np.clip(moments, boundaries[0], boundaries[-1])
    finer = distinct(np.concatenate([boundaries, inside]))
    return finer, places(boundaries, finer[:-1], "right") - 1


def hears_collections(rank: Rank) -> bool:
    """Whether what Python's collector took was measured, and not only seen by samples."""
    facts = rank.metadata.get("garbage_collector")
    counts = facts.get("collections") if isinstance(facts, dict) else None
    if not isinstance(facts, dict) or not isinstance(counts, list):
        return len(rank.garbage_collections) > 0
    numbers = [number for number in counts if isinstance(number, int) and number >= 0]
    heard = facts.get("heard")
    return isinstance(heard, int) and heard >= SURELY_HEARD * sum(numbers)
