"""Why nothing ran on a device: each gap by what its next work waited for."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum

import numpy as np
import numpy.typing as npt

from perfscope.metrics.intervals import Cumulative, Times
from perfscope.metrics.ledger import ACCOUNTS, Account
from perfscope.metrics.timeline import Timeline
from perfscope.trace.devices import LAUNCH_UNKNOWN
from perfscope.trace.model import PhaseKind, Rank, Table

KERNEL_WAIT_NS = 30_000
"""A gap below this before what was launched in time is the cost of starting it.

HolisticTraceAnalysis documents 30 ns, and compares 30 with microseconds (0.5.0,
breakdown_analysis.py): its figures come from 30 us.
"""
LAUNCH_GAP_NS = 100_000
"""A framework spends 5 to 50 us on the host for each kernel: a gap below twice that is launching;
in a longer one the host did something else."""
NS_PER_S = 1e9


class IdleCause(Enum):
    """What a device without work waited for, in the order of the report; value = id in the JSON."""

    INPUT = "input"  # the host waited for its next batch
    RANKS = "ranks"  # the host waited for other ranks
    COMMUNICATION = "communication"  # the host moved data between ranks
    EVALUATION = "evaluation"
    CHECKPOINT = "checkpoint"
    FILES = "files"
    SYNCHRONISATION = "synchronisation"  # the host had let the device run dry by waiting for it
    LAUNCH = "launch"  # the host launched one short kernel after another
    HOST = "host"  # the host did something else
    KERNEL = "kernel"  # launched in time, begun at once: the cost of starting a kernel
    DEVICE = "device"  # launched in time: another stream, an event or the device itself
    UNKNOWN = "unknown"  # the launch is not in the trace


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
    rank: Rank, timeline: Timeline, rows: Table, window: tuple[int, int]
) -> Mapping[IdleCause, float]:
    """Seconds in which a device ran nothing, by cause; they add up to its idle time exactly.

    Args:
        rank: that launches on the device.
        timeline: of its main location.
        rows: what the device did, sorted by t0.
        window: only what lies in it counts.
    """
    gap = _gaps(rows, window)
    length = gap["end"] - gap["start"]
    in_time = (gap["launch"] != LAUNCH_UNKNOWN) & (gap["launch"] < gap["start"])
    starting = in_time & (length < KERNEL_WAIT_NS)
    totals = dict.fromkeys(IdleCause, 0)
    totals[IdleCause.KERNEL] = int(length[starting].sum())
    totals[IdleCause.DEVICE] = int(length[in_time & ~starting].sum())
    late = gap[~in_time]
    free = late["end"] - late["start"]
    for account, cause in _OF_ACCOUNT.items():
        inside = Cumulative.of(
            timeline.boundaries, timeline.accounts == ACCOUNTS.index(account)
        ).between(late["start"], late["end"])
        totals[cause] += int(inside.sum())
        free = free - inside
    for cause, chosen in _own_doing(rank, late).items():
        totals[cause] += int(free[chosen].sum())
    return {cause: ns / NS_PER_S for cause, ns in totals.items() if ns}


def _gaps(rows: Table, window: tuple[int, int]) -> Table:
    """When nothing ran, and when what comes next was launched: nothing launched is never late."""
    start, end = window
    rows = rows[(rows["t1"] > start) & (rows["t0"] < end) & (rows["t1"] > rows["t0"])]
    reach = np.maximum.accumulate(rows["t1"])
    first = np.ones(len(rows), np.bool_)
    first[1:] = rows["t0"][1:] > reach[:-1]
    # of each busy stretch the last row, which is the one before the next stretch begins
    last = np.append(np.flatnonzero(first)[1:], len(rows))[: int(first.sum())] - 1
    gaps = np.zeros(
        int(first.sum()) + 1, np.dtype([("start", "i8"), ("end", "i8"), ("launch", "i8")])
    )
    gaps["start"] = np.clip(np.concatenate([[start], reach[last]]), start, end)
    gaps["end"] = np.clip(np.concatenate([rows["t0"][first], [end]]), start, end)
    gaps["launch"] = np.concatenate([rows["launch"][first], [end]])
    found: Table = gaps[gaps["end"] > gaps["start"]]
    return found


def _own_doing(rank: Rank, late: Table) -> dict[IdleCause, npt.NDArray[np.bool_]]:
    """Which gaps are the host's own doing in which way, where no account names something else."""
    waits = rank.phases[
        (rank.phases["kind"] == PhaseKind.DEVICE_WAIT) & (rank.phases["tid"] == rank.main_tid)
    ]
    ends: Times = np.sort(waits["t1"])
    ended = np.searchsorted(ends, late["end"], "right") - np.searchsorted(ends, late["start"])
    unknown = late["launch"] == LAUNCH_UNKNOWN
    dry = ~unknown & (ended > 0)
    short = ~unknown & ~dry & (late["end"] - late["start"] < LAUNCH_GAP_NS)
    return {
        IdleCause.UNKNOWN: unknown,
        IdleCause.SYNCHRONISATION: dry,
        IdleCause.LAUNCH: short,
        IdleCause.HOST: ~unknown & ~dry & ~short,
    }
