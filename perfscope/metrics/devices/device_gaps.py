"""Why nothing ran on a device: each gap by what its next work waited for."""

import re
from collections.abc import Mapping, Sequence

import numpy as np

from perfscope.arrays import Ints
from perfscope.attribution.ledger import ACCOUNTS
from perfscope.attribution.timeline import Timeline
from perfscope.matching.intervals import Cumulative, Times, union
from perfscope.schema.enums import Account, IdleCause, PhaseKind
from perfscope.trace.devices import LAUNCH_UNKNOWN
from perfscope.trace.model import Rank, Table
from perfscope.units import NS_PER_S

KERNEL_WAIT_NS = 30_000
"""A gap below this before what was launched in time is the cost of starting it.

HolisticTraceAnalysis documents 30 ns, and compares 30 with microseconds (0.5.0,
breakdown_analysis.py): its figures come from 30 us.
"""
LAUNCH_GAP_NS = 100_000
"""A framework spends 5 to 50 us on the host for each kernel: a gap below twice that is launching;
in a longer one the host did something else, and work that is launched waits for something else."""
IN_BETWEEN, FIRST, LAST = 0, 1, 2
"""Where a gap is: between work of the device, before all of it, or after it."""
GAP = [("start", "i8"), ("end", "i8"), ("launch", "i8"), ("edge", "i1")]
_WAITING = re.compile(r"Synchronize|^(cuda|hip)Memcpy(WithStream)?$")
"""Calls of the runtime that return when the device has done its work."""
_OF_ACCOUNT = {
    Account.INPUT_WAIT: IdleCause.INPUT,
    Account.COMMUNICATION_WAIT: IdleCause.RANKS,
    Account.COMMUNICATION_TRANSFER: IdleCause.COMMUNICATION,
    Account.COMMUNICATION_OTHER: IdleCause.COMMUNICATION,
    Account.EVALUATION: IdleCause.EVALUATION,
    Account.CHECKPOINT: IdleCause.CHECKPOINT,
    Account.IO: IdleCause.FILES,
}


def idle_by_cause(
    rank: Rank, timeline: Timeline, rows: Table, window: tuple[int, int], names: Sequence[str]
) -> Mapping[IdleCause, float]:
    """Seconds in which a device ran nothing, by cause; they add up to its idle time exactly.

    The rows are what the device did, sorted by t0; only what lies in the window counts. Names are
    those of the calls of the device's runtime.
    """
    gap = _gaps(rows, window)
    length = gap["end"] - gap["start"]
    in_time = (gap["launch"] != LAUNCH_UNKNOWN) & (gap["launch"] < gap["start"])
    starting = in_time & (length < KERNEL_WAIT_NS)
    late = gap[~in_time]
    queued = _queued(rank, late)
    late["end"] -= queued
    totals = dict.fromkeys(IdleCause, 0)
    totals[IdleCause.KERNEL] = int(length[starting].sum())
    totals[IdleCause.DEVICE] = int(length[in_time & ~starting].sum() + queued.sum())
    free = late["end"] - late["start"]
    for account, cause in _OF_ACCOUNT.items():
        inside = Cumulative.of(
            timeline.boundaries, timeline.accounts == ACCOUNTS.index(account)
        ).between(late["start"], late["end"])
        totals[cause] += int(inside.sum())
        free = free - inside
    for cause, ns in _own_doing(_waits(rank, names), late, free).items():
        totals[cause] += ns
    return {cause: ns / NS_PER_S for cause, ns in totals.items() if ns}


def _queued(rank: Rank, late: Table) -> Ints:
    """How long what was launched in a gap waits there although its launch is over, by gap.

    The host has done its part by then. What is shorter than a launch, and what another thread
    launched, whose calls the trace does not hold, stays with the launch.
    """
    queued = np.zeros(len(late), np.int64)
    calls = rank.devices.runtime if rank.devices is not None else late[:0]
    if not len(calls):
        return queued
    place = np.searchsorted(calls["t0"], late["launch"], "right") - 1
    is_call = (place >= 0) & (calls["t0"][place] == late["launch"])
    launched = np.maximum(calls["t1"][place], late["start"])
    rest = late["end"] - launched
    is_queued = is_call & (late["edge"] == IN_BETWEEN) & (rest >= LAUNCH_GAP_NS)
    queued[is_queued] = rest[is_queued]
    return queued


