"""Replay of a program whose ranks take their input from queues.

A queue carries state across the cuts of a program: what was made while a rank waited or evaluated
is there later. Its segments are therefore replayed one after the other.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from math import inf

import numpy as np

from perfscope.arrays import Floats, Int32s
from perfscope.replay.producers import PrefetchQueue, ReplayedQueue
from perfscope.replay.program import Needs, Program, Work, segment_lengths
from perfscope.structures import dataclass

MOST_ROWS = 400_000
"""Rows of segments with messages and queues, which are replayed one by one."""

Takes = dict[int, list[float]]
"""By row, the work before each batch that is taken in front of it, in ns."""


@dataclass(frozen=True)
class EditedQueue:
    """The queue of a rank, and how many producers fill it in the edited run; None: as recorded."""

    queue: PrefetchQueue
    producers: int | None = None


def coupled_lengths(
    program: Program, work: Work, transfer_ns: Floats, queues: Sequence[EditedQueue]
) -> Floats:
    """Length of each segment in nanoseconds, shape (segments,), for given work and transfer."""
    rest, takes = _split(program, work, queues)
    lengths = segment_lengths(program, rest, transfer_ns)
    sweep = _Sweep(program, program.gaps_ns(rest), transfer_ns, takes, queues)
    now = 0.0
    for segment in range(program.segment_count):
        if segment in sweep.places:
            lengths[segment] = sweep.length(segment, now)
        now += float(lengths[segment])
    return lengths


def is_small_enough(program: Program, queues: Sequence[EditedQueue]) -> bool:
    """Whether the segments with queues can be replayed in reasonable time."""
    if not queues:
        return False
    rows = np.diff(program.cut_rows, axis=0).sum(axis=1)
    hit, segment_of = np.zeros(program.segment_count, np.bool_), program.row_segment
    for item in queues:
        hit[segment_of[program.work.row[item.queue.first_piece]]] = True
    return int(rows[hit & (rows > len(program.ranks))].sum()) <= MOST_ROWS


def _split(program: Program, work: Work, queues: Sequence[EditedQueue]) -> tuple[Work, list[Takes]]:
    """The work without the gets, and for each queue the work before each get."""
    ns = work.ns.copy()
    takes: list[Takes] = []
    for item in queues:
        own = item.queue.is_get(len(program.work.ns))
        ns[: len(own)][own] = 0.0
    for item in queues:
        first, behind = item.queue.first_piece, item.queue.last_piece + 1
        row = program.work.row
        begin = np.searchsorted(row, row[first], side="left")  # rows of work are in order
        base, until = int(begin[0]), int(behind[-1])
        summed = np.concatenate([[0.0], np.cumsum(ns[base:until])])
        start = begin.copy()
        same = row[first[1:]] == row[first[:-1]]
        start[1:][same] = behind[:-1][same]
        lead = summed[first - base] - summed[start - base]
        found: Takes = defaultdict(list)
        for place, value in zip(row[first].tolist(), lead.tolist(), strict=True):
            found[place].append(value)
        takes.append(found)
    return Work(work.row, work.account, ns), takes


class _Sweep:
    """Replays the segments in which batches are taken, in order."""

    def __init__(
        self,
        program: Program,
        gap: Floats,
        transfer: Floats,
        takes: Sequence[Takes],
        queues: Sequence[EditedQueue],
    ) -> None:
        self._program, self._gap, self._transfer = program, gap, transfer
        self._segment_of = program.row_segment
        self._queue_of = {
            item.queue.position: ReplayedQueue(item.queue, item.producers) for item in queues
        }
        self._takes: Takes = {row: leads for found in takes for row, leads in found.items()}
        self.places: dict[int, list[int]] = defaultdict(list)  # segment -> positions that take
        for item, found in zip(queues, takes, strict=True):
            for segment in sorted({int(self._segment_of[row]) for row in found}):
                self.places[segment].append(item.queue.position)
        cuts = program.cut_rows
        self._is_plain = np.all(np.diff(cuts, axis=0) == 1, axis=1)
        alone = transfer[cuts[:-1]] + gap[cuts[1:]]
        for segment, positions in self.places.items():
            alone[segment, positions] = -inf
        self._others: list[float] = alone.max(axis=1).tolist()

    def length(self, segment: int, now: float) -> float:
        """Length of a segment that begins at a moment."""
        cuts = self._program.cut_rows
        if not self._is_plain[segment]:
            return self._with_calls(segment, now)
        last = self._others[segment]
        for position in self.places[segment]:
            start = float(self._transfer[cuts[segment, position]])
            row = int(cuts[segment + 1, position])
            last = max(last, self._arrival(row, position, now + start) - now)
        return last

    def _arrival(self, row: int, position: int, left: float) -> float:
        """When a rank arrives at a row, having left the one before at a moment."""
        leads = self._takes.get(row)
        if leads is None:
            return left + float(self._gap[row])
        queue, at = self._queue_of[position], left
        for lead in leads:
            at = queue.take(at + lead)
        return at + float(self._gap[row]) - sum(leads)

    def _with_calls(self, segment: int, now: float) -> float:
        """The same for a segment that holds calls that are no cuts."""
        program = self._program
        cuts = program.cut_rows
        arrival: dict[int, float] = {}
        hubs = Hubs(program.needs, self._segment_of, segment)
        ranks = range(len(program.ranks))
        place = [int(cuts[segment, rank]) + 1 for rank in ranks]
        left = [now + float(self._transfer[cuts[segment, rank]]) for rank in ranks]
        moved = True
        while moved:
            moved = False
            for rank in ranks:
                closing = int(cuts[segment + 1, rank])
                while place[rank] <= closing:
                    row = place[rank]
                    if row not in arrival:
                        arrival[row] = self._arrival(row, rank, left[rank])
                        moved = True
                    if row == closing:
                        break
                    need = self._need(row, hubs, segment, arrival)
                    if need is None:
                        break
                    left[rank] = need + float(self._transfer[row])
                    place[rank] += 1
                    moved = True
        return max(arrival.get(int(row), now) for row in cuts[segment + 1]) - now

    def _need(
        self, row: int, hubs: Hubs, segment: int, arrival: Mapping[int, float]
    ) -> float | None:
        """Before when a row cannot complete; None while that is not known."""
        needs = self._program.needs
        latest = arrival[row]
        for need in needs.needs[needs.need_starts[row] : needs.need_starts[row + 1]].tolist():
            if need < 0:
                known = hubs.latest(~need, arrival)
            elif self._segment_of[need] != segment:
                continue  # it arrived before the cut
            else:
                known = arrival.get(need)
            if known is None:
                return None
            latest = max(latest, known)
        return latest


class Hubs:
    """When the last member of each hub arrived, as far as members are of one segment."""

    def __init__(self, needs: Needs, row_segment: Int32s, segment: int) -> None:
        self._needs, self._row_segment, self._segment = needs, row_segment, segment
        self._seen: dict[int, tuple[int, float]] = {}  # members seen to have arrived, and the last
        self._complete: dict[int, float] = {}

    def latest(self, hub: int, arrival: Mapping[int, float]) -> float | None:
        """The last arrival of a hub and of those before it; None while some are not known."""
        chain = []
        while hub >= 0 and hub not in self._complete:
            chain.append(hub)
            hub = int(self._needs.hub_parent[hub])
        latest = self._complete.get(hub, -inf)
        for link in reversed(chain):
            own = self._own(link, arrival)
            if own is None:
                return None
            latest = self._complete[link] = max(latest, own)
        return latest

    def _own(self, hub: int, arrival: Mapping[int, float]) -> float | None:
        """The last arrival of a hub's own members; it goes on where it stopped before."""
        needs = self._needs
        first, behind = int(needs.hub_starts[hub]), int(needs.hub_starts[hub + 1])
        seen, latest = self._seen.get(hub, (0, -inf))
        for row in needs.hub_rows[first + seen : behind].tolist():
            if self._row_segment[row] == self._segment:  # else it arrived before the cut
                if row not in arrival:
                    self._seen[hub] = (seen, latest)
                    return None
                latest = max(latest, arrival[row])
            seen += 1
        return latest
