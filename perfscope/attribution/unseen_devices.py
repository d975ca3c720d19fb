"""Devices that communicated with others of which the files may not tell."""

import numpy as np

from perfscope.attribution.focus import Focus
from perfscope.trace.damage import SPOILS_COMPARISON, UNKNOWN_SIZE, Damage
from perfscope.trace.devices import DeviceKind
from perfscope.trace.elsewhere import ask
from perfscope.trace.model import Table, Trace

NOT_GIVEN = "The devices in the files communicated with others, which are not in them."
NOT_TOLD = "The devices communicated, and no file tells how many ranks the job had."


def unseen_devices(trace: Trace, focus: Focus) -> Damage | None:
    """That devices communicated with others that may be missing; None where none can be.

    Where the number of ranks is known, missing ones are known. Where it is not, or nobody asked
    for it, devices are all that there are only as far as each collective tells its members.
    """
    is_told = trace.environment.get("is_size_told")
    is_several = is_told is not False and trace.world_size > 1
    if is_several or any(one.id == UNKNOWN_SIZE for one in trace.damage):
        return None
    activities = [rank.devices for rank in trace.ranks if rank.devices is not None]
    windows = [(focus.start_ns, focus.end_ns)] * len(activities)
    groups = [found for found in ask(_groups, activities, windows) if found is not None]
    if not groups:
        return None
    count = sum(len(one.numbers) for one in activities)
    largest = max(members for members, _ in groups)
    if largest > count or (not largest and count == 1 and not is_told):
        return Damage(UNKNOWN_SIZE, NOT_GIVEN, SPOILS_COMPARISON)
    if is_told is not False or all(is_each for _, is_each in groups):
        return None
    return Damage(UNKNOWN_SIZE, NOT_TOLD, SPOILS_COMPARISON)


def _groups(rows: Table, window: tuple[int, int]) -> tuple[int, bool] | None:
    """How many members the largest collective is told to have had, 0 unknown; whether each tells.

    None where none ran in the time that is looked at.
    """
    chosen = rows["kind"] == DeviceKind.COMMUNICATION
    chosen &= (rows["t0"] < window[1]) & (rows["t1"] > window[0])
    members = rows["members"][chosen]
    return (int(members.max()), bool(np.all(members > 0))) if len(members) else None