def _gaps(rows: Table, window: tuple[int, int]) -> Table:
    """When nothing ran, and when what comes next was launched: nothing launched is never late."""
    start, end = window
    has_begun = bool((rows["t0"] < start).any())
    goes_on = bool((rows["t1"] > end).any())
    begins: Ints = rows["t0"]
    ends: Ints = rows["t1"]
    rows = rows[(ends > start) & (begins < end) & (ends > begins)]
    reach = np.maximum.accumulate(rows["t1"])
    first = np.ones(len(rows), np.bool_)
    first[1:] = rows["t0"][1:] > reach[:-1]
    # of each busy stretch the last row, which is the one before the next stretch begins
    last = np.append(np.flatnonzero(first)[1:], len(rows))[: int(first.sum())] - 1
    gaps = np.zeros(int(first.sum()) + 1, np.dtype(GAP))
    gaps["start"] = np.clip(np.concatenate([[start], reach[last]]), start, end)
    gaps["end"] = np.clip(np.concatenate([rows["t0"][first], [end]]), start, end)
    gaps["launch"] = np.concatenate([rows["launch"][first], [end]])
    if not len(rows):
        return gaps[gaps["end"] > gaps["start"]]  # a device without work has neither first nor last
    gaps["edge"][0] = IN_BETWEEN if has_begun else FIRST
    gaps["edge"][-1] = IN_BETWEEN if goes_on else LAST
    found: Table = gaps[gaps["end"] > gaps["start"]]
    return found


def _waits(rank: Rank, names: Sequence[str]) -> tuple[Times, Times]:
    """When the host waited for its device, begins and ends, disjoint and in order.

    Marked phases, and calls that wait: a profile beside a recording brings the calls, and its
    phases only where the recording has none.
    """
    main = rank.phases["tid"] == rank.main_tid
    marked = rank.phases[main & (rank.phases["kind"] == PhaseKind.DEVICE_WAIT)]
    begins, ends = [marked["t0"]], [marked["t1"]]
    if rank.devices is not None:
        calls = rank.devices.runtime
        used = [n for n in np.unique(calls["name"]).tolist() if 0 <= n < len(names)]
        waiting = np.isin(calls["name"], [n for n in used if _WAITING.search(names[n])])
        begins.append(calls["t0"][waiting])
        ends.append(calls["t1"][waiting])
    return union(np.concatenate(begins), np.concatenate(ends))


def _own_doing(waits: tuple[Times, Times], late: Table, free: Ints) -> dict[IdleCause, int]:
    """The host's own doing, in ns, where no account names something else.

    Without a wait that ended in a gap, the host would have been ahead by the length of that wait:
    so much of the gap is its cost, and what is longer the host did not lose by it.
    """
    begins, ends = waits
    total = np.concatenate([[0], np.cumsum(ends - begins)])
    waited = (
        total[np.searchsorted(ends, late["end"], "right")]
        - total[np.searchsorted(ends, late["start"])]
    )
    unknown = late["launch"] == LAUNCH_UNKNOWN
    within = (late["edge"] == IN_BETWEEN) & ~unknown
    dry = np.where(within, np.minimum(free, np.maximum(waited, 0)), 0)
    rest = free - dry
    short = late["end"] - late["start"] < LAUNCH_GAP_NS
    first, last = late["edge"] == FIRST, late["edge"] == LAST
    return {
        IdleCause.BEFORE_FIRST: int(free[first].sum()),
        IdleCause.AFTER_LAST: int(free[last].sum()),
        IdleCause.UNKNOWN: int(free[unknown & ~first & ~last].sum()),
        IdleCause.SYNCHRONIZATION: int(dry.sum()),
        IdleCause.LAUNCH: int(rest[within & short].sum()),
        IdleCause.HOST: int(rest[within & ~short].sum()),
    }


def idle_by_account(
    timeline: Timeline, busy: tuple[Times, Times], window: tuple[int, int]
) -> Mapping[Account, float]:
    """Seconds in which the device was idle, by what the rank's main location was doing.

    `busy` holds starts and ends of the device's work, disjoint and in order; what of the window is
    beyond the life of the rank is `untraced`.
    """
    edges = np.stack(busy, 1).ravel()
    at_work = np.zeros(max(len(edges) - 1, 0), np.bool_)
    at_work[::2] = True
    work = Cumulative.of(edges, at_work)
    starts = np.clip(timeline.boundaries[:-1], *window)
    ends = np.clip(timeline.boundaries[1:], *window)
    idle = (ends - starts) - work.between(starts, ends)
    ns = np.zeros(len(ACCOUNTS), np.int64)
    np.add.at(ns, timeline.accounts, idle)
    whole = np.array(window, np.int64)
    length_ns = window[1] - window[0]
    rest = length_ns - int(work.between(whole[:1], whole[1:])[0]) - int(ns.sum())
    ns[ACCOUNTS.index(Account.UNTRACED)] += rest
    return {account: int(n) / NS_PER_S for account, n in zip(ACCOUNTS, ns, strict=True) if n}


def launch_delay(rows: Table) -> float | None:
    """Median time from the launch to the start of what was launched, in seconds."""
    known = rows[rows["launch"] != LAUNCH_UNKNOWN]
    return float(np.median(known["t0"] - known["launch"])) / NS_PER_S if len(known) else None
