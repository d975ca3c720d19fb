"""Horovod's own location: what its thread did, and what of it the ranks had to wait for."""

from collections.abc import Sequence
from dataclasses import field

import numpy as np

from perfscope.arrays import Floats, Ints
from perfscope.attribution.exposed import data_calls
from perfscope.attribution.focus import Focus
from perfscope.attribution.preparation import Prepared
from perfscope.matching.intervals import NOTHING, Times, disjoint_layer, union
from perfscope.schema.horovod import FusionBytes, HorovodLocation
from perfscope.structures import dataclass
from perfscope.trace.model import Rank, Table
from perfscope.trace.operations import HOROVOD_CONTROL, HOROVOD_EXPOSED, code_of, name_of

MAX_STEPS = 2000
ALLREDUCE = code_of("MPI_Allreduce")
NO_BITS = (
    "Horovod told on no rank when tensors were ready: it exchanges readiness bits only with its "
    "response cache on (HOROVOD_CACHE_CAPACITY above 0) and MPI as its controller"
)
NOT_ON_ALL = "not every rank recorded when its tensors were ready"
NO_SHARED = "the ranks share no reduction that ends a step"


@dataclass(frozen=True)
class Exposed:
    """Communication that nothing hid, split at the moment the slowest rank was ready."""

    reason: str | None  # why it is not known, else None
    # seconds by rank over the focus until the slowest rank was ready
    wait_s: tuple[float, ...] = ()
    transfer_s: tuple[float, ...] = ()  # the rest, by rank
    # of the transfer, in calls that carry tensors; the rest goes into agreeing on what is ready,
    # the sleep between two cycles, and copying
    data_s: tuple[float, ...] = ()
    steps: tuple[int, ...] = ()  # numbers of the steps, at most `MAX_STEPS`
    # seconds by step and rank, NaN where a rank does not have the step
    step_wait_s: Floats | None = field(default=None, compare=False)
    # the rest, by step and rank
    step_transfer_s: Floats | None = field(default=None, compare=False)


@dataclass(frozen=True)
class HorovodResult:
    """Everything about Horovod that the report shows."""

    locations: tuple[HorovodLocation, ...]
    exposed: Exposed


def horovod(prepared: Prepared) -> HorovodResult | None:
    """Horovod's locations over the focus of analysis; None where it did not communicate."""
    ranks = [rank for rank in prepared.trace.ranks if len(rank.background)]
    if not ranks:
        return None
    locations = tuple(_location(rank, prepared.focus) for rank in ranks)
    return HorovodResult(locations, _exposed(prepared))


def _location(rank: Rank, focus: Focus) -> HorovodLocation:
    rows = rank.background
    control = rows[rows["op"] == HOROVOD_CONTROL]
    data = data_calls(rank)
    control_s = _control_ns(control, focus) / 1e9
    data_s = _inside_ns(data, focus) / 1e9
    calls_s = _inside_ns(rows[rows["op"] != HOROVOD_CONTROL], focus) / 1e9
    here = data[(data["t0"] >= focus.start_ns) & (data["t0"] < focus.end_ns)]
    codes, counts = np.unique(here["op"], return_counts=True)
    named = {name_of(int(c)): int(n) for c, n in zip(codes, counts, strict=True)}
    return HorovodLocation(
        rank=rank.number,
        thread=int(rows["tid"][0]),
        data_s=data_s,
        control_s=control_s,
        other_s=max(0.0, calls_s - data_s),
        idle_s=max(0.0, focus.length_ns / 1e9 - calls_s - control_s),
        control_cycles=int(_share_inside(control, focus) @ control["request"]),
        data_calls=named,
        data_bytes=int(here["sent"].sum()),
        fusion_bytes=_fusion_bytes(here["sent"][here["op"] == ALLREDUCE]),
    )


def _fusion_bytes(sizes: Ints) -> FusionBytes:
    if not len(sizes):
        return FusionBytes(0, None, None, None)
    return FusionBytes(len(sizes), int(sizes.min()), float(np.median(sizes)), int(sizes.max()))


def _inside_ns(rows: Table, focus: Focus) -> int:
    start, end = union(rows["t0"].astype(np.int64), rows["t1"].astype(np.int64))
    lengths = np.minimum(end, focus.end_ns) - np.maximum(start, focus.start_ns)
    return int(np.maximum(lengths, 0).sum())


