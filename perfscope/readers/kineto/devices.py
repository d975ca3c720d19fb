"""Device rows of Kineto files in the numbering of the whole trace: names, groups, sequence."""

from collections.abc import Mapping, Sequence
from operator import itemgetter
from typing import Any

import numpy as np

from perfscope.arrays import Ints, ordinals
from perfscope.readers.kineto.file import KinetoContents
from perfscope.readers.kineto.groups import Groups
from perfscope.readers.kineto.host import HostTables, step_at
from perfscope.trace.devices import (
    LAUNCH_UNKNOWN,
    RUNTIME_DTYPE,
    DeviceActivity,
    DeviceInfo,
    DeviceKind,
)
from perfscope.trace.elsewhere import ActivityElsewhere, Brief, Held
from perfscope.trace.model import Table
from perfscope.units import NS, format_seconds

Numbers = np.ndarray[Any, Any]
MOST_DEVICES = 1024
EARLY_SHARE = 0.01
"""So few events may begin before their launch: the clocks are read at different moments."""
PER_STEP = 1 << 20
"""More collectives of one group in a step than there are."""


def device_activity(
    contents: KinetoContents, host: HostTables, numbers: Numbers, groups: Groups
) -> DeviceActivity | None:
    """The devices of one rank; None where neither a device nor its runtime was recorded.

    `numbers` has the trace's number of each name of the file; the steps of the host number the
    collectives. Rows that another process holds are numbered there: what comes of it is
    taken by `settle`.
    """
    if not contents.device_count and not len(host.runtime):
        return None
    runtime = np.zeros(len(host.runtime), RUNTIME_DTYPE)
    for column in ("t0", "t1"):
        runtime[column] = host.runtime[column]
    runtime["name"] = numbers[host.runtime["name"]] if len(runtime) else 0
    told, of_file = contents.elsewhere, list(groups.of_file)
    if told is not None and told.place is not None:
        [made] = told.place.start(
            _numbered_elsewhere, [told.handle], [host.steps], [numbers], [of_file]
        )
        [rows] = told.place.start(itemgetter(0), [made])
        brief = told.place.start(itemgetter(1), [made])[0]
        return ActivityElsewhere(
            Held(told.place, rows), brief, devices=_infos(contents), runtime=runtime
        )
    shift = _numbered(contents.device, host.steps, numbers, of_file)
    activity = DeviceActivity(rows=contents.device, devices=_infos(contents), runtime=runtime)
    return _settled(activity, shift)


def settle(activities: Sequence[DeviceActivity | None]) -> None:
    """Takes what other processes have found out on the rows that they hold, of all at once."""
    waiting = [one for one in activities if isinstance(one, ActivityElsewhere) and one.held]
    if not waiting or waiting[0].held is None:
        return
    found = waiting[0].held.place.take([one.brief for one in waiting])
    for activity, (brief, shift) in zip(waiting, found, strict=True):
        activity.brief = brief
        _settled(activity, shift)


def _settled(activity: DeviceActivity, shift: tuple[str, int]) -> DeviceActivity:
    """With how far the clocks are apart, and those devices alone that did anything."""
    activity.clock_reason, activity.clock_shift_ns = shift
    used = set(activity.seen)
    activity.devices = [device for device in activity.devices if device.number in used]
    return activity


def _numbered(
    rows: Table, steps: Table, numbers: Numbers, of_file: Sequence[int]
) -> tuple[str, int]:
    """Gives rows the names, groups and ordinals of the trace; how far the clocks are apart."""
    clock_reason, clock_shift_ns = _clock_shift(rows)
    if clock_reason:
        rows["launch"] = LAUNCH_UNKNOWN
    if len(rows):
        _group(rows, of_file)
        _number(rows, steps)
        rows["name"] = numbers[rows["name"]]
        rows["op"] = np.where(rows["op"] >= 0, numbers[np.maximum(rows["op"], 0)], -1)
    return clock_reason, clock_shift_ns


def _numbered_elsewhere(
    rows: Table, steps: Table, numbers: Numbers, of_file: Sequence[int]
) -> tuple[Table, tuple[Brief, tuple[str, int]]]:
    """The same of a copy, and what is to be known of it where it is not."""
    rows = rows.copy()
    shift = _numbered(rows, steps, numbers, of_file)
    told = DeviceActivity(rows=rows)
    return rows, (Brief(told.count, told.seen, told.without_launch), shift)


def _clock_shift(rows: Table) -> tuple[str, int]:
    """Why the clocks of device and host disagree: what runs was launched before it began.

    And by how many ns at least.
    """
    rows = rows[rows["launch"] != LAUNCH_UNKNOWN]
    ahead = rows["launch"] - rows["t0"]
    early = int(np.count_nonzero(ahead > 0))
    if early <= EARLY_SHARE * len(rows):
        return "", 0
    shift_ns = int(ahead.max())
    reason = (
        f"{early:,} of {len(rows):,} device events begin up to {format_seconds(shift_ns * NS)} "
        "before the call that launched them: the clocks of device and host disagree"
    )
    return reason, shift_ns


def _infos(contents: KinetoContents) -> list[DeviceInfo]:
    found = []
    properties = contents.members.get("deviceProperties")
    for device in properties[:MOST_DEVICES] if isinstance(properties, list) else ():
        if isinstance(device, Mapping) and type(device.get("id")) is int:
            memory = device.get("totalGlobalMem")
            major, minor = device.get("computeMajor"), device.get("computeMinor")
            found.append(
                DeviceInfo(
                    device["id"],
                    str(device.get("name", ""))[:200],
                    memory if type(memory) is int and memory > 0 else 0,
                    (major, minor) if type(major) is int and type(minor) is int else None,
                )
            )
    return found


def _group(rows: Table, groups: Sequence[int]) -> None:
    """Process groups of the file become communicators of the trace."""
    chosen = np.flatnonzero(rows["kind"] == DeviceKind.COMMUNICATION)
    of_file = np.array([*groups, -1], np.int64)
    rows["comm"][chosen] = of_file[rows["comm"][chosen]]


def _number(rows: Table, steps: Table) -> None:
    """Ordinals of collectives where NCCL gave none: by step, and in a step by start.

    So calls are matched also where the ranks' profiles do not begin with the same call.
    """
    chosen = np.flatnonzero((rows["kind"] == DeviceKind.COMMUNICATION) & (rows["comm"] >= 0))
    if np.all(rows["seq"][chosen] >= 0):
        return
    launch = rows["launch"][chosen]
    moment = np.where(launch == LAUNCH_UNKNOWN, rows["t0"][chosen], launch)
    rows["seq"][chosen] = in_steps(rows["comm"][chosen], step_at(steps, moment))


def in_steps(groups: Ints, steps: Ints) -> Ints:
    """Numbers rows that are in order of time: those of one group and step follow each other."""
    known = np.minimum(np.maximum(steps + 1, 0), 1 << 40)
    return known * PER_STEP + np.minimum(ordinals(groups, steps), PER_STEP - 1)
