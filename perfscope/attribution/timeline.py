"""Every moment of a rank's main location gets one account: the ledger as a timeline."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from perfscope.attribution.focus import Focus
from perfscope.attribution.ledger import INDEX, IS_COMMUNICATION
from perfscope.attribution.phase_catalog import PhaseCatalog, is_hooked
from perfscope.attribution.sampled import RankSamples
from perfscope.matching.intervals import (
    EMPTY_LAYER,
    NOTHING,
    Cumulative,
    Layer,
    Times,
    disjoint_layer,
    distinct,
    innermost_layer,
    ordered_layer,
    union,
)
from perfscope.matching.waits import Waits
from perfscope.schema.enums import Account, PhaseKind
from perfscope.trace.model import Format, Rank, Table, Trace
from perfscope.trace.operations import OperationClass

TRAINING_KINDS = (PhaseKind.TRAIN, PhaseKind.FORWARD, PhaseKind.BACKWARD, PhaseKind.OPTIMIZER)
SPECIAL_ACCOUNTS = {
    PhaseKind.CHECKPOINT: Account.CHECKPOINT,
    PhaseKind.EVALUATE: Account.EVALUATION,
    PhaseKind.PREDICT: Account.EVALUATION,
    PhaseKind.INPUT: Account.INPUT_WAIT,
}
"""Kinds of which the innermost one decides."""

_BROAD_ACCOUNTS = {
    PhaseKind.IO: Account.IO,
    PhaseKind.DEVICE_WAIT: Account.DEVICE_WAIT,
    **dict.fromkeys(TRAINING_KINDS, Account.TRAINING),
    PhaseKind.USER: Account.USER_PHASES,
}
"""Kinds that decide in this order wherever they are, where no special one is."""

UNDECIDED_KINDS = (PhaseKind.TRAIN, PhaseKind.USER)
"""Marked phases so wide that samples may still name a phase inside them."""


@dataclass(frozen=True)
class Timeline:
    """A partition of one rank's life, segment i being [boundaries[i], boundaries[i + 1]).

    `accounts` are indices in `ACCOUNTS`, `phases` indices in the phase catalog of the innermost
    phase (-1 none), `stacks` indices in Trace.stacks of what ran there (-1 unknown, and in
    communication). The boundaries run from the start to the end of the process without a hole.
    """

    boundaries: Times
    accounts: npt.NDArray[np.uint8]
    phases: npt.NDArray[np.int32]
    stacks: npt.NDArray[np.int32]

    @property
    def lengths(self) -> Times:
        """Nanoseconds of each segment."""
        return np.diff(self.boundaries)

    def inside(self, focus: Focus) -> npt.NDArray[np.bool_]:
        """Which segments lie in a focus whose ends are boundaries."""
        starts = self.boundaries[:-1]
        return (starts >= focus.start_ns) & (starts < focus.end_ns)

    def outside_communication(self, focus: Focus) -> Cumulative:
        """W of the rank as a function of time: nanoseconds in the focus without communication."""
        return Cumulative.of(self.boundaries, self.inside(focus) & ~IS_COMMUNICATION[self.accounts])


def blocking_layer(rank: Rank, rows: Table, catalog: PhaseCatalog, trace: Trace) -> Layer:
    """The marked phases inside which samples name no phase, as indices of the catalog."""
    hooked = is_hooked(rank.metadata)
    undecided = (PhaseKind.USER,) if hooked else UNDECIDED_KINDS
    blocking = rows[~np.isin(rows["kind"], undecided)]
    index = catalog.of_rows(trace, blocking)
    starts, ends = _times(blocking)
    if hooked and len(rank.steps):
        step_starts, step_ends = _times(rank.steps)
        train = np.full(len(step_starts), catalog.index("train"), np.int64)
        starts, ends = np.concatenate([starts, step_starts]), np.concatenate([ends, step_ends])
        index = np.concatenate([index, train])
    return innermost_layer(starts, ends, index)


@dataclass(frozen=True)
class RankParts:
    """What one rank's timeline is made from; `phases` are those marked on its main location."""

    rank: Rank
    position: int
    phases: Table
    blocking: Layer
    samples: RankSamples


