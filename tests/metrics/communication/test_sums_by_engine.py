"""What waits add up to in the engine, against numpy and plain loops over every call."""

from collections import Counter
from typing import Any

import numpy as np
from hypothesis import given, settings

from perfscope.attribution.ledger import INDEX
from perfscope.attribution.preparation import Prepared, prepare
from perfscope.engine import engine
from perfscope.matching.codes import CODES, TO_ALL_CODES, TO_ROOT_CODES
from perfscope.matching.intervals import Cumulative
from perfscope.matching.waits import Waits
from perfscope.metrics.communication import late_arrivals, operations
from perfscope.metrics.communication.alike_messages import SENDING
from perfscope.metrics.communication.operations import KINDS
from perfscope.schema.enums import Account, WaitKind
from perfscope.trace.model import PEER_PROC_NULL, RowFlag, Trace
from perfscope.trace.operations import MAX_OPERATIONS, OperationClass, codes_mask
from perfscope.units import NS
from tests.support.random_traces import traces

Kind = tuple[int, int]
SENDS = codes_mask(SENDING)
COMPLETES = codes_mask([OperationClass.WAIT, OperationClass.TEST])


def kind_of(prepared: Prepared, row: int) -> WaitKind:
    waits, pool = prepared.waits, prepared.waits.pool
    cause = int(waits.cause[row])
    op = int(pool.op[cause] if cause >= 0 and COMPLETES[pool.op[row]] else pool.op[row])
    if waits.for_receiver[row]:
        return WaitKind.LATE_RECEIVER
    if cause >= 0 and TO_ROOT_CODES[op] and pool.peer[cause] == pool.rank[row]:
        return WaitKind.EARLY_REDUCE
    if cause >= 0 and TO_ALL_CODES[op] and pool.peer[cause] == pool.rank[cause]:
        return WaitKind.LATE_BROADCAST
    return KINDS[int(operations._BY_CODE[op])]


def waits_by_loop(prepared: Prepared) -> Counter[tuple[WaitKind, int | None]]:
    waits, pool, found = prepared.waits, prepared.waits.pool, Counter[Any]()
    for place, rank in enumerate(prepared.trace.ranks):
        timeline = prepared.timelines[place]
        waiting = timeline.accounts == INDEX[Account.COMMUNICATION_WAIT]
        inside = Cumulative.of(timeline.boundaries, timeline.inside(prepared.focus) & waiting)
        rows = [
            row
            for row in range(*waits.of_rank(place).indices(len(pool)))
            if pool.tid[row] == rank.main_tid and waits.known[row]
        ]
        reach = -(1 << 62)
        for row in sorted(rows, key=lambda row: int(pool.enter[row])):
            if waits.need[row] <= pool.enter[row]:
                continue
            enter = max(int(pool.enter[row]), reach)
            end = max(enter, int(waits.need[row]))
            ns = int(inside.between(np.array([enter]), np.array([end]))[0])
            reach = max(reach, int(waits.need[row]))
            cause = int(waits.cause[row])
            number = prepared.trace.ranks[int(pool.rank[cause])].number if cause >= 0 else None
            found[kind_of(prepared, row), number] += ns
    return +found


@given(traces())
@settings(max_examples=30, deadline=None)
def test_waits_by_kind_and_cause(trace: Trace) -> None:
    prepared = prepare(trace)
    states = operations.wait_states(
        prepared.trace, prepared.waits, prepared.timelines, prepared.focus
    )
    found = {(state.kind, one.rank): one.seconds for state in states for one in state.by_rank}
    assert found == {key: NS * float(ns) for key, ns in waits_by_loop(prepared).items()}


@given(traces())
@settings(max_examples=30, deadline=None)
def test_sums_by_operation(trace: Trace) -> None:
    waits = prepare(trace).waits
    pool = waits.pool
    found = engine.operation_sums(waits, CODES, MAX_OPERATIONS).reshape(MAX_OPERATIONS, -1)
    for code in range(MAX_OPERATIONS):
        rows = np.flatnonzero(pool.op == code)
        split = rows[waits.known[rows]]
        several = rows[(pool.flags[rows] & RowFlag.COALESCED) > 0]
        joined = np.intersect1d(split, several)
        single = np.setdiff1d(rows, several)
        assert found[code].tolist() == [
            len(rows),
            len(split),
            int((waits.need[split] - pool.enter[split]).sum()),
            int((pool.exit[split] - waits.need[split]).sum()),
            len(several),
            int(pool.request[several].sum()),
            int((waits.need[joined] - pool.enter[joined]).sum()),
            int((pool.exit[joined] - waits.need[joined]).sum()),
            int((pool.exit[single] - pool.enter[single]).sum()),
        ]


