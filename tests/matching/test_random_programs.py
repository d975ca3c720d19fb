"""What the engine matches in random programs, against the plainest possible oracle."""

import copy
from dataclasses import replace
from typing import cast

import numpy as np
import pytest

from perfscope.engine import engine
from perfscope.matching.codes import CODES, CallTrait
from perfscope.matching.collectives import match_collectives
from perfscope.matching.messages import match_messages
from perfscope.matching.waits import Waits, completed_requests, split_operations
from perfscope.metrics.forgetting import hold_narrower
from perfscope.trace.columns import Columns
from perfscope.trace.model import OPERATION_DTYPE, Table, Trace
from perfscope.trace.operations import OPERATIONS
from tests.support.plain_matching import PlainMatching
from tests.support.trace_builder import TraceBuilder

MATCHED = CallTrait.COLLECTIVE | CallTrait(sum(list(CallTrait)[:9]))
SENDING = CallTrait.SEND | CallTrait.ISEND | CallTrait.WAIT
TAKING = CallTrait.RECV | CallTrait.IRECV | CallTrait.PROBE | CallTrait.WAIT
KNOWN = [one.code for one in OPERATIONS if CODES[0][one.code] & MATCHED]


def codes_of(traits: CallTrait) -> list[int]:
    return [code for code in KNOWN if CODES[0][code] & traits]


def program(chance: np.random.Generator, main_tids: list[int], comms: int) -> list[Table]:
    """Calls of ranks that mostly do the same at nearly the same time; some differ."""
    ranks, count = len(main_tids), int(chance.integers(1, 40))
    root, is_same, are_pairs = (
        chance.integers(0, ranks),
        chance.random() < 0.7,
        chance.random() < 0.4,
    )
    base = chance.choice(KNOWN, count)
    long = int(chance.choice([10, 450_000]))  # large sends have gone, or wait for who is late
    ends = [codes_of(SENDING), codes_of(TAKING)]
    tables = []
    for rank, tid in enumerate(main_tids):
        table = np.zeros(count, OPERATION_DTYPE)
        own = chance.choice(ends[rank % 2] if are_pairs else KNOWN, count)
        table["op"] = base if is_same and not are_pairs else own
        table["t0"] = np.arange(count) * 500_000 + chance.choice([0, 10, 200_000, 400_000], count)
        table["t1"] = table["t0"] + chance.choice([0, 10, 90_000, 400_000], count)
        table["tid"] = np.where(chance.random(count) < 0.9, tid, tid + 1)
        table["flags"] = chance.random(count) < 0.1
        table["comm"] = chance.integers(0, comms, count) if chance.random() < 0.3 else 0
        table["seq"] = np.where(chance.random(count) < 0.8, np.arange(count), -3)
        # a combined call has the number of the rank that it received from where others count
        partner = chance.choice(np.array([(rank + 1) % ranks, (rank - 1) % ranks, -3, -1]), count)
        table["peer"] = np.where(chance.random(count) < 0.5, root, partner)
        table["tag"] = chance.choice([-1, 0, 0, 1], count)
        if are_pairs:
            table["peer"], table["tag"] = rank ^ 1, 0
            table["t1"] = table["t0"] + long
        table["sent"] = chance.choice([0, 8, 4096, 5000, 1 << 20], count)
        table["received"] = chance.choice([0, 8, 1 << 20], count)
        table["request"] = chance.integers(0, 9, count)
        combined = (CODES[0][table["op"]] & CallTrait.SENDRECV) > 0
        table["seq"][combined] = chance.choice(
            np.array([int(root), -1, -3, 9]), int(combined.sum())
        )
        tables.append(table)
    return tables


def completions(chance: np.random.Generator, calls: Table) -> Table:
    count = int(chance.integers(0, 12))
    table = np.zeros(count, OPERATION_DTYPE)
    of, at = (calls[chance.integers(0, len(calls), count)] for _ in range(2))
    table["request"], table["tid"] = of["request"], at["tid"]
    table["t0"] = np.where(chance.random(count) < 0.5, at["t0"], at["t1"])
    return np.sort(table, order="t0")


