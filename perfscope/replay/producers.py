"""An input queue: how long each batch takes to make, and when it can be taken.

A producer has batch k ready when it has made it, puts it into the queue as soon as there is room,
and only then begins another one; the program takes batch k when it asks for it, at the earliest
when it was put:

    ready_k = put of the producer's batch before + service_k
    put_k   = max(ready_k, get_{k - depth})
    get_k   = max(asked_k, put_k)

Counted from the moment a batch is ready, this is put_k = max(put_{k - 1}, get_{k - Q}) + service_k
of docs/metrics.md with Q = depth + 1: one batch waits in the producer's hands.
"""

from collections.abc import Sequence
from dataclasses import replace
from heapq import heapify, heapreplace
from math import inf, isnan

import numpy as np

from perfscope.arrays import Bools, Floats, Ints
from perfscope.structures import dataclass

NOTICEABLE_NS = 50_000
"""So long a put or get lasts at least that had to wait for room or for a batch."""

PAUSE = 2.0  # times the usual work between two gets
FEWEST_PAUSES = 3
AGREEING_SHARE = 0.9
STEEPEST_SLOPE = -0.5  # of waiting over work; -1 where a producer is the bottleneck, 0 without
FEWEST_BATCHES = 4  # from which the mean time to make one is taken


@dataclass(frozen=True)
class PrefetchQueue:
    """The input queue of one rank; times in nanoseconds from the start of the run.

    Batches are numbered as they were put, `taken` of them were taken before the run began, at
    `taken_at`. Batch `taken` + j is taken in get j, which is the work from piece `first_piece[j]`
    to `last_piece[j]` of the program.
    """

    position: int  # of the rank
    depth: int
    producers: int  # 0: nobody recorded how many
    maker: Ints  # which producer made each batch, shape (batches,)
    service_ns: Floats  # shape (batches,)
    fixed_ns: Floats  # when a producer's first batch was ready, else NaN, shape (batches,)
    hold_ns: Floats  # from being ready to being in the queue, with room, shape (batches,)
    room_ns: Floats  # from the get that made room to being in the queue, shape (batches,)
    taken_at: Floats  # shape (taken,)
    take_ns: Floats  # of each get, when the batch is there
    wake_ns: Floats  # of each get, from the put of a batch that was waited for
    first_piece: Ints
    last_piece: Ints
    is_measured: bool
    """Whether the times of puts were recorded; else services follow from what was waited for."""

    @property
    def mean_service_ns(self) -> float:
        """How long a producer takes for a batch on average; all together where that is learned."""
        known = self.service_ns[np.isnan(self.fixed_ns)]
        return float(known.mean()) if len(known) else 0.0

    def is_get(self, pieces: int) -> Bools:
        """Which of so many pieces of work are gets, shape (pieces,)."""
        begins = np.bincount(self.first_piece, minlength=pieces + 1)
        ends = np.bincount(self.last_piece + 1, minlength=pieces + 1)
        return np.asarray(np.cumsum(begins - ends)[:pieces] > 0)