def kinds_by_loop(waits: Waits) -> tuple[dict[int, Kind], dict[int, Kind]]:
    """What kind of messages each call sends, and what kind it moves: operation and bits of size."""
    pool, sends, moves = waits.pool, dict[int, Kind](), dict[int, Kind]()
    for row in np.flatnonzero(SENDS[pool.op]).tolist():
        if pool.sent[row] > 0 and pool.peer_number[row] != PEER_PROC_NULL:
            sends[row] = int(pool.op[row]), int(pool.sent[row]).bit_length()
    for row, send in enumerate(waits.messages.send_of.tolist()):
        if row in sends or send in sends:
            moves[row] = sends.get(row, sends.get(send, (0, 0)))
    completed: dict[int, list[Kind]] = {}
    for started, finished in zip(*(column.tolist() for column in waits.requests), strict=True):
        if started in moves and finished >= 0:
            completed.setdefault(finished, []).append(moves[started])
    for row, kinds in completed.items():
        moves[row] = max(reversed(kinds), key=lambda kind: kind[1])
    return sends, moves


@given(traces())
@settings(max_examples=60, deadline=None)
def test_which_messages_take_most(trace: Trace) -> None:
    waits = prepare(trace).waits
    pool, (sends, moves) = waits.pool, kinds_by_loop(waits)
    moved = np.maximum(pool.exit - np.maximum(waits.need, pool.enter), 0) * waits.known
    spent = Counter(dict.fromkeys(sends.values(), 0))
    for row, kind in moves.items():
        spent[kind] += int(moved[row])
    found = engine.alike_messages(
        waits, CODES, waits.messages.send_of, *waits.requests, tells_calls=True
    )
    if not spent:
        assert found[1] == 0
        return
    most = min(spent, key=lambda kind: (-spent[kind], kind))
    alike = [row for row, kind in sends.items() if kind == most]
    assert found[:4] == (
        most[0],
        len(alike),
        int((SENDS[pool.op] & (pool.op == most[0])).sum()),
        int(pool.sent[alike].sum()),
    )
    moving = [row for row in sorted(moves) if moves[row] == most and moved[row] > 0]
    assert found[4].tolist() == moving
    untold = engine.alike_messages(
        waits, CODES, waits.messages.send_of, *waits.requests, tells_calls=False
    )
    assert untold[:4] == found[:4]
    assert not len(untold[4])


@given(traces())
@settings(max_examples=30, deadline=None)
def test_who_came_late_to_collectives(trace: Trace) -> None:
    prepared = prepare(trace)
    pool, instances, focus = prepared.waits.pool, prepared.waits.instances, prepared.focus
    main = late_arrivals._main_tids(prepared)
    waiting, stall, cause = engine.late_at_collectives(
        pool, CODES, instances, main, focus.start_ns, focus.end_ns
    )
    for number, (first, behind) in enumerate(
        zip(instances.starts[:-1].tolist(), instances.starts[1:].tolist(), strict=True)
    ):
        rows = instances.members[first:behind]
        left = np.clip(instances.need[first:behind], pool.enter[rows], pool.exit[rows])
        ends, begins = (
            np.clip(times, focus.start_ns, focus.end_ns) for times in (left, pool.enter[rows])
        )
        wait = np.where(pool.tid[rows] == main[pool.rank[rows]], np.maximum(ends - begins, 0), 0)
        assert (waiting[number], stall[number]) == (wait.sum(), wait.max())
        assert cause[number] == instances.cause[first + int(np.argmax(wait))]


@given(traces())
@settings(max_examples=30, deadline=None)
def test_when_ranks_last_left_a_collective(trace: Trace) -> None:
    prepared = prepare(trace)
    pool, members = prepared.waits.pool, np.sort(prepared.waits.instances.members)
    main, chance = late_arrivals._main_tids(prepared), np.random.default_rng(len(pool))
    began = np.arange(len(main)) - 1000
    ranks = chance.integers(0, len(main), 50)
    moments = chance.integers(0, max(int(pool.exit.max(initial=1)), 1) + 1, 50)
    found = engine.last_exits(pool, CODES, members, main, began, ranks, moments)
    for rank, moment, left in zip(ranks.tolist(), moments.tolist(), found.tolist(), strict=True):
        own = members[(pool.rank[members] == rank) & (pool.tid[members] == main[rank])]
        before = own[pool.enter[own] < moment]
        assert left == (pool.exit[before[-1]] if len(before) else began[rank])
