"""Lets go of what was kept of each call as soon as nobody asks for it any more.

A long run has no room for all of it at once. What tells which calls belong together is needed until
calls of the replay are chosen, and who was waited for until the metrics are known. So the tables
lose columns, or hold narrower ones, though nothing else may change them.
"""

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, cast

import numpy as np

from perfscope.arrays import narrowed
from perfscope.attribution.timeline import MOST_AT_ONCE
from perfscope.matching.collectives import Instances
from perfscope.matching.messages import Messages
from perfscope.matching.pool import NARROWER, Pool
from perfscope.matching.waits import Waits
from perfscope.metrics.results import Results
from perfscope.packed import Packed, PackedTimes, Stretches
from perfscope.trace.columns import Columns
from perfscope.trace.model import COMPLETION_DTYPE, Rank, Trace, empty

_OF_PARTNERS = ("seq", "peer", "tag", "request")
"""Columns of operations that only tell which calls belong together."""


def forget_completions(trace: Trace) -> None:
    """Lets go of the completions of requests, once it is known which calls they belong to."""
    if not _replays_calls(trace):
        for rank in _long(trace.ranks):
            rank.completions = empty(COMPLETION_DTYPE)


def hold_narrower(trace: Trace, waits: Waits) -> None:
    """Holds each column of calls in as few bytes as its numbers need, once they are matched.

    The tables of long ranks see the same columns. Doing so twice changes nothing.
    """
    if _replays_calls(trace):
        return
    pool = waits.pool
    for name in ("rank", "peer", *NARROWER):
        _set(pool, name, narrowed(getattr(pool, name)))
        for place, rank in enumerate(trace.ranks):
            table = cast("object", rank.operations)
            if name in NARROWER and isinstance(table, Columns):
                table.share(NARROWER[name], getattr(pool, name)[waits.of_rank(place)])


def forget_causes(results: Results) -> None:
    """Lets go of who made each call wait, once the metrics are known."""
    if _replays_calls(results.trace):
        return
    _forget(results.waits, "cause", "for_receiver")
    _forget(results.waits.instances, "need", "cause", "last")


_PUT_AWAY: tuple[tuple[str, str, Callable[[Any], Packed]], ...] = (
    ("enter", "t0", PackedTimes),
    ("exit", "t1", PackedTimes),
    ("tid", "tid", partial(Stretches, step=0)),
    ("flags", "flags", partial(Stretches, step=0)),
)
"""Columns of the pool, what those of operations are called, and what holds them."""


def put_away(results: Results) -> None:
    """Holds in few bits when calls began, waited and ended, and on which threads.

    Few ask for these of a long run once its replay is laid out, and get them unpacked. Doing so
    twice changes nothing.
    """
    waits = results.waits
    if _replays_calls(results.trace) or len(waits.pool) <= MOST_AT_ONCE:
        return
    waits.put_away("need")
    for name, shown, packs in _PUT_AWAY:
        held = waits.pool.put_away(name, packs)
        for place, rank in enumerate(results.trace.ranks):
            table = cast("object", rank.operations)
            if isinstance(table, Columns):
                table.share_away(shown, held, int(waits.pool.offsets[place]))


def forget_partners(results: Results) -> None:
    """Lets go of what tells which calls are partners, once the calls of a replay are chosen.

    The columns go from the tables of the ranks as well. Forgetting twice changes nothing.
    """
    if _replays_calls(results.trace):
        return
    pool = results.waits.pool
    ranks = _long(results.trace.ranks)
    for rank in ranks:
        cast("Columns", rank.operations).forget(_OF_PARTNERS)
    _forget(pool, *_OF_PARTNERS, "peer_number")
    _forget(results.waits.messages, "send_of")
    _set(results.waits, "requests", (np.empty(0, np.int64), np.empty(0, np.int64)))
    for name in ("comm", "seq", "op"):
        _set(results.waits.instances, name, narrowed(getattr(results.waits.instances, name)))


def _replays_calls(trace: Trace) -> bool:
    """Whether the run of a trace with states is asked for once more from the calls themselves."""
    return any(rank.compute is not None for rank in trace.ranks)


def _long(ranks: Iterable[Rank]) -> list[Rank]:
    tables: list[tuple[Rank, object]] = [(rank, rank.operations) for rank in ranks]
    return [rank for rank, table in tables if isinstance(table, Columns)]


def _forget(table: Pool | Instances | Messages | Waits, *names: str) -> None:
    """Leaves these columns empty, so that whoever asks for a row of one hears of it."""
    for name in names:
        _set(table, name, getattr(table, name)[:0].copy())


def _set(table: Pool | Instances | Messages | Waits, name: str, column: object) -> None:
    object.__setattr__(table, name, column)