def _tells_computing(trace: Trace) -> bool:
    """Whether time that no record names was work of the ranks, and not just unseen.

    Another tool's trace holds all that a rank did between its first and its last event, unless
    communication is not in it: then nobody knows which of that time was work.
    """
    return trace.format is not Format.PERFSCOPE and "communication" not in trace.not_recorded


def build_timeline(
    trace: Trace, parts: RankParts, catalog: PhaseCatalog, waits: Waits, focus: Focus
) -> Timeline:
    """The timeline of one rank, with the precedence of docs/metrics.md, section 0."""
    rank, samples = parts.rank, parts.samples
    communication = _communication_layer(parts, waits)
    decided = _decided_layers(parts)
    sampled = _as_accounts(samples.phases, catalog)
    marked = innermost_layer(*_times(parts.phases), catalog.of_rows(trace, parts.phases))
    sampled_rows = disjoint_layer(*samples.phase_rows)
    fixed = [rank.start_ns, rank.end_ns, focus.start_ns, focus.end_ns]
    if rank.detail_end_ns is not None:
        fixed.append(rank.detail_end_ns)
    layers = (communication, sampled, marked, sampled_rows, parts.blocking, samples.functions)
    boundaries = _boundaries(rank, fixed, (*layers, *decided.layers()))
    at = boundaries[:-1]
    in_communication = communication.at_ordered(at)
    stacks = np.where(in_communication == NOTHING, samples.functions.at_ordered(at), NOTHING)
    free = parts.blocking.at_ordered(at) == NOTHING
    accounts = decided.choose(at, np.where(free, sampled.at_ordered(at), NOTHING))
    unnamed = Account.COMPUTATION if _tells_computing(trace) else Account.UNTRACED
    computing = np.where(stacks != NOTHING, INDEX[Account.COMPUTATION], INDEX[unnamed])
    accounts = np.where(accounts == NOTHING, computing, accounts)
    accounts = np.where(in_communication != NOTHING, in_communication, accounts)
    accounts = np.where(at < focus.start_ns, INDEX[Account.START_UP], accounts)
    accounts = np.where(at >= focus.end_ns, INDEX[Account.SHUTDOWN], accounts)
    if rank.detail_end_ns is not None:
        accounts = np.where(at >= rank.detail_end_ns, INDEX[Account.UNTRACED], accounts)
    row = sampled_rows.at_ordered(at)
    phases = np.where(free & (row != NOTHING), row, marked.at_ordered(at))
    return Timeline(
        boundaries,
        accounts.astype(np.uint8),
        phases.astype(np.int32),
        stacks.astype(np.int32),
    )


def marked_accounts(rows: Table, steps: Table) -> Times:
    """The account that each marked phase of a rank stands for, as an index; NOTHING for none."""
    account_of = np.full(max(PhaseKind) + 1, NOTHING, np.int64)
    for kind, account in (_BROAD_ACCOUNTS | SPECIAL_ACCOUNTS).items():
        account_of[kind] = INDEX[account]
    in_step = _starts_inside(rows, steps) & (rows["kind"] == PhaseKind.PREDICT)
    return np.where(in_step, INDEX[Account.TRAINING], account_of[rows["kind"]])


@dataclass(frozen=True)
class _Decided:
    """Marked phases by the rank that they have among the accounts."""

    special: Layer
    broad: tuple[tuple[Account, Layer], ...]
    marked_communication: Layer

    def layers(self) -> Iterable[Layer]:
        return (self.special, self.marked_communication, *(layer for _, layer in self.broad))

    def choose(self, at: Times, sampled: Times) -> Times:
        """The account at each moment from marks and, where they leave it open, from samples."""
        special = [INDEX[account] for account in SPECIAL_ACCOUNTS.values()]
        result = self.special.at_ordered(at)
        result = np.where((result == NOTHING) & np.isin(sampled, special), sampled, result)
        for account, layer in self.broad:
            here = (layer.at_ordered(at) != NOTHING) | (sampled == INDEX[account])
            result = np.where((result == NOTHING) & here, INDEX[account], result)
        exposed = self.marked_communication.at_ordered(at)
        return np.where(exposed != NOTHING, exposed, result)


