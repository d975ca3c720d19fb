"""One clock for all ranks: how far each process's clock is from that of the trace."""

from collections.abc import Collection, Mapping, Sequence
from heapq import heappop, heappush

import numpy as np

from perfscope.arrays import Ints
from perfscope.readers.common.clock_estimate import Estimate, TimeMap, estimate
from perfscope.readers.common.clock_observations import Pair, observe
from perfscope.structures import dataclass
from perfscope.trace.clocks import UNMEASURED, UNSTATED
from perfscope.trace.model import Rank
from perfscope.trace.moving import move

"""How far the wall clocks of two hosts may be apart; pessimistic, hosts with NTP do better."""

WALL_CLOCK_ERROR_NS = 10**9


def measure(ranks: Sequence[Rank]) -> list[str]:
    """Moves all times of ranks that were aligned by wall clocks to where their operations put them.

    Returns:
        A note where clocks could not be measured, or cannot be brought together.
    """
    domains = sorted({rank.clock_domain for rank in ranks})
    if len(domains) <= 1:
        return []
    found = _from_home(observe(ranks))
    for rank in ranks:
        if rank.clock_domain and (road := found.get(rank.clock_domain)) is not None:
            _follow(rank, road)
    notes = []
    if lost := [d for d in domains if d and d not in found]:
        notes.append(
            f"The ranks read {len(domains)} different clocks. {len(lost)} of them exchanged "
            "nothing with the others that tells their distance: they are aligned by the hosts' "
            "wall clocks and not by measurement, and times between them may be wrong by "
            f"{WALL_CLOCK_ERROR_NS / 1e9:g} s."
        )
    if any(not road.is_consistent for road in found.values()):
        notes.append(
            "No offset that is constant or drifts evenly brings the clocks of the hosts together "
            "so that every effect follows its cause; the stated error contains the contradiction."
        )
    return notes


@dataclass(frozen=True)
class _Road:
    """From a domain's clock to that of the reference, over other domains where need be."""

    hops: tuple[TimeMap, ...]
    error_ns: int
    is_consistent: bool

    def __call__(self, moments: Ints) -> Ints:
        for hop in self.hops:
            moments = hop(moments)
        return moments

    @property
    def drift(self) -> float:
        """How much faster the reference's clock runs."""
        return float(sum(hop.slope for hop in self.hops))


def _from_home(pairs: Mapping[tuple[int, int], Pair]) -> dict[int, _Road]:
    """The road of least error from each domain that can be reached to domain 0."""
    links: dict[int, list[tuple[int, Estimate]]] = {}
    for (near, far), pair in pairs.items():
        for one, other, seen in ((near, far, pair), (far, near, pair.reversed())):
            if (found := estimate(seen)) is not None:
                links.setdefault(one, []).append((other, found))
    roads: dict[int, _Road] = {}
    waiting: list[tuple[int, int, int, _Road]] = [(0, 0, 0, _Road((), 0, True))]
    count = 0
    while waiting:
        error, domain, _, road = heappop(waiting)
        if domain in roads:
            continue
        roads[domain] = road
        for other, link in links.get(domain, ()):
            count += 1
            further = _Road(
                (link.clock, *road.hops),
                error + link.error_ns,
                road.is_consistent and link.is_consistent,
            )
            heappush(waiting, (further.error_ns, other, count, further))
    return roads


def _follow(rank: Rank, road: _Road) -> None:
    before = rank.start_ns
    move(rank, road)
    rank.clock_offset_ns += rank.start_ns - before
    rank.clock_drift_ppm = road.drift * 1e6
    rank.clock_error_ns = road.error_ns


def shift(rank: Rank, by_ns: int) -> None:
    """Moves all times of a rank by the same amount, where they stand: tables may be long."""

    def later(moments: Ints) -> Ints:
        place = moments if moments.flags.writeable else np.empty_like(moments)
        return np.add(moments, by_ns, out=place)

    move(rank, later)


def set_clock_domains(ranks: Sequence[Rank], corrected: Collection[int] = ()) -> int:
    """Gives the ranks of each host a clock of their own; returns how many clocks there are.

    `corrected` are the numbers of those whose times the trace itself corrects by measurements.
    """
    hosts: dict[str, int] = {}
    for rank in ranks:
        rank.clock_domain = hosts.setdefault(rank.host, len(hosts))
    if len(hosts) > 1:
        measured = {rank.host for rank in ranks if rank.number in corrected}
        is_corrected = len(measured) >= len(hosts) - 1  # to the clock of the remaining one
        for rank in ranks:
            rank.clock_error_ns = UNSTATED if is_corrected else UNMEASURED
    return len(hosts)
