"""Splits every operation into waiting for others and transfer (docs/metrics.md, section 3)."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from perfscope.arrays import Bools, SmallCodes, narrowed
from perfscope.engine import engine
from perfscope.matching.clock_check import ClockCheck, check_clocks
from perfscope.matching.codes import CODES
from perfscope.matching.collectives import Instances, Matched, match_collectives
from perfscope.matching.intervals import Times
from perfscope.matching.messages import Messages, match_messages
from perfscope.matching.pool import Pool, Rows
from perfscope.packed import PutsAway
from perfscope.parallel import each
from perfscope.structures import dataclass
from perfscope.trace.model import Trace
from perfscope.trace.operations import name_of


def completed_requests(trace: Trace, pool: Pool) -> tuple[Rows, Rows]:
    """For each completed request, the rows that created it and completed it; -1 if unknown."""
    tables = [np.ascontiguousarray(rank.completions).view(np.uint8) for rank in trace.ranks]
    return engine.completed_requests(pool, CODES, tables)


@dataclass(frozen=True)
class Waits(PutsAway):
    """The split of every operation: [enter, need) is wait, [need, exit) transfer, where `known`.

    Columns are aligned with `pool`. `cause` is the row of the operation that determined `need`, -1
    where no other rank did; `for_receiver` is true where that was the receiver of a message.
    """

    pool: Pool
    need: Times
    known: Bools
    cause: SmallCodes
    for_receiver: Bools
    instances: Instances
    messages: Messages
    requests: tuple[Rows, Rows]
    """For each completed request, the rows that created and completed it; -1 if unknown."""
    matched_calls: int
    unmatched: dict[str, int]
    clocks: ClockCheck

    def of_rank(self, position: int) -> slice:
        """The rows of the rank at a position of `Trace.ranks`."""
        return slice(int(self.pool.offsets[position]), int(self.pool.offsets[position + 1]))


_MATCHING: Sequence[Callable[[Trace, Pool], Any]] = (
    match_collectives,
    match_messages,
    completed_requests,
)
"""None of these asks for what another one finds."""


def split_operations(
    trace: Trace, *, when_completed: Callable[[Trace], None] | None = None
) -> Waits:
    """The wait and transfer of every recorded operation of every thread.

    `when_completed` says that the tables of the trace may become narrower meanwhile, as nobody else
    asks for them. It is called as soon as nobody asks for the completions of requests.
    """
    # the messages of pieces get numbers of their own
    is_narrow = when_completed is not None and trace.kept is None
    tables = [rank.operations for rank in trace.ranks]
    pool = Pool.of(trace.ranks, tables, is_narrow=is_narrow)
    del tables
    collectives, messages, requests = each(
        lambda match: match(trace, pool), _MATCHING, rows=len(pool)
    )
    if when_completed is not None:
        when_completed(trace)
    clocks = check_clocks(trace, pool, collectives.instances, messages, requests)
    if clocks.reason:
        collectives = match_collectives(trace, pool, clocks.comparable)
        messages = match_messages(trace, pool, clocks.comparable)
    instances = collectives.instances
    need, known, cause, for_receiver = engine.split_calls(
        pool,
        CODES,
        collective=(instances.members, instances.need, instances.cause),
        waiting=collectives.waiting_rows,
        send_of=messages.send_of,
        completed=requests,
        main_tids=np.array([rank.main_tid for rank in trace.ranks], np.uint32),
        is_one_clock=not clocks.reason,
    )
    return Waits(
        pool=pool,
        need=need,
        known=known.view(np.bool_),
        cause=narrowed(cause),
        for_receiver=for_receiver.view(np.bool_),
        instances=instances,
        messages=replace(messages, send_of=narrowed(messages.send_of)),
        requests=requests,
        matched_calls=len(instances.members) + 2 * messages.matched,
        unmatched=_lost(pool, collectives, messages),
        clocks=clocks,
    )


def _lost(pool: Pool, collectives: Matched, messages: Messages) -> dict[str, int]:
    """Calls without their partners by name; also those whose partner is not known."""
    unmatched = (collectives.unmatched_rows, messages.unmatched_rows, messages.blind_rows)
    rows = np.unique(np.concatenate(unmatched))
    codes, counts = np.unique(pool.op[rows], return_counts=True)
    return {
        name_of(code): count for code, count in zip(codes.tolist(), counts.tolist(), strict=True)
    }
