"""What the times of a Chrome trace can be: their unit, and events that lie far outside the rest."""

import re
from collections.abc import Mapping, Sequence

import numpy as np

from perfscope.arrays import Bools, Ints
from perfscope.readers.common.amounts import LONGEST_NS
from perfscope.structures import dataclass
from perfscope.trace.model import Table

Times = Ints

_LAUNCH = re.compile(r"launch|enqueue", re.IGNORECASE)
ENOUGH_LAUNCHES = 16
SLOWEST_QUICKEST_NS = 500_000
"""Of many launches of kernels at least one takes less, by far: a launch takes some microseconds."""
SHORTEST_NS = 5_000
"""Of all intervals of a profile some take less: a profiler may make launches slow, but not all."""
QUICKEST_SLOWEST_NS = 500
"""And at least one takes more."""
ENOUGH_EVENTS = 20
STRAY_SHARE = 0.01
"""What lies apart is stray where it is no more than this share of the events, or one event."""
LEAST_GAP_NS = 10**9


def launches_ns(host: Table, names: Sequence[str], *, runtime: int) -> Times:
    """How long the calls took that launch kernels, in ns as they were read."""
    calls = host[host["kind"] == runtime]
    chosen = [n for n in np.unique(calls["name"]).tolist() if _LAUNCH.search(names[n])]
    calls = calls[np.isin(calls["name"], chosen)]
    lengths: Times = calls["t1"] - calls["t0"]
    return lengths if len(lengths) >= ENOUGH_LAUNCHES else np.empty(0, np.int64)


def why_nanoseconds(launches: Times, shortest_ns: int) -> str:
    """Why times count nanoseconds and not microseconds, "" where they do not."""
    if not len(launches) or launches.min() < SLOWEST_QUICKEST_NS or shortest_ns < SHORTEST_NS:
        return ""
    return (
        f"as microseconds, none of {len(launches):,} launches of kernels would take below 0.5 ms, "
        "and nothing at all below 5 us"
    )


def why_too_short(launches: Times) -> str:
    """Why times count something longer than microseconds, "" where they do not."""
    if not len(launches) or launches.max() >= QUICKEST_SLOWEST_NS:
        return ""
    return f"as microseconds, each of {len(launches):,} launches of kernels would take below 0.5 us"


@dataclass(frozen=True)
class Extent:
    """From when to when a file tells of its process, and how many events lie outside."""

    start_ns: int
    end_ns: int
    strays: int = 0
    apart_ns: int = 0  # how far the nearest of them is


def extent(
    tables: Mapping[str, Table],
    edges: Sequence[int],
    told: tuple[int, int],
    events: int,
    lived_ns: tuple[int, int] | None = None,
) -> Extent:
    """The time of a file without the few events that lie farther off than all others are long.

    `edges` are starts of the outermost events without a row; `told` spans all events, strays
    included, and `events` counts them. Where the file says how long the process lived (`lived_ns`),
    what lies in that time is never stray: a program may load and compile for long before it begins.
    """
    rows = [table[table["t1"] - table["t0"] <= LONGEST_NS] for table in tables.values()]
    outer = np.array(sorted(edges), np.int64)
    starts = np.concatenate([*(table["t0"] for table in rows), outer])
    ends = np.concatenate([*(table["t1"] for table in rows), outer])
    too_long = sum(map(len, tables.values())) - sum(map(len, rows))
    most = min(max(1, int(events * STRAY_SHARE)), 63)
    whole = Extent(*told, too_long)
    if len(starts) < ENOUGH_EVENTS:
        return whole
    order = np.argsort(starts, kind="stable")
    starts, ends = starts[order], ends[order]
    reach = np.maximum.accumulate(ends)
    gaps = starts[1:] - reach[:-1]
    body = max(int(reach[-1 - most] - starts[most]), LEAST_GAP_NS)
    far = np.flatnonzero(gaps > body) + 1
    if lived_ns is not None:
        far = far[(starts[far - 1] < lived_ns[0]) | (starts[far] > lived_ns[1])]
    first = max((place for place in far.tolist() if place <= most), default=0)
    last = min(
        (place for place in far.tolist() if place >= len(starts) - most), default=len(starts)
    )
    if first == 0 and last == len(starts) and not too_long:
        return whole
    kept = slice(first, last)
    apart = [int(gaps[place - 1]) for place in (first, last) if 0 < place < len(starts)]
    strays = first + len(starts) - last + too_long
    return Extent(int(starts[kept].min()), int(ends[kept].max()), strays, min(apart, default=0))


def inside(table: Table, found: Extent, start: str = "t0", end: str = "t1") -> Bools:
    """Which rows lie in an extent."""
    result: Bools = (table[start] >= found.start_ns) & (table[end] <= found.end_ns)
    return result