def _decided_layers(parts: RankParts) -> _Decided:
    rows, steps = parts.phases, parts.rank.steps
    kinds = rows["kind"]
    in_step = _starts_inside(rows, steps) & (kinds == PhaseKind.PREDICT)
    special = np.isin(kinds, list(SPECIAL_ACCOUNTS)) & ~in_step
    account_of = np.full(max(PhaseKind) + 1, NOTHING, np.int64)
    for kind, account in SPECIAL_ACCOUNTS.items():
        account_of[kind] = INDEX[account]
    chosen = rows[special]
    broad: dict[Account, list[tuple[Times, Times]]] = {a: [] for a in _BROAD_ACCOUNTS.values()}
    for kind, account in _BROAD_ACCOUNTS.items():
        broad[account].append(_times(rows[kinds == kind]))
    broad[Account.TRAINING] += [_times(rows[in_step]), _times(steps)]
    return _Decided(
        special=innermost_layer(*_times(chosen), account_of[chosen["kind"]]),
        broad=tuple((account, _cover(times)) for account, times in broad.items()),
        marked_communication=_cover(
            [_times(rows[kinds == PhaseKind.COMMUNICATION])], INDEX[Account.COMMUNICATION_OTHER]
        ),
    )


def _communication_layer(parts: RankParts, waits: Waits) -> Layer:
    rows = waits.of_rank(parts.position)
    pool = waits.pool
    main = pool.tid[rows] == parts.rank.main_tid
    enter, leave = pool.enter[rows][main], pool.exit[rows][main]
    need, known = waits.need[rows][main], waits.known[rows][main]
    if not len(enter):
        return EMPTY_LAYER
    need = np.where(known, need, enter)
    after = np.where(
        known, INDEX[Account.COMMUNICATION_TRANSFER], INDEX[Account.COMMUNICATION_OTHER]
    )
    after = np.where(pool.is_of(OperationClass.FILE, rows=rows)[main], INDEX[Account.IO], after)
    wait = np.full(len(enter), INDEX[Account.COMMUNICATION_WAIT], np.int64)
    if np.all(enter[1:] >= leave[:-1]):
        nothing = np.full(len(enter), NOTHING, np.int64)
        moments = np.stack([enter, need, leave], 1).ravel()
        return ordered_layer(moments, np.stack([wait, after, nothing], 1).ravel())
    starts, ends = np.stack([enter, need], 1).ravel(), np.stack([need, leave], 1).ravel()
    values = np.stack([wait, after], 1).ravel()
    order = np.argsort(starts, kind="stable")
    return disjoint_layer(starts[order], ends[order], values[order])


def _as_accounts(phases: Layer, catalog: PhaseCatalog) -> Layer:
    """Sampled labels as accounts; their indices are those of the catalog."""
    table = np.full(len(catalog.ids) + 1, NOTHING, np.int64)
    for place in range(len(catalog.ids)):
        kind = catalog.kind(place)
        account = SPECIAL_ACCOUNTS.get(kind) or _BROAD_ACCOUNTS.get(kind)
        table[place] = NOTHING if account is None else INDEX[account]
    return Layer(phases.starts, table[phases.values])


def _starts_inside(rows: Table, steps: Table) -> npt.NDArray[np.bool_]:
    if not len(rows) or not len(steps):
        return np.zeros(len(rows), np.bool_)
    inside = _cover([_times(steps)]).at(rows["t0"].astype(np.int64)) != NOTHING
    return np.asarray(inside, np.bool_)


def _cover(times: Iterable[tuple[Times, Times]], value: int = 0) -> Layer:
    pairs = list(times)
    starts, ends = union(
        np.concatenate([start for start, _ in pairs]), np.concatenate([end for _, end in pairs])
    )
    return disjoint_layer(starts, ends, np.full(len(starts), value, np.int64))


def _times(rows: Table) -> tuple[Times, Times]:
    return rows["t0"].astype(np.int64), rows["t1"].astype(np.int64)


def _boundaries(rank: Rank, fixed: list[int], layers: Iterable[Layer]) -> Times:
    inside = [np.array([t for t in fixed if rank.start_ns <= t <= rank.end_ns], np.int64)]
    for layer in layers:
        first, behind = np.searchsorted(layer.starts, [rank.start_ns, rank.end_ns + 1])
        inside.append(layer.starts[first:behind])
    return distinct(np.concatenate(inside))
