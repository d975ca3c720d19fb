"""Communicators of an OTF2 archive as the model has them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from perfscope.arrays import Bools, Ints
from perfscope.engine import engine
from perfscope.trace.model import Communicator, Rank, Table
from perfscope.trace.operations import COLLECTIVE_CLASSES, OperationClass, codes_mask

_ORDERED = codes_mask(COLLECTIVE_CLASSES - {OperationClass.COMMUNICATOR})
SELF = -2
"""In a row: the communicator of the row's rank alone."""


def communicators(archive: engine.Otf2Archive, ranks: int) -> list[Communicator]:
    """The communicators of the archive, the world first; one of all ranks where it has none."""
    rows = archive.communicators()
    if not rows:
        return [Communicator(1, tuple(range(ranks)), -1)]
    index = {identity: place for place, (identity, _, _) in enumerate(rows)}
    return [
        Communicator(
            place + 1,
            tuple(rank for rank in members.tolist() if rank >= 0),
            index.get(parent, 0) if place else -1,
        )
        for place, (_, parent, members) in enumerate(rows)
    ]


def with_self_communicators(ranks: Sequence[Rank], shared: list[Communicator]) -> None:
    """Gives each rank that used MPI_COMM_SELF a communicator of its own."""
    for rank in ranks:
        own = -1
        for rows in (rank.operations, rank.completions):
            here = np.flatnonzero(rows["comm"] == SELF)
            if not len(here):
                continue
            if own < 0:
                own = len(shared)
                shared.append(Communicator(own + 1, (rank.number,), 0))
            rows["comm"][here] = own
            partner = rows["peer"][here]
            rows["peer"][here] = np.where(partner == -2, rank.number, partner)


def number_collectives(ranks: Sequence[Rank]) -> None:
    """Gives each collective its ordinal on its communicator, in the order of the calls."""
    for rank in ranks:
        rows = rank.operations
        ordered = _ORDERED[rows["op"]]
        rows["seq"] = np.where(ordered, _ordinals(rows, ordered), rows["seq"])


def _ordinals(rows: Table, ordered: Bools) -> Ints:
    result = np.full(len(rows), -1, np.int64)
    chosen = np.flatnonzero(ordered & (rows["comm"] >= 0))
    order = chosen[np.argsort(rows["comm"][chosen], kind="stable")]
    comm = rows["comm"][order]
    first = np.ones(len(order), np.bool_)
    first[1:] = comm[1:] != comm[:-1]
    starts = np.maximum.accumulate(np.where(first, np.arange(len(order)), 0))
    result[order] = np.arange(len(order)) - starts
    return result
