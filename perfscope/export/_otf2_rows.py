"""The rows of one rank as what OTF2 is told of them: region, attributes, and the MPI call."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np

from perfscope.arrays import Bools, Ints
from perfscope.dataframes.source import Source
from perfscope.export._rows import RowKind, Rows, rank_rows
from perfscope.readers.common.calls import EXCHANGES
from perfscope.trace.model import PEER_PROC_NULL, Communicator, RowFlag, Table
from perfscope.trace.operations import OperationClass, in_classes

Described: TypeAlias = Sequence[tuple[int, int]] | None
"""Attributes and their values."""

COMPLETION_KIND = len(RowKind)
COMPLETION = -1
"""Stands for the region of a row that is the completion of a request."""

STEP, EPOCH, SAMPLES, GLOBAL_BATCH, CALLS, OPEN, NOBODY = range(7)
ATTRIBUTES = (
    ("step", "number of the step"),
    ("epoch", "number of the epoch"),
    ("samples", "processed by this rank in the step"),
    ("global_batch", "samples of all ranks in the step"),
    ("calls", "calls that stand between this Enter and its Leave"),
    ("open", "1: the process ended inside; the Leave is the end of the process"),
    ("nobody", "who is MPI_PROC_NULL: 1 the partner, 2 the source of a combined call, 3 both"),
)


class Call(NamedTuple):
    """An operation, with the columns of the model's table that OTF2 has a place for."""

    op: int
    comm: int
    seq: int
    peer: int
    tag: int
    sent: int
    received: int
    request: int


_Row: TypeAlias = tuple[int, Described, Call | None]


class RegionNumbers:
    """The numbers that regions have in the archive."""

    def __init__(self, phases: Ints, sampled: Ints, operations: Ints, step: int) -> None:
        self.phases, self.sampled = phases, sampled
        self.operations, self.step = operations, step


class RankTables:
    """One rank's rows, with completions of requests among them."""

    def __init__(
        self, source: Source, position: int, regions: RegionNumbers, members: list[dict[int, int]]
    ) -> None:
        self._rank = source.trace.ranks[position]
        self._regions, self._members = regions, members
        self._phase_labels = source.prepared.catalog.of_rows(source.trace, self._rank.phases)
        self._sampled_labels = source.prepared.parts[position].samples.phase_rows[2]
        self._makers = _makers(self._rank.operations)
        self.rows = rank_rows(source, position)

    @property
    def communicators(self) -> int:
        """Number of communicators."""
        return len(self._members)

    def rank_in(self, communicator: int, rank: int) -> int | None:
        """The rank in a communicator of a rank of the world; None where it is not in it."""
        if not 0 <= communicator < len(self._members):
            return None
        return self._members[communicator].get(rank)

    def of_thread(self, tid: int) -> Rows:
        """The rows of a thread in the order in which they are written."""
        done = self._rank.completions
        mine = np.flatnonzero(done["tid"] == tid)
        times = done["t0"][mine].astype(np.int64)
        own = self.rows.of_thread(tid)
        columns = (
            (own.t0, times),
            (own.t1, times),
            (own.tid, np.full(len(mine), tid, np.int64)),
            (own.kind, np.full(len(mine), COMPLETION_KIND, np.int64)),
            (own.place, mine.astype(np.int64)),
        )
        every = Rows(*(np.concatenate(column) for column in columns))
        # what completes when a call ends belongs to that call, not to what begins then
        is_early = np.concatenate([np.zeros(len(own), np.bool_), _inside_earlier(own, times)])
        return every.at(np.lexsort((every.kind, -every.t1, ~is_early, every.t0)))

    def described(self, block: Rows) -> list[_Row]:
        """Region, attributes and call of each row."""
        found: list[_Row] = [(COMPLETION, None, None)] * len(block)
        for kind in range(len(RowKind) + 1):
            mine = np.flatnonzero(block.kind == kind)
            if len(mine):
                rows = self._of_kind(kind, block.place[mine])
                for place, row in zip(mine.tolist(), rows, strict=True):
                    found[place] = row
        return found

    def _of_kind(self, kind: int, place: Ints) -> Iterator[_Row]:
        rank, regions = self._rank, self._regions
        if kind == RowKind.STEP:
            return self._steps(rank.steps[place])
        if kind == RowKind.PHASE:
            rows, labels = rank.phases[place], self._phase_labels[place]
            is_sampled = rows["flags"] & RowFlag.SAMPLED > 0
            chosen = np.where(is_sampled, regions.sampled[labels], regions.phases[labels])
            return _phases(rows, chosen)
        if kind == RowKind.SAMPLED_PHASE:
            labels = regions.sampled[self._sampled_labels[place]].tolist()
            return ((label, None, None) for label in labels)
        if kind == RowKind.BACKGROUND:
            return self._operations(rank.background[place])
        if kind == RowKind.OPERATION:
            return self._operations(rank.operations[place])
        return self._completions(rank.completions[place])

    def _steps(self, rows: Table) -> Iterator[_Row]:
        columns = ("number", "epoch", "samples", "global_batch")
        for number, epoch, samples, batch in zip(
            *(rows[name].tolist() for name in columns), strict=True
        ):
            told = [(STEP, number)]
            told += [(EPOCH, epoch)] if epoch >= 0 else []
            told += [(SAMPLES, samples)] if samples > 0 else []
            told += [(GLOBAL_BATCH, batch)] if batch > 0 else []
            yield self._regions.step, told, None

    def _operations(self, rows: Table) -> Iterator[_Row]:
        regions = self._regions.operations[rows["op"]].tolist()
        flags = rows["flags"].tolist()
        nobody = _nobody(rows).tolist()
        for region, flag, none, call in zip(regions, flags, nobody, _calls(rows), strict=True):
            if not flag and not none:
                yield region, None, call
                continue
            told = [(CALLS, call.request)] if flag & RowFlag.COALESCED else []
            told += [(OPEN, 1)] if flag & RowFlag.OPEN else []
            told += [(NOBODY, none)] if none else []
            yield region, told, call

    def _completions(self, rows: Table) -> Iterator[_Row]:
        """What each request had been created for; None where that is not recorded."""
        makers, ids = self._makers, self._makers["request"]
        if not len(makers):
            yield from ((COMPLETION, None, None) for _ in range(len(rows)))
            return
        place = np.minimum(np.searchsorted(ids, rows["request"]), len(ids) - 1)
        known = (ids[place] == rows["request"]).tolist()
        for is_known, call, done in zip(known, _calls(makers[place]), _calls(rows), strict=True):
            if not is_known:
                yield COMPLETION, None, None
                continue
            told = call._replace(
                peer=done.peer if done.peer >= 0 else call.peer,
                tag=done.tag if done.tag >= 0 else call.tag,
                received=done.received if done.received > 0 else call.received,
            )
            yield COMPLETION, None, told


