"""What the run would be shorter by without one cause of loss: replayed, or a bound."""

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np

from perfscope.arrays import Floats
from perfscope.judging import SURE
from perfscope.losses.cause import UNEXPLAINED
from perfscope.losses.entry import Entry, NoSaving, Saving
from perfscope.losses.turns import Turns
from perfscope.replay.bootstrap import gain_interval, no_more
from perfscope.replay.edits import apply_edits
from perfscope.replay.model import Edit, Level, RefusedEditError
from perfscope.replay.program import Program, busiest_ns
from perfscope.replay.replay import Predicts, Replay
from perfscope.replay.steps import Steps
from perfscope.schema.enums import Basis, LossKind, LossPattern
from perfscope.trace.operations import code_of
from perfscope.units import NS

PASSING = (LossPattern.WINDOW, LossPattern.BURSTS, LossPattern.ONCE)
"""Patterns of what slows a rank down for a time: without it, it is as fast as the others."""

BY_TURNS = (LossPattern.VARYING, LossPattern.SYSTEM, LossPattern.ALTERNATING)
"""Patterns of what falls on one rank now and on another one then."""

CHAINED = 0.25
"""Of what dealing work out should save by the waiting for it; less where a result is needed."""

NOT_KNOWN = "nothing is known of this time, so that nothing can be taken away"
NOT_IN_WINDOW = "it lies outside the focus of analysis, which is what is replayed"
SMALL_ONES = "several small causes are told together"


class Savings:
    """Asks the replay of a run what its losses cost."""

    def __init__(
        self,
        replay: Replay,
        steps: Steps | None,
        turns: Turns | None = None,
        asked: Predicts | None = None,
    ) -> None:
        """`asked` tells what edits save where that is not the replay itself."""
        self._replay, self._steps, self._measured_turns = replay, steps, turns
        self._asked = asked or replay

    def of(self, entry: Entry) -> Saving | NoSaving:
        """What the run would be shorter by without the cause of an entry."""
        if reason := self._untold(entry):
            return NoSaving(reason)
        kind, program = entry.cause.kind, self._replay.program
        if kind is LossKind.COMMUNICATION or program is None:
            return by_time([entry])
        if kind is LossKind.TRANSFER:
            return self._without_transfer(program, entry.cause.operation)
        if entry.pattern is LossPattern.SERIAL and kind is LossKind.WAITING:
            return self.without_turns(entry.ns)
        if entry.without or entry.pattern in (*BY_TURNS, LossPattern.CHAINED):
            return self.no_more_than_waited(self.bound(edits_of(entry)), [entry])
        return self.no_more_than_waited(self.replayed(edits_of(entry)), [entry])

    def is_chained(self, entry: Entry) -> bool:
        """Whether others wait for what a rank does though it were dealt out, step by step.

        Work that all ranks do at the same time takes as long as its share then. Where one needs
        the other's result first, nothing of it can be done on the others meanwhile.
        """
        if entry.pattern is not LossPattern.STATIC or entry.cause.kind is not LossKind.WAITING:
            return False
        ranks = len(self._replay.program.ranks) if self._replay.program is not None else 0
        if 2 * len(entry.ranks) > ranks:
            return False  # who causes it differs, as on a busy machine
        cause = entry.cause
        where = Edit(phase=cause.phase or None, function=cause.function, level=Level.SHARED)
        little_s = CHAINED * NS * entry.waiting_ns / max(ranks - 1, 1) * (1 - 1 / max(ranks, 1))
        # where others have more of something else, that holds them up once this is dealt out
        return all(
            isinstance(found := self.replayed(edits), Saving) and found.seconds < little_s
            for edits in ([where], [where, Edit(level=Level.SHARED)])
        )

    def _untold(self, entry: Entry) -> str:
        """Why nothing can be said of an entry; "" where something can."""
        kind = entry.cause.kind
        if entry.causes > 1:
            return SMALL_ONES
        if kind is LossKind.OUTSIDE:
            return NOT_IN_WINDOW
        if kind is LossKind.UNKNOWN or entry.cause == UNEXPLAINED:
            return NOT_KNOWN
        is_bound = kind is not LossKind.WAITING and entry.most_ns
        return "" if is_bound or self.can_replay else self._no_replay

    @property
    def can_replay(self) -> bool:
        """Whether it is the replay that tells; else only what ranks spent themselves bounds it."""
        return self._replay.program is not None

    @property
    def _no_replay(self) -> str:
        return f"the run cannot be replayed: {self._replay.reason}"

    def replayed(self, edits: Sequence[Edit], *, after: Sequence[Edit] = ()) -> Saving | NoSaving:
        """What edits save that can be made as they are replayed, beyond those made before."""
        try:
            found = self._asked.predict(edits, after=after)
        except RefusedEditError as refusal:
            return NoSaving(str(refusal))
        if found is None:
            return NoSaving(self._no_replay)
        return _saving(found.gain_s, found.interval_s, Basis.REPLAY, edits)

    def bound(self, edits: Sequence[Edit], *, after: Sequence[Edit] = ()) -> Saving | NoSaving:
        """The same of edits of which a real change reaches only a part."""
        found = self.replayed(edits, after=after)
        return replace(found, basis=Basis.UPPER_BOUND) if isinstance(found, Saving) else found

    def no_more_than_waited(
        self, saving: Saving | NoSaving, entries: Sequence[Entry]
    ) -> Saving | NoSaving:
        """What an edit of work saves, but no more than the others wait for what entries tell of.

        An edit changes all work of a place, of which a part may have a cause of its own. The run
        ends with its last rank: without what the others wait for, it is shorter by what they wait
        on average at the most. A saving that may be so little by its own interval stays.
        """
        is_of_waiting = all(entry.cause.kind is LossKind.WAITING for entry in entries)
        if not isinstance(saving, Saving) or self._replay.program is None or not is_of_waiting:
            return saving
        others = max(len(self._replay.program.ranks) - 1, 1)
        most_s = NS * sum(entry.waiting_ns for entry in entries) / others
        least_s = saving.seconds if saving.interval_s is None else saving.interval_s[0]
        if least_s <= most_s:
            return saving
        return replace(saving, seconds=most_s, interval_s=(0.0, most_s), basis=Basis.UPPER_BOUND)

    def without_turns(self, lost_ns: int, after: Sequence[Edit] = ()) -> Saving | NoSaving:
        """What it saves that ranks need not wait for each other before a step has ended.

        Whoever has the next batch sent ahead works while it is sent: that hides transfer, too.
        `lost_ns` is of all ranks: while a step is longer for turns, each rank loses.
        """
        program, steps = self._replay.program, self._steps
        if program is None or steps is None:
            return NoSaving("the steps of the run are not known")
        turns = None if after else self._measured_turns
        if turns is None:
            turns = Turns.of(program, apply_edits(program, after), steps)
        most = lost_ns / turns.ranks / max(float(turns.idle_ns.sum()), 1.0)
        gains = min(most, 1.0) * (turns.idle_ns + turns.moved_ns)
        return _bound(program, gains, gain_interval(gains))

    def usual_turns_s(self) -> float:
        """What of that comes back in each step, however busy the machine was; 0 where not known.

        The least of its 95 % interval: steps that vary seem to take turns by chance.
        """
        program, steps = self._replay.program, self._steps
        if program is None or steps is None:
            return 0.0
        usual, error_ns = Turns.usual(program, program.work, steps)
        usual_ns = float(usual.idle_ns.sum())
        return NS * max(0.0, usual_ns - SURE * steps.count * error_ns)

    def _without_transfer(self, program: Program, operation: str) -> Saving | NoSaving:
        """With calls of an operation that take no time once everybody has come."""
        if not operation:
            return NoSaving("it is not told which operation moved the data")
        code = code_of(operation)
        known = self._transfers if code in self._transfers else _without_transfer(program, [code])
        return known[code]

    @cached_property
    def _transfers(self) -> dict[int, Saving]:
        """The same of all operations of the program, by code: they are replayed together."""
        program = self._replay.program
        assert program is not None
        is_used = np.zeros(int(program.row_op.max(initial=-1)) + 2, np.bool_)
        is_used[program.row_op] = True  # the last is of rows that are no calls
        return _without_transfer(program, np.flatnonzero(is_used[:-1]).tolist())


