"""How fast the connections between pairs of hosts are, from messages between their ranks."""

import numpy as np

from perfscope.arrays import Bools, Floats, Ints, rows_by
from perfscope.attribution.preparation import Prepared
from perfscope.engine import engine
from perfscope.matching.codes import NONBLOCKING_CODES
from perfscope.matching.pool import dense
from perfscope.structures import dataclass
from perfscope.trace.operations import OperationClass

FEWEST = 10
"""Messages of about one size between two hosts, below which chance decides."""

FEWEST_PAIRS = 3
"""Pairs of hosts that carry messages of about one size, so that one can be told from the usual."""

ONE_HOST = "the run has one host"
TWO_HOSTS = "two hosts have one connection: there is none to compare it with"
FEW_MESSAGES = (
    f"fewer than {FEWEST_PAIRS} pairs of hosts exchange {FEWEST} messages of about one size for "
    "which the receiver already waits (collectives of more than two ranks do not tell pairs)"
)


@dataclass(frozen=True)
class HostPair:
    """Messages between two hosts.

    `ratio` is their time over that of the usual pair for messages of about one size, `excess_s`
    what they take longer than that: of each direction on the rank that has most of it (ranks of a
    host receive at the same time), and both directions one after the other.
    """

    hosts: tuple[str, str]
    messages: int
    seconds: float  # median of the size class with most messages
    size_bytes: int  # median of that class
    ratio: float
    excess_s: float


@dataclass(frozen=True)
class HostPairs:
    """All pairs of hosts that could be compared, slowest first, or why there are none."""

    pairs: tuple[HostPair, ...] = ()
    reason: str = ONE_HOST


@dataclass(frozen=True)
class _Messages:
    """One element a message between hosts for which the receiver already waited."""

    pair: Ints  # lower host * number of hosts + higher host
    forward: Bools  # from the lower to the higher host
    size: Ints
    seconds: Floats
    rank: Ints  # position of the receiver


def host_pairs(prepared: Prepared) -> HostPairs:
    """The connections between the hosts of a run, over the focus of analysis."""
    ranks = prepared.trace.ranks
    hosts = sorted({rank.host for rank in ranks})
    if len(hosts) < 3:
        return HostPairs((), TWO_HOSTS if len(hosts) == 2 else ONE_HOST)
    if why := prepared.waits.clocks.reason:
        return HostPairs((), why)
    home = np.array([hosts.index(rank.host) for rank in ranks], np.int64)
    found = _messages(prepared, home, len(hosts))
    size_class = np.floor(np.log2(np.maximum(found.size, 1))).astype(np.int64)
    ratios = _ratios(found, size_class)
    if not ratios:
        return HostPairs((), FEW_MESSAGES)
    pairs = _pairs(found, size_class, ratios, hosts)
    return HostPairs(tuple(sorted(pairs, key=lambda pair: (-pair.ratio, pair.hosts))), "")


def _messages(prepared: Prepared, home: Ints, hosts: int) -> _Messages:
    """Messages, and collectives of two ranks, between ranks of different hosts."""
    waits, focus = prepared.waits, prepared.focus
    pool = waits.pool
    takes = pool.is_of(OperationClass.RECV, OperationClass.SENDRECV, OperationClass.WAIT)
    sends = pool.is_of(OperationClass.SEND, OperationClass.ISEND, OperationClass.SENDRECV)
    probes = pool.is_of(OperationClass.PROBE)
    row = np.flatnonzero((takes | probes) & waits.known & (waits.cause >= 0))
    cause = waits.cause[row]
    usable = sends[cause] & (~probes[row] | (pool.sent[cause] <= engine.EAGER_BYTES))
    row, cause = row[usable], cause[usable]
    size = pool.sent[cause].astype(np.int64)
    instances = waits.instances
    if len(instances):
        two = (np.diff(instances.starts) == 2) & ~NONBLOCKING_CODES[instances.op]
        first = instances.starts[:-1][two]
        members = np.stack([instances.members[first], instances.members[first + 1]])
        late = np.argmax(pool.enter[members], axis=0)
        early = members[1 - late, np.arange(len(first))]
        late = members[late, np.arange(len(first))]
        row, cause = np.concatenate([row, early]), np.concatenate([cause, late])
        size = np.concatenate([size, np.maximum(pool.sent[early], pool.received[early])])
    a, b = home[pool.rank[cause]], home[pool.rank[row]]
    inside = (pool.enter[row] >= focus.start_ns) & (pool.exit[row] <= focus.end_ns) & (a != b)
    row, size, a, b = row[inside], size[inside], a[inside], b[inside]
    return _Messages(
        pair=np.minimum(a, b) * hosts + np.maximum(a, b),
        forward=a < b,
        size=size,
        seconds=np.maximum(pool.exit[row] - waits.need[row], 0) * 1e-9,
        rank=pool.rank[row].astype(np.int64),
    )