def random_trace(seed: int) -> Trace:
    chance = np.random.default_rng(seed)
    ranks = int(chance.integers(1, 5))
    builder = TraceBuilder(ranks, end_s=20.0)
    builder.communicator(chance.permutation(ranks)[: chance.integers(1, ranks + 1)].tolist())
    trace = builder.build()
    main_tids = [rank.main_tid for rank in trace.ranks]
    for rank, table in zip(trace.ranks, program(chance, main_tids, 2), strict=True):
        rank.operations, rank.completions = table, completions(chance, table)
    return trace


@pytest.mark.parametrize("first", range(0, 600, 100))
def test_the_engine_finds_what_the_oracle_finds(first: int) -> None:
    seen = np.zeros(3, np.int64)
    for seed in range(first, first + 100):
        trace = random_trace(seed)
        found, plain = split_operations(trace), PlainMatching(trace)
        assert found.messages.send_of.tolist() == plain.send_of, seed
        assert list(zip(*(column.tolist() for column in found.requests), strict=True)) == (
            plain.completed
        ), seed
        assert found.known.tolist() == plain.known, seed
        assert found.need.tolist() == plain.need, seed
        assert found.cause.tolist() == plain.cause, seed
        assert found.for_receiver.tolist() == plain.for_receiver, seed
        seen += (len(found.instances), found.messages.matched, found.for_receiver.sum())
    assert np.all(seen > 0)  # programs in which nobody meets would show nothing


def told(trace: Trace, waits: Waits) -> list[list[int]]:
    """What the engine says of the columns of calls."""
    instances, messages = (
        match_collectives(trace, waits.pool).instances,
        match_messages(trace, waits.pool),
    )
    columns = (
        *(instances.members, instances.need, instances.cause),
        *(messages.send_of, messages.unmatched_rows, messages.blind_rows),
        *completed_requests(trace, waits.pool),
        engine.operation_sums(waits, CODES, len(CODES[0])),
    )
    return [column.tolist() for column in columns]


def test_narrower_columns_tell_the_same() -> None:
    widths: set[int] = set()
    for seed in range(60):
        trace = random_trace(seed)
        wide = split_operations(trace)
        narrow = replace(wide, pool=copy.copy(wide.pool))
        hold_narrower(trace, narrow)
        for name in ("rank", "seq", "sent", "tag"):
            widths.add(getattr(narrow.pool, name).dtype.itemsize)
        assert told(trace, narrow) == told(trace, wide), seed
    assert widths == {1, 2, 4}


def test_calls_of_a_trace_that_is_used_up_are_matched_in_few_bits() -> None:
    """Those of long ranks are kept by column, and the tables then see the narrow ones."""
    for seed in range(60, 120):
        trace, other = random_trace(seed), random_trace(seed)
        for rank in other.ranks:
            columns = {name: rank.operations[name].copy() for name in OPERATION_DTYPE.names or ()}
            rank.operations = cast("Table", Columns(OPERATION_DTYPE, columns))
        wide = split_operations(trace)
        narrow = split_operations(other, when_completed=lambda _: None)
        assert narrow.pool.rank.dtype == narrow.pool.peer.dtype == np.int8
        assert narrow.pool.sent.dtype in (np.int8, np.int16, np.int32)
        for name in ("need", "known", "cause", "for_receiver"):
            assert getattr(narrow, name).tolist() == getattr(wide, name).tolist(), seed
        for name in ("rank", "comm", "seq", "peer", "peer_number", "tag", "sent", "request"):
            assert getattr(narrow.pool, name).tolist() == getattr(wide.pool, name).tolist(), seed
        assert told(other, narrow) == told(trace, wide), seed
        for rank, same in zip(other.ranks, trace.ranks, strict=True):
            assert rank.operations["sent"].tolist() == same.operations["sent"].tolist()
