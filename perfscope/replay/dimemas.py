"""T_id as the Dimemas simulator gives it: a network without latency and with endless bandwidth.

Messages of the eager limit and more are rendezvous: the sender waits until the receiver is in the
call that takes the message. Every collective ends when its last member has arrived. Other calls
take no time. Source of the rules: docs/metrics.md, section 1, `T_id(dimemas)`.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from perfscope.arrays import Ints
from perfscope.matching.collectives import match_collectives
from perfscope.matching.messages import match_messages
from perfscope.matching.pool import Pool
from perfscope.schema.common import Metric
from perfscope.structures import dataclass
from perfscope.trace.model import Rank, Trace
from perfscope.trace.operations import OperationClass

EAGER_BYTES = 32 * 1024
FORMULA = "dimemas"
FOCUS = "whole_trace"

Rows = Ints


def dimemas_runtime(trace: Trace) -> Metric:
    """The run time on an ideal network, in seconds, from the first to the last event of all ranks.

    None with a reason where messages or collectives do not match, so that a rank would wait for
    ever.
    """
    start = min((rank.start_ns for rank in trace.ranks), default=0)
    end = max((rank.end_ns for rank in trace.ranks), default=0)
    if end <= start:
        return Metric(None, "s", "the trace has no length")
    if absent := trace.not_recorded.get("messages") or trace.not_recorded.get("communication"):
        return Metric(None, "s", absent)
    tables = [_of_main_thread(rank) for rank in trace.ranks]
    pool = Pool.of(trace.ranks, tables)
    collectives = match_collectives(trace, pool)
    if len(collectives.unmatched_rows):
        count = len(collectives.unmatched_rows)
        return Metric(None, "s", f"{count} calls of collectives are not matched by all ranks")
    needs = _needs(trace, pool)
    instance = np.full(len(pool), -1, np.int64)
    instance[collectives.instances.members] = collectives.instances.instance_of_member
    sizes = np.diff(collectives.instances.starts)
    replay = _Replay(pool, needs, instance.tolist(), sizes.tolist(), start)
    clocks = replay.run()
    if clocks is None:
        return Metric(None, "s", "the replay does not come to an end: ranks wait for one another")
    left = [end - last for last in replay.last_exit]
    longest = max(clock + rest for clock, rest in zip(clocks, left, strict=True))
    return Metric(longest / 1e9, "s", foa=FOCUS, formula=FORMULA)


def _of_main_thread(rank: Rank) -> npt.NDArray[np.void]:
    rows = rank.operations[rank.operations["tid"] == rank.main_tid]
    ordered: npt.NDArray[np.void] = rows[np.argsort(rows["t0"], kind="stable")]
    return ordered


def _needs(trace: Trace, pool: Pool) -> dict[int, list[int]]:
    """By row, the rows that must have been entered before it can end."""
    send_of = match_messages(trace, pool).send_of
    posted = pool.is_of(OperationClass.IRECV)
    receivers = np.flatnonzero((send_of >= 0) & ~pool.is_of(OperationClass.PROBE))
    taken_in = receivers.copy()
    waits = _waits_of_requests(trace, pool)
    for place in np.flatnonzero(posted[receivers]).tolist():
        row = int(receivers[place])
        taken_in[place] = waits.get((int(pool.rank[row]), int(pool.request[row])), row)
    senders = send_of[receivers]
    large = pool.sent[senders] >= EAGER_BYTES
    blocking = large & ~pool.is_of(OperationClass.ISEND)[senders]
    needs: dict[int, list[int]] = {}
    for row, sender in zip(taken_in.tolist(), senders.tolist(), strict=True):
        needs.setdefault(row, []).append(sender)
    for row, sender in zip(taken_in[blocking].tolist(), senders[blocking].tolist(), strict=True):
        needs.setdefault(sender, []).append(row)
    return needs


def _waits_of_requests(trace: Trace, pool: Pool) -> dict[tuple[int, int], int]:
    """The row of the call in which each posted receive was completed, by rank and request."""
    found: dict[tuple[int, int], int] = {}
    for position, rank in enumerate(trace.ranks):
        begin, end = int(pool.offsets[position]), int(pool.offsets[position + 1])
        if begin == end or not len(rank.completions):
            continue
        times = rank.completions["t0"]
        rows = begin + np.searchsorted(pool.enter[begin:end], times, side="right") - 1
        inside = (rows >= begin) & (times <= pool.exit[np.maximum(rows, begin)])
        requests = rank.completions["request"][inside].tolist()
        pairs = zip(requests, rows[inside].tolist(), strict=True)
        found.update({(position, request): row for request, row in pairs})
    return found


@dataclass
class _Replay:
    """Lets every rank go on until it needs another one, in turns, until all have ended."""

    pool: Pool
    needs: dict[int, list[int]]
    instance: Sequence[int]
    sizes: Sequence[int]
    start_ns: int

    def run(self) -> list[int] | None:
        """When each rank leaves its last call, by replayed clocks; None if it never does."""
        ranks = len(self.pool.offsets) - 1
        self.bounds = self.pool.offsets.tolist()
        self.enter, self.exit = self.pool.enter.tolist(), self.pool.exit.tolist()
        self.arrived: dict[int, int] = {}
        self.latest = [0] * len(self.sizes)
        self.missing = list(self.sizes)
        self.clock = [0] * ranks
        self.last_exit = [self.start_ns] * ranks
        self.place = self.bounds[:-1]
        progress = True
        while progress:
            progress = False
            for rank in range(ranks):
                progress |= self._advance(rank)
        done = all(self.place[rank] == self.bounds[rank + 1] for rank in range(ranks))
        return self.clock if done else None

    def _advance(self, rank: int) -> bool:
        moved = False
        while self.place[rank] < self.bounds[rank + 1]:
            row = self.place[rank]
            if row not in self.arrived:
                self.clock[rank] += max(self.enter[row] - self.last_exit[rank], 0)
                self._arrive(row, self.clock[rank])
                moved = True
            left = self._left(row)
            if left is None:
                break
            self.clock[rank] = left
            self.last_exit[rank] = max(self.exit[row], self.last_exit[rank])
            self.place[rank] += 1
            moved = True
        return moved

    def _arrive(self, row: int, clock: int) -> None:
        self.arrived[row] = clock
        instance = self.instance[row]
        if instance >= 0:
            self.latest[instance] = max(self.latest[instance], clock)
            self.missing[instance] -= 1

    def _left(self, row: int) -> int | None:
        """When the call ends; None while somebody whom it needs has not come."""
        instance = self.instance[row]
        if instance >= 0 and self.missing[instance]:
            return None
        left = self.arrived[row]
        if instance >= 0:
            left = max(left, self.latest[instance])
        for other in self.needs.get(row, ()):
            arrived = self.arrived.get(other)
            if arrived is None:
                return None
            left = max(left, arrived)
        return left
