"""Lets go of what was kept of each call as soon as nobody asks for it any more.

A long run has no room for all of it at once. What tells which calls belong together is needed until
the replay has its rows, and who was waited for until the metrics are known.
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, TypeVar, cast

import numpy as np

from perfscope.matching.collectives import Instances
from perfscope.matching.pool import Pool
from perfscope.matching.waits import Waits
from perfscope.metrics.results import Results
from perfscope.trace.columns import Columns
from perfscope.trace.model import COMPLETION_DTYPE, Rank, empty

_Table = TypeVar("_Table", Pool, Instances, Waits)

_OF_PARTNERS = ("seq", "peer", "tag", "request")
"""Columns of operations that only tell which calls belong together."""


def without_causes(results: Results) -> Results:
    """The results, whose metrics are known, without who made each call wait.

    Completions of requests go from the ranks themselves.
    """
    if _replays_calls(results):
        return results
    for rank in _long(results.trace.ranks):
        rank.completions = empty(COMPLETION_DTYPE)
    waits = _without(results.waits, "cause", "for_receiver")
    instances = _without(waits.instances, "need", "cause", "last")
    return replace(results, waits=replace(waits, instances=instances))


def without_partners(results: Results) -> Results:
    """The results of a run whose replay has its rows, without what tells which calls are partners.

    The columns go from the tables of the ranks as well.
    """
    if _replays_calls(results):
        return results
    for rank in _long(results.trace.ranks):
        cast("Columns", rank.operations).forget(_OF_PARTNERS)
    waits, nothing = results.waits, np.empty(0, np.int64)
    return replace(
        results,
        waits=replace(
            waits,
            pool=_without(waits.pool, *_OF_PARTNERS, "peer_number"),
            messages=replace(waits.messages, send_of=nothing),
            requests=(nothing, nothing),
        ),
    )


def _replays_calls(results: Results) -> bool:
    """Whether the run of a trace with states is asked for once more from the calls themselves."""
    return any(rank.compute is not None for rank in results.trace.ranks)


def _long(ranks: Iterable[Rank]) -> list[Rank]:
    tables: list[tuple[Rank, object]] = [(rank, rank.operations) for rank in ranks]
    return [rank for rank, table in tables if isinstance(table, Columns)]


def _without(table: _Table, *names: str) -> _Table:
    """The same with these columns empty, so that whoever asks for a row of one hears of it."""
    nothing: dict[str, Any] = {name: getattr(table, name)[:0].copy() for name in names}
    return replace(table, **nothing)
