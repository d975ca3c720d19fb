"""Every moment of a rank's main location gets one account: the ledger as a timeline."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property

import numpy as np
import numpy.typing as npt

from perfscope.arrays import Bools, Floats, SmallCodes, is_one_of, neighbors, taken
from perfscope.attribution.focus import Focus
from perfscope.attribution.ledger import ACCOUNTS, INDEX, IS_COMMUNICATION
from perfscope.attribution.phase_catalog import PhaseCatalog, is_hooked
from perfscope.attribution.sampled import RankSamples
from perfscope.attribution.stack_rules import TRAINING_KINDS
from perfscope.engine import engine
from perfscope.matching.intervals import (
    NOTHING,
    Cumulative,
    Layer,
    Times,
    disjoint_layer,
    innermost_layer,
    union,
)
from perfscope.matching.waits import Waits
from perfscope.schema.enums import Account, PhaseKind
from perfscope.search import places
from perfscope.structures import dataclass
from perfscope.trace.model import Format, Rank, Table, Trace
from perfscope.trace.operations import OperationClass, codes_mask

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


_ALWAYS = int(np.iinfo(np.int64).min), int(np.iinfo(np.int64).max)

MOST_AT_ONCE = 1 << 18
"""Segments, or calls, that are looked at together where all of them would take much memory."""


@dataclass(frozen=True)
class Timeline:
    """A partition of one rank's life, segment i being [boundaries[i], boundaries[i + 1]).

    `accounts` are indices in `ACCOUNTS`, `phases` indices in the phase catalog of the innermost
    phase (-1 none), `stacks` indices in Trace.stacks of what ran there (-1 unknown, and in
    communication). The boundaries run from the start to the end of the process without a hole.
    """

    boundaries: Times
    accounts: npt.NDArray[np.uint8]
    phases: SmallCodes
    stacks: SmallCodes

    @property
    def lengths(self) -> Times:
        """Nanoseconds of each segment."""
        return np.diff(self.boundaries)

    def inside(self, focus: Focus) -> Bools:
        """Which segments lie in a focus whose ends are boundaries."""
        starts = self.boundaries[:-1]
        return (starts >= focus.start_ns) & (starts < focus.end_ns)

    def work(self, focus: Focus) -> Bools:
        """Which segments are work: they lie in the focus, outside communication."""
        return self.inside(focus) & ~IS_COMMUNICATION[self.accounts]

    def before(self, chosen: Bools) -> Floats:
        """Nanoseconds of chosen segments before each boundary."""
        return np.concatenate([[0.0], np.cumsum(np.where(chosen, self.lengths, 0))])

    def by_stack(self, chosen: Bools, stacks: int) -> Floats:
        """Nanoseconds of some segments by what was seen there, of so many stacks."""
        seen = chosen & (self.stacks >= 0)
        found = np.bincount(self.stacks[seen], self.lengths[seen], stacks)
        return found.astype(np.float64)

    def at(self, moments: Times) -> Times:
        """The segment of each moment; the nearest one of moments outside the rank's life."""
        segment = places(self.boundaries, moments, "right") - 1
        return np.minimum(np.maximum(segment, 0), max(len(self.accounts) - 1, 0))

    def samples_in(self, rows: Table, *accounts: Account) -> Table:
        """The samples of a table that lie in some accounts."""
        if not len(self.accounts):
            return rows[:0]
        wanted = [INDEX[account] for account in accounts]
        found: Table = rows[is_one_of(self.accounts[self.at(rows["t"])], wanted)]
        return found

    def phase_at(self, moment_ns: int) -> int:
        """Index in the phase catalog of the innermost phase at a moment; -1 outside any."""
        place = int(np.searchsorted(self.boundaries, moment_ns, side="right")) - 1
        return int(self.phases[place]) if 0 <= place < len(self.phases) else -1

    def spent(self, focus: Focus | None = None, *, phases: int = 0) -> Times:
        """Nanoseconds by phase and account, shape (phases + 1, accounts); not to be written to.

        Args:
            focus: whose ends are boundaries, None the whole life.
            phases: that are told apart; the first row has what lies in none of them.
        """
        ends = (focus.start_ns, focus.end_ns) if focus else _ALWAYS
        question = (*ends, phases)
        if question not in self._spent:
            found = engine.spent_by_phase(self.columns, *question, len(ACCOUNTS))
            found.setflags(write=False)
            self._spent[question] = found.reshape(phases + 1, len(ACCOUNTS))
        return self._spent[question]

    @cached_property
    def _spent(self) -> dict[tuple[int, int, int], Times]:
        """What was asked before, by the ends and the number of phases: many ask the same."""
        return {}

    @property
    def columns(self) -> tuple[Times, npt.NDArray[np.uint8], SmallCodes]:
        """Boundaries, accounts and phases, as the engine takes them."""
        return (
            np.ascontiguousarray(self.boundaries, np.int64),
            np.ascontiguousarray(self.accounts, np.uint8),
            np.ascontiguousarray(self.phases),
        )

    def parts(self) -> Iterator[Timeline]:
        """Itself piece by piece, so that what is made of it for a moment stays small."""
        for first in range(0, len(self.accounts), MOST_AT_ONCE):
            here = slice(first, first + MOST_AT_ONCE)
            yield Timeline(
                self.boundaries[first : first + MOST_AT_ONCE + 1],
                self.accounts[here],
                self.phases[here],
                self.stacks[here],
            )

    def outside_communication(self, focus: Focus) -> Cumulative:
        """W of the rank as a function of time: nanoseconds in the focus without communication."""
        return Cumulative.of(self.boundaries, self.work(focus))


