"""When in its work the main thread of a rank could run and had no CPU: moment by moment.

Counters of the scheduler are sampled more rarely than short steps come, and tell of several steps
together how long was waited. The CPU time of the thread is told where calls begin and end
(`Rank.clock_samples`): who waits for a CPU has none, so that it tells in which steps that was.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from perfscope.arrays import Bools, Floats, Ints, counter_growth
from perfscope.attribution.focus import Focus
from perfscope.attribution.timeline import Timeline
from perfscope.judging import ALONE, TURN_NS
from perfscope.metrics.host.cpu_takers import looks_at_threads
from perfscope.metrics.host.cpu_work import SAMPLES
from perfscope.metrics.results import Results
from perfscope.structures import dataclass
from perfscope.trace.model import Rank, Table

Times = Ints | Floats


@dataclass(frozen=True)
class CpuDelay:
    """Waiting for a CPU in the work of one rank, in nanoseconds."""

    edges: Floats
    waited: Floats  # up to each edge
    unsure: Floats  # up to each edge, work in which no clock tells when it was waited
    queued: tuple[Floats, Floats]  # when the scheduler's counter was read, and what it was

    def between(self, begin: Times, end: Times) -> Floats:
        """How long was waited in stretches."""
        return self._grown(self.waited, begin, end)

    def most(self, begin: Times, end: Times) -> Floats:
        """The same at most: what was waited near a stretch may all have been in it.

        Where clocks tell when it was, it is what was waited.
        """
        first, last = np.asarray(begin, np.float64), np.asarray(end, np.float64)
        times, counter = self.queued
        before = counter[np.maximum(np.searchsorted(times, first, "right") - 1, 0)]
        behind = counter[np.minimum(np.searchsorted(times, last, "left"), len(times) - 1)]
        unsure = self._grown(self.unsure, first, last)
        told = self.between(first, last)
        whole: Floats = np.maximum(told, np.minimum(told + unsure, behind - before))
        return np.where(unsure > 0, whole, told)

    def _grown(self, sums: Floats, begin: Times, end: Times) -> Floats:
        first, last = begin.astype(np.float64), end.astype(np.float64)
        found: Floats = np.interp(last, self.edges, sums) - np.interp(first, self.edges, sums)
        return found


def cpu_delays(results: Results) -> tuple[CpuDelay, ...]:
    """Those of all ranks; none where it is not known of all."""
    pairs = zip(results.trace.ranks, results.timelines, strict=True)
    found = [cpu_delay(rank, timeline, results.focus) for rank, timeline in pairs]
    known = tuple(one for one in found if one is not None)
    return known if len(known) == len(found) else ()


def cpu_delay(rank: Rank, timeline: Timeline, focus: Focus) -> CpuDelay | None:
    """That of a rank; None where its main thread was not sampled.

    Between two samples of the scheduler's counters, what was waited is dealt out by when the thread
    did not run in its work, as far as clocks tell that: no other waiting is taken for work then.
    What they do not tell of is dealt out evenly. A thread that sleeps while others of its process
    lack a CPU waits for these: that counts as its own waiting.
    """
    rows = rank.main_samples
    if len(rows) < 2:
        return None
    times: Floats = rows["t"].astype(np.float64)
    counter = _queued(rank)
    edges, worked = _cells(timeline, focus, [times, rank.clock_samples["t"]])
    idle, is_told = _without_cpu(rank.clock_samples, edges, worked)
    sample: Ints = np.searchsorted(times, edges[:-1], "right") - 1
    known = (sample >= 0) & (sample < len(times) - 1)
    is_told &= known
    sample[~known] = len(times) - 1
    queue = np.diff(counter, append=counter[-1:])
    evenly = np.minimum(worked * (queue / np.diff(times, append=np.inf))[sample], worked)
    left = queue - np.bincount(sample, np.where(is_told, 0.0, evenly), len(times))
    without = np.bincount(sample, np.where(is_told, idle, 0.0), len(times)).astype(np.float64)
    reach = SAMPLES // 2  # a stretch lies in several, and only all of them hold all of its waiting
    whole, near = _near(without, reach), _near(np.maximum(left, 0.0), reach + 1)
    share = np.divide(near, whole, out=np.zeros_like(whole), where=whole > 0)
    waited = np.where(is_told, idle * np.minimum(share, 1.0)[sample], evenly)
    unsure = np.where(is_told, 0.0, worked)
    return CpuDelay(edges, _sums(waited), _sums(unsure), (times, counter))


def _cells(
    timeline: Timeline, focus: Focus, moments: Sequence[Ints | Floats]
) -> tuple[Floats, Floats]:
    """Edges of what moments and the ends of work cut a rank's life into, and the work in each."""
    is_work = timeline.work(focus)
    changes = timeline.boundaries[np.flatnonzero(np.diff(is_work, prepend=False, append=False))]
    edges = np.unique(np.concatenate([changes.astype(np.float64), *moments]))
    starts = edges[:-1]
    inside = is_work[timeline.at(starts.astype(np.int64))] & (starts >= timeline.boundaries[0])
    return edges, np.where(inside, np.diff(edges), 0.0)


def _near(values: Floats, reach: int) -> Floats:
    """Sums of so many neighbors on each side and what is between them."""
    sums = _sums(values)
    places = np.arange(len(values))
    found: Floats = sums[np.minimum(places + reach + 1, len(values))]
    return found - sums[np.maximum(places - reach, 0)]


def _queued(rank: Rank) -> Floats:
    """The scheduler's counter of the main thread, with what other threads of its process waited.

    All threads are looked at more rarely than the main one, so that it goes by when they were.
    """
    main, looked = rank.main_samples, looks_at_threads(rank)
    own = main["queue_delay_ns"].astype(np.float64)
    if len(looked) < 2:
        return own
    edges = looked["t"].astype(np.float64)
    theirs = np.diff(looked["queue_delay_ns"]) - counter_growth(edges, main["t"], own)
    found: Floats = own + np.interp(main["t"], edges, _sums(np.maximum(theirs, 0.0)))
    return found


def _without_cpu(clocks: Table, edges: Floats, worked: Floats) -> tuple[Floats, Bools]:
    """How long the thread did not run in the work of each cell, and where clocks tell that.

    What it ran is taken for work as far as there is any. Between two readings there may be calls
    too short to be told apart; where more of both is there, the clock does not tell of which it is,
    unless calls are seen to sleep.

    Args:
        clocks: readings of its CPU time.
        edges: of the cells, all readings among them.
        worked: work in each cell.
    """
    cells = len(worked)
    if len(clocks) < 2:
        return np.zeros(cells), np.zeros(cells, np.bool_)
    times = clocks["t"].astype(np.float64)
    reading = np.searchsorted(times, edges[:-1], "right") - 1
    known = (reading >= 0) & (reading < len(times) - 1)
    place = np.where(known, reading, 0)
    spent = np.bincount(place[known], worked[known], len(times))
    between = np.diff(times, append=times[-1]) - spent
    ran = np.diff(clocks["cpu_ns"], append=clocks["cpu_ns"][-1:])
    idle = np.maximum(spent - ran, 0.0)
    rate = np.divide(idle, spent, out=np.zeros_like(idle), where=spent > 0)
    is_call = between > ALONE * (spent + between)
    asleep = 0 < ran[is_call].sum() < (1 - ALONE) * between[is_call].sum()
    is_told: Bools = known & (asleep | (np.minimum(spent, between) <= 2 * TURN_NS)[place])
    return np.where(is_told, worked * rate[place], 0.0), is_told


def _sums(values: Floats) -> Floats:
    return np.concatenate([[0.0], np.cumsum(values)])
