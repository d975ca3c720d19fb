"""What calls of a framework's functions cost and keep, once warm: of the last half of them."""

import numpy as np

from perfscope.arrays import Floats, Ints
from perfscope.attribution.preparation import Prepared
from perfscope.metrics.host.resource_use import median_slope
from perfscope.structures import dataclass
from perfscope.trace.model import Table

FEWEST_SAMPLES = 10
"""Written sums in the last half of the calls, from which on it says something."""

POINTS = 200
"""Calls, evenly spread over the last half, of which the slopes are taken."""


@dataclass(frozen=True)
class FrameworkCalls:
    """The calls of one function of a framework on one rank; per call: of the last half of them.

    `seconds` is the median length, `set_up_s` what of it came before the first compiled function
    began (building an input pipeline, callbacks). `growth_bytes` is by how much the process's own
    memory (no file's and not shared) grew from call to call, `kept_bytes` by how much in the calls
    themselves: slopes of Theil and Sen over the number of calls. None: not known.
    """

    rank: int
    name: str
    calls: int
    compiled: float  # compiled functions that a call calls: one for each batch
    steady_calls: int
    steady_s: float  # length of the last half
    seconds: float | None
    set_up_s: float | None
    kept_bytes: float | None
    growth_bytes: float | None


def framework_calls(prepared: Prepared) -> tuple[FrameworkCalls, ...]:
    """Every function of every rank that was called more than a few times; most calls first."""
    found = []
    for rank in prepared.trace.ranks:
        phases = _by_name(rank.phases)
        for name, samples in _by_name(rank.call_samples).items():
            # at exit the sums are written once more
            rows = samples[np.diff(samples["calls"], prepend=-1) > 0]
            made = phases.get(name, rank.phases[:0])
            if one := _calls(rank.number, rows, made, prepared.trace.names[name]):
                found.append(one)
    return tuple(sorted(found, key=lambda one: (one.rank, -one.calls, one.name)))


def _by_name(table: Table) -> dict[int, Table]:
    """The rows of each name, in their order."""
    ordered = table[np.argsort(table["name"], kind="stable")]
    names, begins = np.unique(ordered["name"], return_index=True)
    return (
        dict(zip(names.tolist(), np.split(ordered, begins[1:]), strict=True)) if len(names) else {}
    )


def _calls(rank: int, rows: Table, made: Table, name: str) -> FrameworkCalls | None:
    total = int(rows["calls"][-1])
    half = int(np.searchsorted(rows["calls"], (total + 1) // 2))
    last = rows[half:]
    if len(last) < FEWEST_SAMPLES or last["calls"][-1] == last["calls"][0]:
        return None
    counted = int(last["calls"][-1] - last["calls"][0])
    seconds = _seconds(made, last)
    median_s = float(np.median(seconds)) if len(seconds) else None
    set_up_s = int(last["set_up_ns"][-1] - last["set_up_ns"][0]) / 1e9
    return FrameworkCalls(
        rank=rank,
        name=name,
        calls=total,
        compiled=int(last["compiled"][-1] - last["compiled"][0]) / counted,
        steady_calls=counted,
        steady_s=float(last["t"][-1] - last["t"][0]) / 1e9,
        seconds=median_s,
        # single calls are far longer, so that a mean beside the median would be another thing
        set_up_s=min(1.0, set_up_s / float(seconds.sum())) * median_s
        if set_up_s and median_s
        else None,
        kept_bytes=_slope(last["measured"], last["kept_bytes"]),
        growth_bytes=_slope(last["calls"], last["private_bytes"]),
    )


def _slope(calls: Ints, values: Ints) -> float | None:
    """Slope over the number of calls; the sums were written the more rarely the later."""
    places = np.linspace(float(calls[0]), float(calls[-1]), POINTS)
    return median_slope(places, np.interp(places, calls, values)) if calls[-1] > calls[0] else None


def _seconds(made: Table, last: Table) -> Floats:
    """Lengths of the last half of the calls that were made; none where they are no phases."""
    # the first of the sums is written when its own call has ended
    rows = made[(made["t1"] > last["t"][0]) & (made["t1"] <= last["t"][-1])]
    return np.asarray((rows["t1"] - rows["t0"]) / 1e9, np.float64)
