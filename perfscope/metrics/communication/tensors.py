"""Who was last to have each tensor ready, and how long transfers took, from Horovod's timeline.

Fused tensors each carry the whole operation, so that seconds are lengths of unions, never sums.
"""

from itertools import pairwise

import numpy as np

from perfscope.arrays import Floats, Ints
from perfscope.schema.horovod import (
    Negotiations,
    Spread,
    TensorActivity,
    TensorFusions,
    Tensors,
    TensorSkew,
)
from perfscope.trace.model import RowFlag, Trace
from perfscope.trace.tensors import Table, TensorTimeline
from perfscope.units import NS

MOST_TENSORS = 50
NO_TICKS = (
    "no negotiation names the ranks: with Horovod's response cache only the first of each tensor "
    "does (HOROVOD_CACHE_CAPACITY=0 makes all of them)"
)


ONE_RANK = "the negotiations name a single rank, which waits for nobody"


def tensor_times(trace: Trace) -> Tensors | None:
    """What Horovod's timeline tells of a run; None where there is none."""
    timeline = trace.tensors
    if timeline is None:
        return None
    rows = timeline.negotiations
    ended = rows[(rows["flags"] & RowFlag.OPEN) == 0]
    told = ended[ended["ticks"] > 0]
    skew = told["last_tick"] - told["first_tick"]
    ranks = timeline.ranks
    is_start = told["first_tick"] < told["last_tick"].min(initial=np.iinfo(np.int64).max)
    return Tensors(
        ranks=ranks,
        window_s=(timeline.end_ns - timeline.start_ns) * NS,
        negotiations=Negotiations(
            count=len(ended),
            with_ranks=len(told),
            unfinished=len(rows) - len(ended),
            seconds=union_ns(ended["t0"], ended["t1"]) * NS,
            skew_s=int(skew.sum()) * NS,
            skew_s_most=int(skew.max()) * NS if len(told) else None,
        ),
        reason=_reason(told),
        wait_s_by_rank=_waits(timeline),
        last_by_rank=_counts(told["last_rank"], ranks),
        first_by_rank=_counts(told["first_rank"], ranks),
        late_s_by_rank=_lateness(told[~is_start], ranks),
        start_late_s_by_rank=_lateness(told[is_start], ranks),
        activities=_activities(timeline),
        fusions=_fusions(timeline),
        cycles=timeline.cycles,
        tensor_count=sum(1 for name in timeline.tensors if name),
        tensors=_tensors(timeline, ended),
    )


def _reason(told: Table) -> str | None:
    if not len(told):
        return NO_TICKS
    return None if told["ticks"].max() > 1 else ONE_RANK


def _lateness(told: Table, ranks: tuple[int, ...]) -> tuple[float, ...]:
    """Seconds from the first rank's readiness on in negotiations that each rank ended."""
    ended = [told[told["last_rank"] == rank] for rank in ranks]
    return tuple(union_ns(rows["first_tick"], rows["last_tick"]) * NS for rows in ended)


def union_ns(start: Ints, end: Ints) -> int:
    """Length of the union of intervals, exact."""
    if not len(start):
        return 0
    order = np.argsort(start, kind="stable")
    start, end = start[order], end[order]
    reached = np.maximum.accumulate(end)
    begin = np.maximum(start[1:], reached[:-1])
    return int(end[0] - start[0]) + int(np.maximum(end[1:] - begin, 0).sum())


def _waits(timeline: TensorTimeline) -> dict[str, tuple[float, ...]]:
    """By operation and rank, the time from its own readiness to that of the last, as a union."""
    ticks, rows = timeline.ticks, timeline.negotiations
    is_open = (rows["flags"] & RowFlag.OPEN) != 0
    ticks = ticks[~is_open[ticks["negotiation"]]]
    ticks = ticks[np.argsort(ticks["rank"], kind="stable")]
    operations = rows["operation"][ticks["negotiation"]]
    waits = {}
    for operation in np.unique(operations).tolist():
        here = ticks[operations == operation]
        last = rows["last_tick"][here["negotiation"]]
        bounds = np.searchsorted(here["rank"], np.array([*timeline.ranks, 1 << 30])).tolist()
        waits[timeline.names[operation].removeprefix("NEGOTIATE_")] = tuple(
            union_ns(here["t"][begin:end], last[begin:end]) * NS for begin, end in pairwise(bounds)
        )
    return waits