def _nobody(rows: Table) -> Ints:
    """Which partners of each call are `MPI_PROC_NULL`, as the attribute has it."""
    source = EXCHANGES[rows["op"]] & (rows["seq"] == PEER_PROC_NULL)
    found: Ints = (rows["peer"] == PEER_PROC_NULL) + 2 * source.astype(np.int64)
    return found


def _inside_earlier(rows: Rows, times: Ints) -> Bools:
    """Whether each moment lies in an operation that began before it, or at its end."""
    operations = rows.at(np.flatnonzero(rows.is_call))
    if not len(operations):
        return np.zeros(len(times), np.bool_)
    place = np.searchsorted(operations.t0, times, side="left") - 1
    inside: Bools = operations.t1[np.maximum(place, 0)] >= times
    return (place >= 0) & inside


def _makers(operations: Table) -> Table:
    """The operations that created requests, by request."""
    kinds = (OperationClass.ISEND, OperationClass.IRECV, OperationClass.I_COLLECTIVE)
    rows: Table = operations[in_classes(operations["op"], *kinds) & (operations["request"] > 0)]
    return rows[np.argsort(rows["request"], kind="stable")]


def _calls(rows: Table) -> Iterator[Call]:
    return map(Call._make, zip(*(rows[name].tolist() for name in Call._fields), strict=True))


def _phases(rows: Table, regions: Ints) -> Iterator[_Row]:
    columns = (rows[name].tolist() for name in ("step", "epoch", "flags"))
    for region, step, epoch, flags in zip(regions.tolist(), *columns, strict=True):
        told = [(STEP, step)] if step >= 0 else []
        told += [(EPOCH, epoch)] if epoch >= 0 else []
        told += [(OPEN, 1)] if flags & RowFlag.OPEN else []
        yield region, told or None, None


def members_of(communicators: Sequence[Communicator]) -> list[dict[int, int]]:
    """By communicator: the rank in it of each of its world ranks."""
    return [
        {rank: place for place, rank in enumerate(communicator.members)}
        for communicator in communicators
    ]
