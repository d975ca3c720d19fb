"""Moves all times of a rank to another clock."""

from collections.abc import Callable
from functools import cache

import numpy as np

from perfscope.arrays import Ints
from perfscope.trace.devices import LAUNCH_UNKNOWN, DeviceActivity
from perfscope.trace.elsewhere import ActivityElsewhere
from perfscope.trace.model import Rank, Table

MOMENTS = (
    *("start_ns", "end_ns"),
    *("init_enter_ns", "init_exit_ns", "finalize_enter_ns", "program_end_ns"),
    "detail_end_ns",
)
Moves = Callable[[Ints], Ints]


def times_of(table: Table) -> tuple[str, ...]:
    """The columns of a table that are times: `t`, or `t0` and `t1`; none of one of sums."""
    return _times_among(table.dtype.names or ())


@cache
def _times_among(names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(name for name in ("t", "t0", "t1") if name in names)


def timed_tables(rank: Rank) -> dict[str, Table]:
    """The tables of a rank whose rows have times, by name."""
    return {
        name: value
        for name, value in vars(rank).items()
        if hasattr(value, "dtype") and times_of(value)
    }


def move(rank: Rank, to: Moves) -> None:
    """Moves all times of a rank; `to` keeps their order."""

    moments = {name: at for name in MOMENTS if (at := getattr(rank, name)) is not None}
    for name, at in zip(moments, to(np.array([*moments.values()], np.int64)).tolist(), strict=True):
        setattr(rank, name, at)
    for table in timed_tables(rank).values():
        for column in times_of(table) if len(table) else ():
            table[column] = to(table[column])
    if rank.devices is not None:
        _move_devices(rank.devices, to)


def _move_devices(devices: DeviceActivity, to: Moves) -> None:
    runtime = devices.runtime
    runtime["t0"], runtime["t1"] = to(runtime["t0"]), to(runtime["t1"])
    if isinstance(devices, ActivityElsewhere) and devices.held is not None:
        devices.change(_moved_rows, to)
    else:
        _move_rows(devices.rows, to)


def _move_rows(rows: Table, to: Moves) -> None:
    known = rows["launch"] != LAUNCH_UNKNOWN
    rows["launch"][known] = to(rows["launch"][known])
    rows["t0"], rows["t1"] = to(rows["t0"]), to(rows["t1"])


def _moved_rows(rows: Table, to: Moves) -> Table:
    """The rows on another clock, and those that are given as they were."""
    moved = rows.copy()
    _move_rows(moved, to)
    return moved
