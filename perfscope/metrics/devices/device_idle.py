"""Why devices were idle: what their host did meanwhile, and how long launches waited."""

from collections.abc import Mapping

import numpy as np

from perfscope.attribution.ledger import ACCOUNTS
from perfscope.attribution.timeline import Timeline
from perfscope.matching.intervals import Cumulative, Times
from perfscope.schema.enums import Account
from perfscope.trace.devices import LAUNCH_UNKNOWN, DeviceActivity
from perfscope.units import NS_PER_S


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


def launch_delays(activity: DeviceActivity) -> float | None:
    """Median time from the launch to the start of what was launched, in seconds."""
    known = activity.rows[activity.rows["launch"] != LAUNCH_UNKNOWN]
    return float(np.median(known["t0"] - known["launch"])) / NS_PER_S if len(known) else None