def some_at_once(every: Sequence[Timeline]) -> Iterator[tuple[list[int], list[Timeline]]]:
    """Timelines that are looked at together, and of which ranks; a long one piece by piece."""
    for group in neighbors([len(one.accounts) for one in every], MOST_AT_ONCE):
        lines = [(position, part) for position in group for part in every[position].parts()]
        for some in [lines] if len(group) > 1 else [[one] for one in lines]:
            if some:
                yield [position for position, _ in some], [part for _, part in some]


def blocking_layer(rank: Rank, rows: Table, catalog: PhaseCatalog, trace: Trace) -> Layer:
    """The marked phases inside which samples name no phase, as indices of the catalog."""
    hooked = is_hooked(rank.metadata)
    undecided = (PhaseKind.USER,) if hooked else UNDECIDED_KINDS
    blocking = rows[~is_one_of(rows["kind"], undecided)]
    index = catalog.of_rows(trace, blocking)
    starts, ends = _times(blocking)
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
    unnamed = Account.COMPUTATION if _tells_computing(trace) else Account.UNTRACED
    kinds = np.ascontiguousarray(parts.phases["kind"])
    return Timeline(
        *engine.rank_timeline(
            rules=ACCOUNT_RULES,
            marks=(*_times(parts.phases), catalog.of_rows(trace, parts.phases), kinds),
            steps=_times(rank.steps),
            calls=_calls(parts, waits),
            wait=INDEX[Account.COMMUNICATION_WAIT],
            sampled=(
                _columns(_as_accounts(samples.phases, catalog)),
                _columns(disjoint_layer(*samples.phase_rows)),
                _columns(samples.functions),
                _columns(parts.blocking),
            ),
            life=(rank.start_ns, rank.end_ns, focus.start_ns, focus.end_ns, INDEX[unnamed]),
            detail_end=rank.detail_end_ns,
        )
    )


def _columns(layer: Layer) -> tuple[Times, Times]:
    return layer.starts, layer.values


def _by_kind(accounts: Mapping[PhaseKind, Account]) -> Times:
    table = np.full(max(PhaseKind) + 1, NOTHING, np.int64)
    for kind, account in accounts.items():
        table[kind] = INDEX[account]
    return table


ACCOUNT_RULES = {
    "special": _by_kind(SPECIAL_ACCOUNTS),
    "broad": _by_kind(_BROAD_ACCOUNTS),
    "broad_order": np.array([INDEX[a] for a in dict.fromkeys(_BROAD_ACCOUNTS.values())], np.int64),
    "predict": int(PhaseKind.PREDICT),
    "communication": int(PhaseKind.COMMUNICATION),
    "training": INDEX[Account.TRAINING],
    "marked_communication": INDEX[Account.COMMUNICATION_OTHER],
    "computation": INDEX[Account.COMPUTATION],
    "start_up": INDEX[Account.START_UP],
    "shut_down": INDEX[Account.SHUTDOWN],
    "untraced": INDEX[Account.UNTRACED],
}
"""How marked phases become accounts, as the engine reads it."""


def account_of(kind: PhaseKind) -> Account | None:
    """The account of the time in a phase of a kind; None where that depends on what is in it."""
    return SPECIAL_ACCOUNTS.get(kind) or _BROAD_ACCOUNTS.get(kind)


_ACCOUNT_OF_KIND = _by_kind(_BROAD_ACCOUNTS | SPECIAL_ACCOUNTS)


def marked_accounts(rows: Table, steps: Table) -> Times:
    """The account that each marked phase of a rank stands for, as an index; NOTHING for none."""
    in_step = _starts_inside(rows, steps) & (rows["kind"] == PhaseKind.PREDICT)
    return np.where(in_step, INDEX[Account.TRAINING], _ACCOUNT_OF_KIND[rows["kind"]])


def _calls(parts: RankParts, waits: Waits) -> tuple[Times, Times, Times, Times]:
    """When calls of the main location began, could complete and ended; what they do then."""
    rows, pool = waits.of_rank(parts.position), waits.pool
    enter, leave, need = pool.enter[rows], pool.exit[rows], waits.need[rows]
    known = waits.known[rows]
    after = taken(_AFTER[1], pool.op[rows])
    main = pool.tid[rows] == parts.rank.main_tid
    if not known.all():
        need = np.where(known, need, enter)
        after = np.where(known, after, taken(_AFTER[0], pool.op[rows]))
    if main.all():
        return enter, need, leave, after
    return enter[main], need[main], leave[main], after[main]


_AFTER = np.where(
    codes_mask([OperationClass.FILE]),
    INDEX[Account.IO],
    np.array([[INDEX[Account.COMMUNICATION_OTHER]], [INDEX[Account.COMMUNICATION_TRANSFER]]]),
)
"""The account of a call's time without waiting, by whether its wait is known and its code."""


def _as_accounts(phases: Layer, catalog: PhaseCatalog) -> Layer:
    """Sampled labels as accounts; their indices are those of the catalog."""
    table = np.full(len(catalog.ids) + 1, NOTHING, np.int64)
    for place in range(len(catalog.ids)):
        account = account_of(catalog.kind(place))
        table[place] = NOTHING if account is None else INDEX[account]
    return Layer(phases.starts, table[phases.values])


def _starts_inside(rows: Table, steps: Table) -> Bools:
    if not len(rows) or not len(steps):
        return np.zeros(len(rows), np.bool_)
    starts, ends = union(*_times(steps))
    cover = disjoint_layer(starts, ends, np.zeros(len(starts), np.int64))
    inside = cover.at(rows["t0"].astype(np.int64)) != NOTHING
    return np.asarray(inside, np.bool_)


def _times(rows: Table) -> tuple[Times, Times]:
    return rows["t0"].astype(np.int64), rows["t1"].astype(np.int64)
