"""Exposed communication: time in which a rank had nothing left to do but to wait for Horovod.

Horovod reduces gradients in a thread of its own while the rank still computes others. Only what is
left when the rank's last tensor is ready counts as its communication (docs/metrics.md, overlapped
communication). It becomes an operation of the main location, `Horovod (exposed)`, from the rank's
last readiness to the end of the last reduction; all ranks take part in it. Horovod sees that a
tensor is ready when its next cycle begins: where the rank's stacks show that it waits for Horovod
from the end of its backward pass on, that end is when it was ready. A call by the program that
returns when what it asked for is done (`hvd.allreduce`) is exposed as a whole. So waits, the
ledger, late arrivals and the replay treat it as what it is: a collective that nobody leaves before
the slowest rank was ready.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce

import numpy as np

from perfscope.arrays import Bools, Ints
from perfscope.attribution.stack_rules import is_user_file
from perfscope.judging import MAIN
from perfscope.matching.intervals import NOTHING, Times, disjoint_layer
from perfscope.schema.enums import PhaseKind
from perfscope.structures import dataclass
from perfscope.trace import model
from perfscope.trace.model import Communicator, Rank, Table, Trace
from perfscope.trace.operations import HOROVOD_CONTROL, HOROVOD_EXPOSED, code_of, codes_of, name_of

DATA_CODES = codes_of(
    "MPI_Allreduce", "MPI_Allgatherv", "MPI_Alltoallv", "MPI_Bcast", "MPI_Reduce_scatter"
)
_GATHERV, _BCAST = code_of("MPI_Gatherv"), code_of("MPI_Bcast")


def with_exposed_communication(trace: Trace) -> Trace:
    """The trace with Horovod's exposed communication as operations of the main locations.

    Unchanged where Horovod was not used, or did not tell when tensors were ready.
    """
    already = any(np.any(rank.operations["op"] == HOROVOD_EXPOSED) for rank in trace.ranks)
    if already or not trace.ranks or not all(len(rank.readiness) for rank in trace.ranks):
        return trace
    calls = [data_calls(rank) for rank in trace.ranks]
    shared = _Shared.of(trace.ranks, calls)
    blocking = [_Blocking.of(trace, shared, column) for column in range(len(trace.ranks))]
    units = [_unit_of(rank, shared, column) for column, rank in enumerate(trace.ranks)]
    closing = reduce(np.logical_and, map(_is_closing, units, blocking))
    if not np.any(closing):
        return trace
    members = tuple(rank.number for rank in trace.ranks)
    identity = max(communicator.identity for communicator in trace.communicators) + 1
    communicators = [*trace.communicators, Communicator(identity, members, -1)]
    ranks = []
    for column, rank in enumerate(trace.ranks):
        rows = _rows(rank, shared, column, closing, blocking[column])
        is_blocking = blocking[column].is_any[closing]
        rows["t0"] = np.where(is_blocking, rows["t0"], _without_cycle(trace, rank, rows))
        rows["comm"] = len(communicators) - 1
        ranks.append(_with_operations(rank, rows))
    return replace(trace, ranks=ranks, communicators=communicators)


def unmatched_calls(trace: Trace) -> dict[str, int]:
    """Horovod's calls that not every rank recorded, by name: they are part of no reduction.

    Empty where the ranks did not tell when tensors were ready, as nothing is matched then.
    """
    if not trace.ranks or not all(len(rank.readiness) for rank in trace.ranks):
        return {}
    calls = [data_calls(rank) for rank in trace.ranks]
    keys = [_keys(table) for table in calls]
    common = reduce(np.intersect1d, keys)
    lost = [table["op"][~np.isin(key, common)] for table, key in zip(calls, keys, strict=True)]
    codes, counts = np.unique(np.concatenate(lost), return_counts=True)
    return {
        f"{name_of(code)} (Horovod)": count
        for code, count in zip(codes.tolist(), counts.tolist(), strict=True)
    }


def _keys(table: Table) -> Ints:
    """What calls of one reduction have in common: the communicator and the number in it."""
    keys: Ints = (table["comm"].astype(np.int64) << 40) | table["seq"]
    return keys


def data_calls(rank: Rank) -> Table:
    """Horovod's calls that carry tensors, without those by which the ranks agree what to send."""
    rows = rank.background[rank.background["op"] != HOROVOD_CONTROL]
    control = rank.background["t0"][rank.background["op"] == HOROVOD_CONTROL]
    op = np.concatenate([[0, 0], rows["op"]])
    # the coordinator sends the size of its answer and then the answer
    answer = (op[1:-1] == _GATHERV) | ((op[:-2] == _GATHERV) & (op[1:-1] == _BCAST))
    started = rows["t0"] >= (control[0] if len(control) else 0)
    chosen: Table = rows[
        np.isin(rows["op"], DATA_CODES) & ~(answer & (rows["op"] == _BCAST)) & started
    ]
    return chosen