def _ratios(found: _Messages, size_class: Ints) -> dict[int, dict[int, tuple[float, int, float]]]:
    """By pair and size class: time over the usual one, messages, and the usual time.

    The usual time is the lower quartile over the pairs: where one host is slow, most may be slow.
    """
    times: dict[int, dict[int, tuple[float, int]]] = {}
    for places in rows_by(dense(size_class, found.pair)) if len(found.pair) else ():
        if len(places) >= FEWEST:
            group, pair = int(size_class[places[0]]), int(found.pair[places[0]])
            times.setdefault(group, {})[pair] = _typical_s(found, places), len(places)
    result: dict[int, dict[int, tuple[float, int, float]]] = {}
    for group, by_pair in times.items():
        seconds = np.array([value for value, _ in by_pair.values()])
        usual = float(np.quantile(seconds, 0.25, method="lower"))
        if len(by_pair) < FEWEST_PAIRS or usual <= 0:
            continue
        for pair, (value, count) in by_pair.items():
            result.setdefault(pair, {})[group] = value / usual, count, usual
    return result


def _typical_s(found: _Messages, places: Ints) -> float:
    """Median time; the mean of both directions, in which the error of the clocks cancels."""
    seconds, forward = found.seconds[places], found.forward[places]
    if forward.all() or not forward.any():
        return float(np.median(seconds))
    return float(np.median(seconds[forward]) + np.median(seconds[~forward])) / 2


def _pairs(
    found: _Messages,
    size_class: Ints,
    ratios: dict[int, dict[int, tuple[float, int, float]]],
    hosts: list[str],
) -> list[HostPair]:
    """All pairs that could be compared; the messages are sorted by pair once."""
    return [
        _pair(found, places, size_class[places], ratios[pair], hosts)
        for places in rows_by(found.pair)
        if (pair := int(found.pair[places[0]])) in ratios
    ]


def _pair(
    found: _Messages,
    places: Ints,
    size_class: Ints,
    by_class: dict[int, tuple[float, int, float]],
    hosts: list[str],
) -> HostPair:
    """One pair with its messages; its ratio is the median over them."""
    values = np.repeat([v for v, _, _ in by_class.values()], [n for _, n, _ in by_class.values()])
    seconds = found.seconds[places]
    excess = np.zeros(len(places))
    for group, (_, _, usual) in by_class.items():
        here = size_class == group
        excess[here] = np.maximum(seconds[here] - usual, 0.0)
    main = size_class == max(by_class, key=lambda group: by_class[group][1])
    pair = int(found.pair[places[0]])
    return HostPair(
        hosts=(hosts[pair // len(hosts)], hosts[pair % len(hosts)]),
        messages=len(places),
        seconds=float(np.median(seconds[main])),
        size_bytes=int(np.median(found.size[places][main])),
        ratio=float(np.median(values)),
        excess_s=_longest(excess, found.rank[places], found.forward[places]),
    )


def _longest(seconds: Floats, rank: Ints, forward: Bools) -> float:
    """Most seconds of one receiver, added up over both directions."""
    of_each = (np.bincount(rank[way], seconds[way]) for way in (forward, ~forward))
    return float(sum(by_rank.max(initial=0.0) for by_rank in of_each))
