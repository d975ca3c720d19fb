"""Reads Paraver traces (.prv with .pcf and .row, as Extrae writes them)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from perfscope.arrays import Ints
from perfscope.engine import engine
from perfscope.errors import UnreadableInputError
from perfscope.judging import NEGLIGIBLE
from perfscope.readers.common.clocks import set_clock_domains
from perfscope.readers.detect import Place, Reader, Tells
from perfscope.readers.paraver.calls import Calls, build_calls, callers
from perfscope.readers.paraver.communicators import Communicators
from perfscope.readers.paraver.decoding import decoded
from perfscope.readers.paraver.layout import (
    CALL_DTYPE,
    COUNTER_DTYPE,
    MESSAGE_DTYPE,
    STATE_DTYPE,
    Labels,
    beside,
    read_labels,
)
from perfscope.readers.paraver.locations import MAIN_THREAD, Locations
from perfscope.schema.enums import PhaseKind
from perfscope.trace import model
from perfscope.trace.counters import CounterKind
from perfscope.trace.model import Format, Rank, RowFlag, Trace
from perfscope.trace.operations import code_of
from perfscope.trace.totals import totals_of
from perfscope.units import NS, counted, format_seconds

MOST_RANKS = 100_000
_FINALIZE = code_of("MPI_Finalize")
_WHY = "a Paraver trace does not hold it"
NOT_RECORDED = {
    **dict.fromkeys(("memory", "threads", "io", "devices", "environment"), _WHY),
    "steps": "a Paraver trace has no steps",
}
Rows = Ints


def _recognizes(place: Place) -> bool:
    return place.head.startswith((b"#Paraver (", b"#Paraver("))


def open_paraver(path: Path) -> Trace:
    """The run stored in a .prv file: calls, messages, counters, and the sums of its states.

    Raises:
        UnreadableInputError: the file is damaged, has no records, or more tasks than can be
            analyzed.
    """
    notes: list[str] = []
    decoder, is_short = decoded(path, notes.append)
    facts = decoder.facts()
    if sum(facts["tasks"]) > MOST_RANKS:
        raise UnreadableInputError(
            f"{path} has too many tasks.",
            why=f"Its header has {sum(facts['tasks']):,}; more than {MOST_RANKS:,} are not read.",
            action="Cut out some tasks with Paraver first.",
        )
    locations = Locations.of(decoder.locations(), facts, decoder.event_types(), is_short=is_short)
    if not locations.by_rank:
        raise UnreadableInputError(
            f"{path} holds no record of any task.",
            why="It has a header, and nothing after it that a task did.",
            action="Copy the file again from where it was made, or merge the trace again.",
        )
    labels = read_labels(path, notes.append)
    return _Assembly(path, decoder, facts, locations, labels, notes).trace()


IMPOSSIBLE = (
    "counts {} fewer than no instructions or cycles, or more than can be: their sums are not known"
)
AMBIGUOUS = "gives {} several meanings: who met in their collectives is not known"
APART = "what ranks of one wait for is looked for among its own"


class _Assembly:
    """Puts what was decoded into the model."""

    def __init__(
        self,
        path: Path,
        decoder: engine.ParaverTrace,
        facts: dict[str, Any],
        locations: Locations,
        labels: Labels,
        notes: list[str],
    ) -> None:
        self._path, self._decoder, self._facts = path, decoder, facts
        self._locations, self._labels, self._notes = locations, labels, notes
        rows = decoder.locations()
        self._rank_of = np.array([row["rank"] for row in rows], np.int64)
        self._thread_of = np.array([row["thread"] for row in rows], np.int64)
        self._names: list[str] = []
        self._counter_kinds: dict[str, CounterKind] = {}

    def trace(self) -> Trace:
        size = sum(self._facts["tasks"])
        rows = self._decoder.calls().view(CALL_DTYPE)
        found = Communicators.of(
            self._facts["tasks"],
            self._decoder.communicators(),
            callers(rows, self._rank_of),
        )
        calls = build_calls(
            rows,
            self._decoder.messages().view(MESSAGE_DTYPE),
            self._labels,
            self._rank_of,
            found,
        )
        if self._is_whole(size):
            calls.address_nobody(self._rank_of, self._facts["last_ns"])
        ranks = [self._rank(number) for number in sorted(self._locations.by_rank)]
        self._add_calls(ranks, calls)
        self._add_counters(ranks)
        self._add_file_states(ranks)
        domains = set_clock_domains(ranks)
        self._say(calls, found, size)
        return Trace(
            wall_ns=self._facts["last_ns"],
            world_size=size,
            ranks=ranks,
            names=self._names,
            communicators=found.all,
            environment={"hosts": sorted({rank.host for rank in ranks}), "clock_domains": domains},
            notes=self._notes,
            source=str(self._path),
            format=Format.PARAVER,
            not_recorded=self._not_recorded(calls),
            counter_kinds=self._counter_kinds,
            programs=found.programs,
        )

    def _is_whole(self, size: int) -> bool:
        """Whether all tasks are there, from the beginning to the end."""
        is_traced = not any(self._locations.disabled_ns(n) for n in self._locations.by_rank)
        return is_traced and not self._locations.is_cut and len(self._locations.by_rank) == size

    def _not_recorded(self, calls: Calls) -> dict[str, str]:
        found = dict(NOT_RECORDED)
        disabled = {n: self._locations.disabled_ns(n) for n in self._locations.by_rank}
        worst = max(disabled, key=lambda number: disabled[number])
        if disabled[worst]:
            found["communication"] = (
                f"tracing was switched off for {format_seconds(disabled[worst] * NS)} on rank "
                f"{worst}: what it did then is not known"
            )
        uncalled = {n: self._locations.uncalled_ns(n) for n in self._locations.by_rank}
        most = max(uncalled, key=lambda number: uncalled[number])
        if uncalled[most] > NEGLIGIBLE * self._facts["last_ns"]:
            found["communication"] = (
                f"the states of rank {most} show {format_seconds(uncalled[most] * NS)} of "
                "communication whose calls are not in the trace"
            )
        guessed = calls.guessed_ns(self._rank_of)
        if guessed.max(initial=0) > NEGLIGIBLE * self._facts["last_ns"]:
            found["communication"] = (
                f"calls of rank {guessed.argmax()} end nowhere in the trace: of "
                f"{format_seconds(guessed.max() * NS)} until the next ones, some may be work"
            )
        if self._locations.has_devices:
            found["team"] = "some threads of the trace are streams of accelerators"
        return found

    def _rank(self, number: int) -> Rank:
        node = self._facts["nodes"][number]
        named = self._labels.nodes[node - 1] if 0 < node <= len(self._labels.nodes) else ""
        start_ns, end_ns = self._locations.life_ns(number, self._facts["last_ns"])
        told_ns = self._locations.detail_end_ns(number)
        return Rank(
            number=number,
            host=named or (f"node {node}" if node else ""),
            pid=0,
            start_ns=start_ns,
            end_ns=end_ns,
            main_tid=MAIN_THREAD,
            ending=self._locations.ending(number, is_finalized=False, is_open=False),
            # a file may be cut off before the records of the moment at which a task is created
            detail_end_ns=None if told_ns is None else max(told_ns, start_ns),
            compute=self._locations.compute(number),
            team=self._locations.team(number),
        )

    def _add_calls(self, ranks: list[Rank], calls: Calls) -> None:
        table, location = calls.operations, calls.location
        table["tid"] = self._thread_of[location]
        for rank, rows in self._by_rank(ranks, location, table["t0"]):
            rank.operations = table[rows]
            rank.totals = totals_of(rank.operations)
            self._end(rank)
        table, location = calls.completions, calls.completion_location
        table["tid"] = self._thread_of[location] if len(location) else 0
        for rank, rows in self._by_rank(ranks, location, table["t0"]):
            rank.completions = table[rows]

    def _end(self, rank: Rank) -> None:
        rows = rank.operations[rank.operations["tid"] == rank.main_tid]
        is_open = (rows["flags"] & RowFlag.OPEN) > 0
        rank.ending = self._locations.ending(
            rank.number,
            is_finalized=bool(np.any((rows["op"] == _FINALIZE) & ~is_open)),
            is_open=bool(len(rows)) and bool(is_open[-1]),
        )

    def _add_counters(self, ranks: list[Rank]) -> None:
        rows = self._decoder.counters().view(COUNTER_DTYPE)
        first = len(self._names)
        counted = [self._labels.counter(kind) for kind in self._decoder.counter_types()]
        self._names += counted
        self._counter_kinds = dict.fromkeys(counted, CounterKind.DIFFERENCE)
        table = np.zeros(len(rows), model.COUNTER_DTYPE)
        table["t"], table["value"] = rows["t"], rows["value"]
        table["name"] = first + rows["type"]
        table["tid"] = self._thread_of[rows["location"]] if len(rows) else 0
        for rank, chosen in self._by_rank(ranks, rows["location"], rows["t"]):
            rank.counters = table[chosen]

    def _add_file_states(self, ranks: list[Rank]) -> None:
        rows = self._decoder.file_states().view(STATE_DTYPE)
        if not len(rows):
            return
        self._names.append("I/O")
        table = np.zeros(len(rows), model.PHASE_DTYPE)
        table["t0"], table["t1"], table["kind"] = rows["t0"], rows["t1"], PhaseKind.IO
        table["name"], table["step"], table["epoch"] = len(self._names) - 1, -1, -1
        table["tid"] = self._thread_of[rows["location"]]
        for rank, chosen in self._by_rank(ranks, rows["location"], rows["t0"]):
            rank.phases = table[chosen]

    def _by_rank(self, ranks: list[Rank], location: Rows, times: Rows) -> list[tuple[Rank, Rows]]:
        """The rows of each rank that has any, by time."""
        if not len(location):
            return []
        of = self._rank_of[location]
        order = np.lexsort((times, of))
        numbers = [rank.number for rank in ranks]
        begins = np.searchsorted(of[order], numbers).tolist()
        ends = np.searchsorted(of[order], numbers, side="right").tolist()
        return [
            (rank, order[begin:end])
            for rank, begin, end in zip(ranks, begins, ends, strict=True)
            if end > begin
        ]

    def _say(self, calls: Calls, communicators: Communicators, size: int) -> None:
        facts, name = self._facts, self._path.name
        date = facts["date"].decode("utf-8", "replace")
        self._notes.append(
            f"{name} was made on {date!r}: to the minute and in an unknown time zone, so that its "
            "times have no wall clock."
        )
        found = self._irregular(calls, communicators, size)
        self._notes += [f"{name} {text}." for holds, text in found if holds]
        if any(self._locations.team(number) for number in self._locations.by_rank):
            self._notes.append(
                f"Threads beside the first one of each task of {name} are no ranks: efficiencies "
                "are those of all threads, waiting and replay those of the first ones."
            )

    def _irregular(
        self, calls: Calls, communicators: Communicators, size: int
    ) -> list[tuple[object, str]]:
        """What may not be as it should: whether it is so, or how often, and what to say of it."""
        facts = self._facts
        impossible = sum(
            row["impossible_counts"]
            for threads in self._locations.by_rank.values()
            for row in threads.values()
        )
        unseen = size - len(self._locations.by_rank)
        reached = format_seconds(facts["reached_ns"] * NS)
        whole = format_seconds(facts["duration_ns"] * NS)
        counts = (
            (impossible, "time", IMPOSSIBLE),
            (communicators.ambiguous, "communicator", AMBIGUOUS),
            (facts["unknown_records"], "record", "has {} of an unknown kind"),
            (facts["unmatched_leaves"], "MPI call", "leaves {} without having entered"),
            (facts["unclosed_calls"], "MPI call", "does not leave {}"),
            (facts["backwards"], "interval", "has {} with an end before the begin: without length"),
            (facts["below_zero"], "record", "has {} from before its begin, at times below 0"),
            (calls.unmatched_messages, "message", "has {} outside of all sends and receives"),
            (calls.impossible_sizes, "call", "has {} whose bytes cannot be: 0 is taken"),
        )
        programs = len(communicators.programs)
        return [
            (facts["is_cut"], "is cut off inside a line; what came before it counts"),
            (self._locations.is_cut, f"ends at {reached} of {whole} that its header names"),
            *((count, text.format(counted(count, noun))) for count, noun, text in counts),
            (unseen, f"has no record of {unseen:,} of {size:,} tasks"),
            (programs, f"holds {programs} applications: {APART}"),
        ]


def _companions(path: Path) -> list[Path]:
    return [found for ending in ("pcf", "row") if (found := beside(path, ending)) is not None]


READER = Reader(
    Format.PARAVER,
    "a Paraver trace (.prv)",
    _recognizes,
    lambda paths, _: open_paraver(paths[0]),
    Tells(
        efficiencies="yes",
        waits="collectives, messages",
        phases="states of I/O alone",
        counters="IPC, frequency",
        clock="to the minute: not usable",
    ),
    companions=_companions,
)