class ReplayedQueue:
    """One queue while it is replayed: batches are taken in order."""

    def __init__(self, queue: PrefetchQueue, producers: int | None = None) -> None:
        if not queue.is_measured and producers not in (None, queue.producers):
            # learned was the interval at which all producers together come with a batch
            assert producers
            queue = replace(queue, service_ns=queue.service_ns * (queue.producers / producers))
            producers = None
        self._queue = queue
        self._fixed, self._service = queue.fixed_ns.tolist(), queue.service_ns.tolist()
        self._hold, self._room = queue.hold_ns.tolist(), queue.room_ns.tolist()
        self._take, self._wake = queue.take_ns.tolist(), queue.wake_ns.tolist()
        self._taken: list[float] = queue.taken_at.tolist()
        self._before = len(self._taken)
        self._last_put: float = -inf
        self._puts = 0
        self._is_as_recorded = producers in (None, queue.producers)
        self._maker = queue.maker.tolist() if self._is_as_recorded else []
        self._free = [0.0] * (producers or max(1, queue.producers))
        if not self._is_as_recorded and self._fixed:
            first = self._fixed[0]
            start = (0.0 if isnan(first) else first) - queue.mean_service_ns
            self._free = [start] * len(self._free)
            heapify(self._free)
        while self._puts < min(self._before, len(self._service)):
            self._put()

    def take(self, asked: float) -> float:
        """When the program has the next batch that it asks for at a moment."""
        number = len(self._taken)
        get = number - self._before
        put = self._put() if number < len(self._service) else self._last_put
        done: float = max(asked + self._take[get], put + self._wake[get])
        self._taken.append(done)
        return done

    def _put(self) -> float:
        """When the next batch is in the queue."""
        number = self._puts
        service, fixed = self._service[number], self._fixed[number]
        if self._is_as_recorded:
            ready = self._free[self._maker[number]] + service if isnan(fixed) else fixed
        else:
            # the producer that is done first makes the next one; a first batch took the usual time
            ready = self._free[0] + (service if isnan(fixed) else self._queue.mean_service_ns)
        put: float = ready + self._hold[number]
        if number >= self._queue.depth:
            put = max(put, self._taken[number - self._queue.depth] + self._room[number])
        if self._is_as_recorded:
            self._free[self._maker[number]] = put
        else:
            put = max(put, self._last_put)  # in order
            heapreplace(self._free, put)
        self._last_put = put
        self._puts += 1
        return put


@dataclass(frozen=True)
class Gets:
    """The gets of one rank inside the run: when each began and ended, and its pieces of work."""

    enter: Floats
    leave: Floats
    first_piece: Ints
    last_piece: Ints


def recorded_queue(
    position: int, puts: Sequence[Ints], *, depth: int, gets: Gets, taken_at: Floats
) -> PrefetchQueue:
    """The queue whose puts were recorded.

    Of each batch, in order, `puts` has when it was ready, when it was in the queue, and which
    thread put it; `taken_at` is when batches were taken before.
    """
    ready, put = puts[0].astype(np.float64), puts[1].astype(np.float64)
    threads, maker = np.unique(puts[2], return_inverse=True)
    maker = maker.reshape(-1).astype(np.int64)
    fixed, service = np.full(len(put), np.nan), np.zeros(len(put))
    for producer in range(len(threads)):
        own = np.flatnonzero(maker == producer)
        fixed[own[0]] = ready[own[0]]
        service[own[1:]] = np.maximum(0.0, ready[own[1:]] - put[own[:-1]])
    all_taken = np.concatenate([taken_at, gets.leave])
    room_made = np.full(len(put), -inf)
    count = max(0, min(len(put) - depth, len(all_taken)))
    room_made[depth : depth + count] = all_taken[:count]
    blocked = (put - ready > NOTICEABLE_NS) & (room_made > ready)
    room = _usual(put - room_made, blocked)
    took = np.arange(len(taken_at), len(all_taken))
    put_of_get = np.where(took < len(put), put[np.minimum(took, len(put) - 1)], -inf)
    waited = put_of_get > gets.enter
    return PrefetchQueue(
        position=position,
        depth=depth,
        producers=len(threads),
        maker=maker,
        service_ns=service,
        fixed_ns=fixed,
        hold_ns=np.where(blocked, 0.0, put - ready),
        room_ns=room,
        taken_at=taken_at,
        take_ns=_usual(gets.leave - gets.enter, ~waited),
        wake_ns=_usual(gets.leave - put_of_get, waited),
        first_piece=gets.first_piece,
        last_piece=gets.last_piece,
        is_measured=True,
    )


def _usual(values: Floats, known: Bools) -> Floats:
    """The values where they are known, elsewhere their median, or less where that cannot be."""
    usual = float(np.median(values[known])) if np.any(known) else 0.0
    result: Floats = np.where(known, values, np.minimum(usual, values))
    return result


