"""The loss account: every nanosecond of the ranks' lives is training work or has a cause.

What is not training work is lost. An entry holds what one cause took from all ranks: the time in
which it was done, and the time in which others waited for that. Together the entries are the lost
time exactly.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np

from perfscope.arrays import Floats, Ints
from perfscope.attribution.ledger import INDEX, IS_COMMUNICATION
from perfscope.judging import MAIN
from perfscope.losses.cause import OUTSIDE, UNEXPLAINED, LossCause
from perfscope.losses.entry import Entry, LossAccount
from perfscope.losses.extrapolation import Extrapolation
from perfscope.losses.handed_out import begun_earlier
from perfscope.losses.held_up import without
from perfscope.losses.no_cpu import queue_of
from perfscope.losses.own_time import own_times, work_cells
from perfscope.losses.parts import whole_parts
from perfscope.losses.patterns import in_turn, is_certain, pattern_of
from perfscope.losses.places import Places
from perfscope.losses.savings import PASSING, Savings
from perfscope.losses.shifting import is_shifting, work_by_step
from perfscope.losses.turns import Turns
from perfscope.losses.waiting import Cells, Waited, waited
from perfscope.metrics.results import Results
from perfscope.replay.model import Edit
from perfscope.replay.replay import Replay
from perfscope.replay.steps import Steps
from perfscope.schema.enums import LossKind, LossPattern
from perfscope.schema.losses import SLOWED
from perfscope.trace.operations import code_of

SMALL = 0.002
"""Of the time in the focus: smaller entries of a kind are told together."""

TAKES_PART = 0.1
"""Of what the rank causes that causes most: one that causes less is not named."""


def loss_account(results: Results, replay: Replay) -> LossAccount:
    """Where the time of the ranks went that was no training work."""
    ledger = results.ledger
    life_ns = int(ledger.life_ns.sum())
    outside_ns = sum(int(ledger.ns[INDEX[account]].sum()) for account in OUTSIDE)
    places = Places(results)
    own = own_times(results, places)
    waits = waited(results, replay.program, replay.charges)
    lost_ns = sum(int(ns.sum()) for ns in own.values()) + waits.whole_ns
    making = _Making(results, replay, places, own, waits)
    entries = _told(making.entries(), SMALL * (life_ns - outside_ns))
    savings = Savings(replay, waits.steps, making.turns)
    return LossAccount(
        life_ns=life_ns,
        window_ns=life_ns - outside_ns,
        training_ns=life_ns - lost_ns,
        entries=tuple(_priced(entry, savings) for entry in entries),
        steps=waits.steps,
        turns=making.turns,
    )


def _priced(entry: Entry, savings: Savings) -> Entry:
    """An entry with what it costs, and the pattern that only a replay tells."""
    if savings.is_chained(entry):
        entry = replace(entry, pattern=LossPattern.CHAINED)
    return replace(entry, saving=savings.of(entry))


class _Making:
    """Puts together what ranks did and what others waited for."""

    def __init__(
        self,
        results: Results,
        replay: Replay,
        places: Places,
        own: Mapping[LossCause, Ints],
        waits: Waited,
    ) -> None:
        self._results = results
        self._numbers = [rank.number for rank in results.trace.ranks]
        self._places, self._own, self._waits = places, own, waits
        self._waiting = _by_cause(waits, len(self._numbers))
        self._work: dict[LossCause, Cells] = {}
        self.turns: Turns | None = None
        self._extrapolation = Extrapolation(results)
        self._queue = queue_of(results, waits.steps) if waits.steps is not None else None
        self._program = program = replay.program
        if waits.steps is not None and program is not None:
            self._work = work_cells(results, program, waits.steps, places)
            self.turns = Turns.of(program, program.work, waits.steps)
        self._turns: Floats = np.empty(0) if self.turns is None else self.turns.share

    def entries(self) -> list[Entry]:
        """One entry a cause, in no order."""
        causes = list(dict.fromkeys([*self._own, *self._waiting]))
        found = [self._entry(cause) for cause in causes]
        return [entry for entry in found if entry.ns]

    def _entry(self, cause: LossCause) -> Entry:
        own = self._own.get(cause, np.zeros(len(self._numbers), np.int64))
        waiting_ns, by_rank = self._waiting.get(cause, (0, np.zeros(len(self._numbers))))
        caused = own + by_rank
        table = self._table(cause)
        queued = self._queued(cause, table)
        pattern = None if table is None else self._pattern(cause.kind, table, queued)
        extrapolated = self._extrapolation.of(cause, int(own.sum()) + waiting_ns, table)
        certain = None
        if table is not None and pattern is not None:
            certain = is_certain(table, self._turns, pattern)
        return Entry(
            cause=cause,
            own_ns=int(own.sum()),
            waiting_ns=waiting_ns,
            most_ns=self._most_ns(cause.kind, own),
            ranks=self._ranks(caused),
            first_share=float(caused.max(initial=0.0) / max(caused.sum(), 1.0)),
            frame=self._places.frame(cause),
            also=self._places.also(cause),
            waited_for=self._places.waited_for(cause),
            pattern=pattern,
            is_certain=certain,
            queued=queued,
            steps=None if table is None else _reach(table, self._waits.steps),
            without=self._without(cause, own),
            once_ns=extrapolated.once_ns,
            error=extrapolated.error,
        )

    def _without(self, cause: LossCause, own: Ints) -> tuple[Edit, ...]:
        """Edits that take a cause away, where these do not follow from it."""
        if cause.kind in SLOWED:
            return without(self._results, own, cause.kind)
        return begun_earlier(self._results, own, cause)

    def _most_ns(self, kind: LossKind, own: Ints) -> int:
        """What a rank spent on it that spent most, but no more than can come back.

        Every rank's other work stays: what it does not do any more and all of its communication
        is the most that it can be done earlier by, and the run ends with the last one.
        """
        most = int(own.max(initial=0))
        left = self._results.ledger.ns[IS_COMMUNICATION].sum(axis=0)
        if kind is not LossKind.COMMUNICATION:  # that is among all communication
            left = left + own
        is_known = bool(left.any())  # without any communication ranks end for themselves
        return min(most, int(left.min(initial=most))) if is_known else most

    def _pattern(
        self, kind: LossKind, table: Floats, queued: tuple[float, float] | None
    ) -> LossPattern | None:
        if kind is LossKind.WAITING and in_turn(table) >= MAIN:
            return LossPattern.ALTERNATING
        found = pattern_of(table, self._turns)
        if found is not None and queued is not None and queued[0] >= MAIN:
            return LossPattern.SYSTEM
        if kind is LossKind.WAITING and found is LossPattern.EVEN:
            return LossPattern.VARYING  # ranks wait for the one that is last
        is_passing = kind is LossKind.WAITING and found in PASSING
        return LossPattern.SHIFTING if is_passing and is_shifting(table, self._by_step) else found

    @cached_property
    def _by_step(self) -> Floats:
        """How long ranks work in each step."""
        assert self._program is not None
        assert self._waits.steps is not None
        return work_by_step(self._program, self._waits.steps)

    def _queued(self, cause: LossCause, table: Floats | None) -> tuple[float, float] | None:
        if table is None or cause.kind is not LossKind.WAITING or self._queue is None:
            return None
        return self._queue.least(table), self._queue.most(table)

    def _ranks(self, caused: Floats) -> tuple[int, ...]:
        order = np.argsort(-caused, kind="stable")
        least = max(TAKES_PART * float(caused.max(initial=0.0)), 1.0)
        return tuple(self._numbers[place] for place in order.tolist() if caused[place] >= least)

    def _table(self, cause: LossCause) -> Floats | None:
        """What a cause costs by step and rank; None where that is not known."""
        steps, waits = self._waits.steps, self._waits
        if steps is None or cause.kind in (LossKind.OUTSIDE, *SLOWED):
            return None
        shape = steps.count, len(self._numbers)
        if cause.kind is LossKind.COMMUNICATION:
            return self._in_calls(cause.operation, steps, shape)
        indices = [place for place, one in enumerate(waits.causes) if one == cause]
        table = waits.cells.table(np.isin(waits.cells.cause, indices), shape)
        if own := self._work.get(cause):
            table = table + own.table(np.ones(len(own.ns), np.bool_), shape)
        return table

    def _in_calls(self, operation: str, steps: Steps, shape: tuple[int, int]) -> Floats | None:
        """What calls of an operation take of which nobody knows for whom they wait."""
        starts = self._results.steps.starts_ns[:: steps.size]
        if not operation or len(starts) != steps.count:
            return None
        pool = self._results.waits.pool
        enter = pool.enter
        here = np.flatnonzero((pool.op == code_of(operation)) & (enter >= starts[0]))
        step = np.searchsorted(starts, enter[here], side="right") - 1
        ns = (pool.exit[here] - enter[here]).astype(np.float64)
        cells = Cells(step, pool.rank[here].astype(np.int64), np.zeros_like(step), ns)
        return cells.table(np.ones(len(ns), np.bool_), shape)


def _by_cause(waits: Waited, ranks: int) -> dict[LossCause, tuple[int, Floats]]:
    """The waiting for each cause, in whole nanoseconds, and that for each rank.

    Nobody caused what is not explained.
    """
    different = list(dict.fromkeys([*waits.causes, UNEXPLAINED]))
    index = np.array([different.index(cause) for cause in waits.causes], np.int64)
    cell = index[waits.cells.cause] * ranks + waits.cells.rank
    sums = np.bincount(cell, waits.cells.ns, minlength=len(different) * ranks)
    table = sums.astype(np.float64).reshape(-1, ranks)
    weights = table.sum(axis=1)
    weights[different.index(UNEXPLAINED)] += waits.unexplained_ns
    parts = whole_parts(waits.whole_ns, weights)
    return {
        cause: (ns, by_rank)
        for cause, ns, by_rank in zip(different, parts.tolist(), table, strict=True)
    }


def _reach(table: Floats, steps: Steps | None) -> tuple[int, int] | None:
    """Numbers of the first and last step that cost anything."""
    here = np.flatnonzero(table.sum(axis=1))
    if steps is None or not len(here) or not len(steps.numbers):
        return None
    return int(steps.numbers[here[0]]), int(steps.numbers[here[-1]])


def _told(entries: Sequence[Entry], small_ns: float) -> tuple[Entry, ...]:
    """Entries as they are told, most first: the small ones of a kind together, as its last."""
    small: defaultdict[LossKind, list[Entry]] = defaultdict(list)
    kept: list[Entry] = []
    for entry in entries:
        (kept if entry.ns >= small_ns else small[entry.cause.kind]).append(entry)
    for kind, together in small.items():
        kept.append(
            together[0]
            if len(together) == 1
            else Entry(
                cause=LossCause(kind),
                own_ns=sum(one.own_ns for one in together),
                waiting_ns=sum(one.waiting_ns for one in together),
                ranks=(),
                causes=len(together),
            )
        )
    return tuple(sorted(kept, key=lambda one: (-one.ns, one.cause.kind.value, str(one.cause))))