def _counts(column: Ints, ranks: tuple[int, ...]) -> tuple[int, ...]:
    numbers, counts = np.unique(column, return_counts=True)
    known = dict(zip(numbers.tolist(), counts.tolist(), strict=True))
    return tuple(known.get(rank, 0) for rank in ranks)


def _activities(timeline: TensorTimeline) -> tuple[TensorActivity, ...]:
    table = timeline.activities
    table = table[(table["flags"] & RowFlag.OPEN) == 0]
    order = np.argsort(table["name"], kind="stable")
    table = table[order]
    codes, starts = np.unique(table["name"], return_index=True)
    bounds = [*starts.tolist(), len(table)]
    found = []
    for code, begin, end in zip(codes.tolist(), bounds[:-1], bounds[1:], strict=True):
        rows = table[begin:end]
        found.append(
            TensorActivity(
                name=timeline.names[code],
                count=len(rows),
                seconds=union_ns(rows["t0"], rows["t1"]) * NS,
                summed_s=int((rows["t1"] - rows["t0"]).sum()) * NS,
                depth=int(rows["depth"].min()),
            )
        )
    return tuple(sorted(found, key=lambda item: (item.depth, -item.seconds, item.name)))


def _fusions(timeline: TensorTimeline) -> TensorFusions:
    """Operations that overlap in time and have one name are one; its tensors and bytes."""
    table = timeline.activities
    rows = table[(table["parent"] < 0) & ((table["flags"] & RowFlag.OPEN) == 0)]
    rows = rows[np.lexsort((rows["t0"], rows["name"]))]
    if not len(rows):
        return TensorFusions(0, None, None)
    fresh = np.ones(len(rows), np.bool_)
    reached = _reached(rows)
    fresh[1:] = (rows["name"][1:] != rows["name"][:-1]) | (rows["t0"][1:] >= reached[:-1])
    starts = np.flatnonzero(fresh)
    tensors = np.diff(np.append(starts, len(rows)))
    known = np.logical_and.reduceat(rows["bytes"] >= 0, starts)
    sizes = np.add.reduceat(rows["bytes"].astype(np.float64), starts)[known]
    return TensorFusions(len(starts), _spread(tensors), _spread(sizes))


def _reached(rows: Table) -> Ints:
    """The latest end so far among the rows of the same name; rows are sorted by name."""
    reached = np.empty(len(rows), np.int64)
    bounds = [*np.flatnonzero(np.diff(rows["name"])).tolist(), len(rows) - 1]
    begin = 0
    for last in bounds:
        reached[begin : last + 1] = np.maximum.accumulate(rows["t1"][begin : last + 1])
        begin = last + 1
    return reached


def _spread(values: Floats | Ints) -> Spread | None:
    if not len(values):
        return None
    return Spread(int(values.min()), float(np.median(values)), int(values.max()))


def _tensors(timeline: TensorTimeline, ended: Table) -> tuple[TensorSkew, ...]:
    sizes = np.full(len(timeline.tensors), -1, np.int64)
    np.maximum.at(sizes, timeline.activities["tensor"], timeline.activities["bytes"])
    skew = np.where(ended["ticks"] > 0, ended["last_tick"] - ended["first_tick"], 0)
    total = np.bincount(ended["tensor"], skew, minlength=len(sizes))
    counts = np.bincount(ended["tensor"], minlength=len(sizes))
    shown = np.lexsort((np.arange(len(sizes)), -counts, -total))[:MOST_TENSORS]
    return tuple(
        _tensor(timeline.tensors[place], ended[ended["tensor"] == place], int(sizes[place]))
        for place in shown.tolist()
        if counts[place]
    )


def _tensor(name: str, rows: Table, size: int) -> TensorSkew:
    told = rows[rows["ticks"] > 0]
    skew = told["last_tick"] - told["first_tick"]
    numbers, place = np.unique(told["last_rank"], return_inverse=True)
    weights = np.bincount(place, skew if skew.any() else None, minlength=len(numbers))
    most = int(weights.argmax()) if len(told) else None
    return TensorSkew(
        name=name,
        negotiations=len(rows),
        bytes=size if size >= 0 else None,
        skew_s=int(skew.sum()) * NS,
        last_rank=None if most is None else int(numbers[most]),
        last_share=None if most is None else float(weights[most] / weights.sum()),
    )
