"""How fast large collectives are: against an ordinary network, and against the fabric."""

from collections import Counter

from perfscope.findings.facts.transport_settings import fabric_bytes_per_s
from perfscope.judging import FAIR_BYTES_PER_S
from perfscope.metrics.results import Results
from perfscope.schema.communication import CollectiveClass

LARGE_BYTES = 1 << 20  # collectives from here on are made of bandwidth
FABRIC_LEAST_SHARE = 0.1  # of its rate; sockets over a fabric reach about as much
FEWEST_LARGE_CALLS = 16


def classes(results: Results) -> tuple[CollectiveClass, ...]:
    """Collectives by operation and size."""
    cost = results.collective_cost
    return cost.classes if cost else ()


def has_fair_bandwidth(results: Results) -> bool:
    """Whether the large collectives that take most time are as fast as an ordinary network."""
    large = [c for c in classes(results) if c.size_bytes >= LARGE_BYTES]
    if not large:
        return False
    main = max(large, key=lambda c: c.seconds * c.calls)
    return main.bus_bytes_per_s >= FAIR_BYTES_PER_S


def slow_fabric(results: Results) -> float | None:
    """Share of the fabric's rate that large collectives between hosts reach, where it is small."""
    rate = fabric_bytes_per_s(results)
    if rate is None or len({rank.host for rank in results.trace.ranks}) < 2:
        return None
    large = [c for c in classes(results) if c.size_bytes >= LARGE_BYTES]
    large = [c for c in large if c.ranks == len(results.trace.ranks)]
    if sum(c.calls for c in large) < FEWEST_LARGE_CALLS:
        return None
    most = max(c.bus_bytes_per_s * _ranks_per_card(results, c) for c in large)
    # ranks that add up numbers themselves are no faster on a faster fabric
    least = min(FABRIC_LEAST_SHARE * rate, FAIR_BYTES_PER_S)
    return most / rate if most < least else None


def _ranks_per_card(results: Results, of: CollectiveClass) -> int:
    """How many ranks of a host send other data at once: in an alltoall all of them do."""
    if "alltoall" not in of.name.lower() and "all_to_all" not in of.name.lower():
        return 1
    return max(Counter(rank.host for rank in results.trace.ranks).values())