@dataclass(frozen=True)
class _Shared:
    """Horovod's calls that every rank recorded, in order; columns are (calls, ranks)."""

    enter: Times
    exit: Times
    sent: Ints
    ready: Times  # the rank's last tensor before the call

    @classmethod
    def of(cls, ranks: Sequence[Rank], calls: Sequence[Table]) -> _Shared:
        keys = [_keys(table) for table in calls]
        common = reduce(np.intersect1d, keys)
        columns: dict[str, list[Ints]] = {"t0": [], "t1": [], "sent": []}
        ready = []
        for rank, table, key in zip(ranks, calls, keys, strict=True):
            rows = table[np.isin(key, common)]
            for name, column in columns.items():
                column.append(
                    np.maximum(rows[name], rows["received"])
                    if name == "sent"
                    else rows[name].astype(np.int64)
                )
            ready.append(_last_ready(rank, rows["t0"].astype(np.int64)))
        enter, leave, sent = (np.stack(column, 1).astype(np.int64) for column in columns.values())
        return cls(enter, leave, sent, np.stack(ready, 1))


@dataclass(frozen=True)
class _Blocking:
    """Which of the shared calls a rank's program waits for in one call of its own; shape (calls,).

    All that begins in such a call of Horovod's functions is over when it returns. Where the rank's
    stacks show that it waits for Horovod in most of them, it does from begin to end; else, as where
    functions are compiled in the first of them, from when its tensors are ready.
    """

    is_any: Bools
    is_last: Bools  # of those that the same call of the program waits for
    start: Times  # of the wait
    end: Times

    @classmethod
    def of(cls, trace: Trace, shared: _Shared, column: int) -> _Blocking:
        rank = trace.ranks[column]
        named = [place for place, name in enumerate(trace.names) if name.startswith("hvd.")]
        rows = rank.phases[np.isin(rank.phases["name"], named)]
        rows = rows[(rows["kind"] == PhaseKind.USER) & (rows["tid"] == rank.main_tid)]
        rows = rows[np.argsort(rows["t0"], kind="stable")]
        starts, ends = rows["t0"].astype(np.int64), rows["t1"].astype(np.int64)
        place = disjoint_layer(starts, ends, np.arange(len(rows))).at(shared.enter[:, column])
        inside = place != NOTHING
        last_exit = np.zeros(len(rows), np.int64)
        np.maximum.at(last_exit, place[inside], shared.exit[inside, column])
        blocks = np.append(last_exit <= ends, False)  # the last one is that of calls in none
        is_any = blocks[np.where(inside, place, len(rows))]
        place = np.where(is_any, place, -1)
        waits = is_any & _is_waiting(trace, rank, starts, ends)
        return cls(
            is_any=is_any,
            is_last=is_any & _is_last(place),
            start=np.where(waits, np.append(starts, 0)[place], shared.ready[:, column]),
            end=np.where(waits, np.append(ends, 0)[place], shared.exit[:, column]),
        )


def _last_ready(rank: Rank, moments: Times) -> Times:
    """When the rank's last tensor before each moment became ready; the moment itself without."""
    arrivals = rank.readiness["t0"][rank.readiness["arrived"] > 0].astype(np.int64)
    place = np.searchsorted(arrivals, moments, side="right") - 1
    if not len(arrivals):
        return moments
    return np.where(place >= 0, arrivals[np.maximum(place, 0)], moments)


def _units(rank: Rank) -> tuple[Times, Times]:
    """Stretches of the main location at whose end all reductions begun in them are over.

    Training calls inside a step, as of the models of a GAN, else the step itself.
    """
    steps = rank.steps
    rows = rank.phases[
        (rank.phases["kind"] == PhaseKind.TRAIN) & (rank.phases["tid"] == rank.main_tid)
    ]
    starts, ends = steps["t0"].astype(np.int64), steps["t1"].astype(np.int64)
    if not len(steps):
        return starts, ends
    step = disjoint_layer(starts, ends, np.arange(len(steps)))
    first = step.at(rows["t0"].astype(np.int64))
    # where one step follows the other at once, the end of a call is the begin of the next step
    inside = (first != NOTHING) & (first == step.at(rows["t1"].astype(np.int64) - 1))
    inside &= (rows["t1"] - rows["t0"]) < (ends - starts)[np.maximum(first, 0)]
    rows, first = rows[inside], first[inside]
    whole = np.setdiff1d(np.arange(len(steps)), first)
    starts = np.concatenate([rows["t0"].astype(np.int64), starts[whole]])
    ends = np.concatenate([rows["t1"].astype(np.int64), ends[whole]])
    order = np.argsort(starts, kind="stable")
    return starts[order], ends[order]