def _share_inside(rows: Table, focus: Focus) -> Floats:
    """Which share of each record of joined cycles lies in the focus."""
    begins: Ints = rows["t0"]
    ends: Ints = rows["t1"]
    length = np.maximum(ends - begins, 1)
    inside = np.minimum(ends, focus.end_ns) - np.maximum(begins, focus.start_ns)
    share: Floats = np.clip(inside / length, 0.0, 1.0)
    return share


def _control_ns(rows: Table, focus: Focus) -> float:
    """Time in control calls: a record of joined cycles tells how much of its time it was."""
    spent = np.minimum(rows["received"], rows["t1"] - rows["t0"])
    return float(_share_inside(rows, focus) @ spent)


def _exposed(prepared: Prepared) -> Exposed:
    ranks = prepared.trace.ranks
    told = [len(rank.readiness) > 0 for rank in ranks]
    if not all(told):
        return Exposed(NOT_ON_ALL if any(told) else NO_BITS)
    pool, waits, focus = prepared.waits.pool, prepared.waits, prepared.focus
    chosen = np.flatnonzero((pool.op == HOROVOD_EXPOSED) & waits.known)
    if not len(chosen):
        return Exposed(NO_SHARED)
    enter, need, leave = (
        np.clip(times[chosen], focus.start_ns, focus.end_ns)
        for times in (pool.enter, waits.need, pool.exit)
    )
    wait, transfer = (need - enter) / 1e9, (leave - need) / 1e9
    column = pool.rank[chosen].astype(np.int64)
    numbers, row = _steps_of(ranks, pool.enter[chosen], column)
    thin = slice(None, None, max(1, -(-len(numbers) // MAX_STEPS)))
    shape = len(numbers), len(ranks)
    return Exposed(
        reason=None,
        wait_s=tuple(np.bincount(column, wait, minlength=len(ranks)).tolist()),
        transfer_s=tuple(np.bincount(column, transfer, minlength=len(ranks)).tolist()),
        data_s=_data_s(ranks, column, need, leave),
        steps=tuple(numbers[thin].tolist()),
        step_wait_s=_table(row, column, wait, shape)[thin],
        step_transfer_s=_table(row, column, transfer, shape)[thin],
    )


def _data_s(ranks: Sequence[Rank], column: Times, need: Times, leave: Times) -> tuple[float, ...]:
    """Seconds of the exposed transfer in which tensors were carried, by rank."""
    found = []
    for place, rank in enumerate(ranks):
        rows, here = data_calls(rank), column == place
        start, end = union(rows["t0"].astype(np.int64), rows["t1"].astype(np.int64))
        spent = _covered(start, end, leave[here]) - _covered(start, end, need[here])
        found.append(float(spent.sum()) / 1e9)
    return tuple(found)


def _covered(start: Times, end: Times, moments: Times) -> Times:
    """Nanoseconds of disjoint stretches before each moment."""
    if not len(start):
        return np.zeros(len(moments), np.int64)
    index = np.searchsorted(start, moments, side="right")
    whole = np.concatenate([[0], np.cumsum(end - start)])[index]
    beyond = np.maximum(end[np.maximum(index - 1, 0)] - moments, 0)
    result: Times = whole - np.where(index > 0, beyond, 0)
    return result


def _steps_of(ranks: Sequence[Rank], moments: Times, column: Times) -> tuple[Ints, Ints]:
    """The numbers of all steps, and the index of the step of each moment on its rank, -1 none."""
    numbers = np.unique(np.concatenate([rank.steps["number"] for rank in ranks]))
    row = np.full(len(moments), NOTHING, np.int64)
    for place, rank in enumerate(ranks):
        table = rank.steps
        starts, ends = table["t0"].astype(np.int64), table["t1"].astype(np.int64)
        index = np.searchsorted(numbers, table["number"])
        here = column == place
        row[here] = disjoint_layer(starts, ends, index.astype(np.int64)).at(moments[here])
    return numbers.astype(np.int64), row


def _table(row: Times, column: Times, seconds: Floats, shape: tuple[int, int]) -> Floats:
    """Seconds by step and rank, NaN where there is nothing."""
    inside = row != NOTHING
    place = row[inside] * shape[1] + column[inside]
    sums = np.bincount(place, seconds[inside], minlength=shape[0] * shape[1])
    seen = np.bincount(place, minlength=len(sums)) > 0
    return np.where(seen, sums, np.nan).reshape(shape)