def learned_queue(
    position: int, *, depth: int, producers: int, gets: Gets, service_ns: float
) -> PrefetchQueue:
    """The queue of which only the mean time from batch to batch is known.

    All producers together stand in it as one chain. A batch that was waited for was put when it was
    taken. Another one takes the mean time, or less if it would not have been there when it was
    asked for.
    """
    count = len(gets.enter)
    waited = waited_for(gets)
    service, fixed = np.full(count, service_ns), np.full(count, np.nan)
    fixed[0] = put = float(gets.leave[0] if waited[0] else gets.enter[0])
    for number in range(1, count):
        room = float(gets.leave[number - depth]) if number >= depth else -inf
        if waited[number]:
            done = float(gets.leave[number])
        else:
            done = min(max(put + service_ns, room), float(gets.enter[number]))
        if waited[number] or done > room:
            service[number] = max(0.0, done - put)
        put = done
    length = gets.leave - gets.enter
    return PrefetchQueue(
        position=position,
        depth=depth,
        producers=producers,
        maker=np.zeros(count, np.int64),
        service_ns=service,
        fixed_ns=fixed,
        hold_ns=np.zeros(count),
        room_ns=np.zeros(count),
        taken_at=np.empty(0),
        take_ns=np.where(waited, 0.0, length),
        wake_ns=np.zeros(count),
        first_piece=gets.first_piece,
        last_piece=gets.last_piece,
        is_measured=False,
    )


def waited_for(gets: Gets) -> Bools:
    """Which gets had to wait for their batch: far longer than one that is there takes."""
    length = gets.leave - gets.enter
    cycle = float(np.median(np.diff(gets.leave))) if len(length) > 1 else 0.0
    return np.asarray(length > max(4.0 * NOTICEABLE_NS, 0.01 * cycle))


def mean_service_ns(gets: Gets) -> float | None:
    """Mean time to make a batch; None where too few were waited for.

    From one batch that was waited for to the next the producer was busy all the time, unless the
    program paused in between, so that the queue may have been full.
    """
    waits = np.flatnonzero(waited_for(gets))
    if len(waits) < 2:
        return None
    worked = gets.enter[1:] - gets.leave[:-1]
    pauses = np.concatenate([[0], np.cumsum(worked > PAUSE * np.median(worked))])
    busy = pauses[waits[1:]] == pauses[waits[:-1]]
    batches = int(np.diff(waits)[busy].sum())
    spent = float(np.diff(gets.leave[waits])[busy].sum())
    return spent / batches if batches >= FEWEST_BATCHES else None


def is_queue(gets: Gets, service_ns: float) -> bool:
    """Whether batches are made beside the program, and not by itself while it asks for them.

    Then one is there at once after work that takes longer than making it. Where there is no such
    work, the waiting must be the shorter the longer the work before it.
    """
    worked, waited = gets.enter[1:] - gets.leave[:-1], (gets.leave - gets.enter)[1:]
    long = worked > service_ns
    if np.count_nonzero(long) >= FEWEST_PAUSES:
        return bool(np.mean(~waited_for(gets)[1:][long]) >= AGREEING_SHARE)
    spread = float(np.var(worked))
    slope = np.mean((worked - worked.mean()) * (waited - waited.mean())) / max(spread, 1e-9)
    return bool(slope <= STEEPEST_SLOPE)


def learned_depth(gets: Gets, service_ns: float) -> int:
    """The most batches that were there at once: taken in a row faster than they can be made."""
    waited = waited_for(gets)
    deepest, begin = 1, None
    for number, waits in enumerate(waited.tolist()):
        if waits:
            begin = None
            continue
        begin = number if begin is None else begin
        made = (gets.leave[number] - gets.enter[begin]) / service_ns
        deepest = max(deepest, round(number - begin + 1 - made))
    return deepest