def _unit_of(rank: Rank, shared: _Shared, column: int) -> Ints:
    """To which stretch each call belongs; outside of all, calls of one readiness are one."""
    starts, ends = _units(rank)
    layer = disjoint_layer(starts, ends, np.arange(len(starts)))
    unit = layer.at(shared.enter[:, column])
    burst = np.cumsum(np.diff(shared.ready[:, column], prepend=-1) != 0)
    return np.where(unit != NOTHING, unit, len(starts) + burst)


def _is_closing(unit: Ints, blocking: _Blocking) -> Bools:
    """Whether a call is the last one that is waited for at the same time."""
    result = blocking.is_last.copy()
    others = np.flatnonzero(~blocking.is_any)
    result[others] = _is_last(unit[others])
    return result


def _is_last(unit: Ints) -> Bools:
    """Whether a call is followed by one of another unit, or by none."""
    last = np.ones(len(unit), np.bool_)
    last[:-1] = unit[1:] != unit[:-1]
    return last


def _rows(rank: Rank, shared: _Shared, column: int, closing: Bools, blocking: _Blocking) -> Table:
    """The exposed part of each closing call of a rank."""
    ends = blocking.end[closing]
    before = np.concatenate([[rank.start_ns], ends[:-1]])
    starts = np.maximum(np.minimum(blocking.start, shared.enter[:, column])[closing], before)
    ends = np.maximum(starts, ends)
    rows = np.zeros(len(ends), model.OPERATION_DTYPE)
    rows["t0"], rows["t1"], rows["op"], rows["tid"] = starts, ends, HOROVOD_EXPOSED, rank.main_tid
    rows["seq"] = np.arange(len(ends))
    rows["peer"], rows["tag"] = model.PEER_NONE, -1
    group: Ints = np.cumsum(closing) - closing
    kept = group < len(ends)
    sums = np.bincount(group[kept], shared.sent[kept, column], minlength=len(ends))
    rows["sent"] = rows["received"] = sums.astype(np.int64)
    rows["request"] = np.bincount(group[kept], minlength=len(ends))
    return rows


def _without_cycle(trace: Trace, rank: Rank, rows: Table) -> Times:
    """When the rank began to wait: the end of its backward pass, if it waits for Horovod then."""
    ready: Times = rows["t0"].astype(np.int64)
    backward = (rank.phases["kind"] == PhaseKind.BACKWARD) & (rank.phases["tid"] == rank.main_tid)
    ends = np.sort(rank.phases["t1"][backward].astype(np.int64))
    if not len(ends) or not len(rows):
        return ready
    last = ends[np.maximum(np.searchsorted(ends, ready, side="right") - 1, 0)]
    before = np.concatenate([[rank.start_ns], rows["t1"][:-1].astype(np.int64)])
    begins = np.where((last >= before) & (last <= ready), last, ready)
    return begins if _is_waiting(trace, rank, begins, ready) else ready


def _is_waiting(trace: Trace, rank: Rank, starts: Times, ends: Times) -> bool:
    """Whether the rank's stacks show that it mostly waits for Horovod in some stretches."""
    samples = rank.main_stacks
    inside = disjoint_layer(starts, ends, np.arange(len(starts))).at(samples["t"]) != NOTHING
    seen = [_is_in_horovod(trace, int(stack)) for stack in samples["stack"][inside]]
    return sum(seen) > MAIN * len(seen)


def _is_in_horovod(trace: Trace, stack: int) -> bool:
    """Whether what a thread does last is a call of Horovod."""
    frame = trace.frames[trace.stacks[stack][-1]]
    is_of_package = "/horovod/" in frame.file and not is_user_file(frame.file)
    return frame.function.startswith("horovod.") or is_of_package


def _with_operations(rank: Rank, rows: Table) -> Rank:
    operations = np.concatenate([rank.operations, rows])
    operations = operations[np.argsort(operations["t0"], kind="stable")]
    spent = int((rows["t1"] - rows["t0"]).sum())
    totals = {**rank.totals, HOROVOD_EXPOSED: (len(rows), spent, 0, 0)}
    return replace(rank, operations=operations, totals=totals)