def _without_transfer(program: Program, codes: list[int]) -> dict[int, Saving]:
    """What is saved where calls of an operation move data in no time, by operation code."""
    work, fixed, measured = program.work, program.fixed, program.measured_lengths_ns
    lengths = program.engine.lengths_without(
        *(work.row, work.ns, fixed.row, fixed.ns, program.transfer_ns, program.row_op),
        np.array(codes, np.int32),
    ).reshape(len(codes), len(measured))
    found = {}
    for code, own in zip(codes, lengths, strict=True):
        gains = measured - own
        found[code] = _bound(program, gains, gain_interval(gains, program.segment_step))
    return found


def by_time(entries: Sequence[Entry]) -> Saving:
    """No more than what one rank spent on it can come back."""
    return Saving(NS * sum(entry.most_ns for entry in entries), None, Basis.UPPER_BOUND)


def _bound(program: Program, gains: Floats, interval: tuple[float, float] | None) -> Saving:
    """A bound, from nanoseconds by step or segment; the busiest rank's work stays."""
    told = None
    if interval is not None:
        most = float(program.measured_lengths_ns.sum()) - busiest_ns(program, program.work)
        low, high = no_more(interval, most)
        told = NS * low, NS * high
    return _saving(NS * float(gains.sum()), told, Basis.UPPER_BOUND)


def _saving(
    seconds: float,
    interval: tuple[float, float] | None,
    basis: Basis,
    edits: Sequence[Edit] = (),
) -> Saving:
    """What is saved: nothing where a change makes the run longer, which its interval then holds."""
    if interval is not None and seconds < 0:
        interval = interval[0], max(0.0, interval[1])
    return Saving(max(0.0, seconds), interval, basis, tuple(edits))


def edits_of(entry: Entry) -> tuple[Edit, ...]:
    """What takes the cause of an entry away.

    Work that is no training is left out. Ranks whose training work takes longer for a time become
    as fast as the others; work of which they always have more is dealt out evenly, and where each
    step has another one, or work shifts between them, evenly within each step. Of work whose result
    others need, half is left: two ranks can do it at once.
    """
    cause = entry.cause
    if entry.without:
        return entry.without
    if cause.kind is LossKind.OTHER_WORK:
        return (
            Edit(
                account=cause.account,
                ranks=entry.ranks or None,
                phase=cause.phase or None,
                function=cause.function,
                activity=cause.activity,
            ),
        )
    where = Edit(phase=cause.phase or None, function=cause.function)
    if entry.pattern is LossPattern.CHAINED:
        return (replace(where, ranks=entry.ranks, factor=0.5),)
    if entry.pattern in PASSING:
        return (replace(where, level=Level.AS_OTHERS, ranks=entry.ranks),)
    is_shared = entry.pattern in (*BY_TURNS, LossPattern.SHIFTING)
    return (replace(where, level=Level.SHARED if is_shared else Level.EVEN),)
