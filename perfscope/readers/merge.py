"""Several recordings of one run, by different tools, as one trace.

The recording that knows most of the ranks is the run; others are moved to its clock and add what
it does not have. Ranks are matched by process id where both have it, else by their numbers; clocks
by the wall clock that each recording began at.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from perfscope.arrays import mapped
from perfscope.readers.common.clocks import shift
from perfscope.readers.detect import Source
from perfscope.structures import dataclass
from perfscope.trace.devices import DeviceActivity
from perfscope.trace.model import Format, Rank, Table, Trace
from perfscope.units import NS, counted, format_seconds

Numbers = npt.NDArray[np.int32]
TABLES = ("phases", "steps", "counters")
OF_A_WHOLE_RUN = ("phases", "steps")
COVERS_SHARE = 0.9
"""Steps and phases of a part of a run would make the rest look like something else."""


@dataclass(frozen=True)
class Part:
    """One trace and where it was read from."""

    source: Source
    trace: Trace

    @property
    def text(self) -> str:
        """How the part is called in notes."""
        return f"{self.source.text} ({self.trace.format.value})"


@dataclass(frozen=True)
class _Match:
    """Which ranks of the run those of a part are, by place, and how its clock is moved."""

    ranks: list[tuple[Rank, Rank]]  # of the run, of the part
    by: str
    shift_ns: int


def merge(parts: Sequence[Part], unread: Sequence[str] = ()) -> Trace:
    """The trace of one run; what was joined and how, and what was left aside, is in its notes.

    Where there is more than one part, `Trace.choices` say in a sentence what became of each.
    """
    beside: list[str] = []
    aside = list(unread)
    ordered = sorted(parts, key=lambda part: tuple(Format).index(part.trace.format))
    run = ordered[0]
    for part in ordered[1:]:
        if part.trace.format.is_report:
            run.trace.tool_reports += part.trace.tool_reports
            run.trace.notes += [f"{part.source.text}: {note}" for note in part.trace.notes]
            beside.append(part.text)
            continue
        found = _match(run.trace, part)
        if isinstance(found, str):
            run.trace.notes.append(f"{part.text} was left aside: {found}.")
            aside.append(f"{part.text}, because {found}")
            continue
        beside.append(part.text)
        added = _adopt(run.trace, part.trace, found)
        run.trace.tool_reports += part.trace.tool_reports
        moved = format_seconds(abs(found.shift_ns) * NS)
        run.trace.notes.append(
            f"{part.text} belongs to the run: {len(found.ranks)} ranks matched by {found.by}, its "
            f"clock moved by {moved} by the wall clocks of both; "
            f"{'it added ' + ', '.join(added) if added else 'it had nothing to add'}."
        )
        run.trace.notes += [f"{part.source.text}: {note}" for note in part.trace.notes]
    if beside or aside:
        run.trace.choices.append(_became(run, beside, aside))
    return run.trace


def _became(run: Part, beside: Sequence[str], aside: Sequence[str]) -> str:
    """What became of everything that was found."""
    used = f"; beside it {', '.join(beside)}" if beside else ""
    left = f"; left aside: {'; '.join(aside)}" if aside else ""
    return f"The run is {run.text}{used}{left}."


def _match(run: Trace, part: Part) -> _Match | str:
    """How a part belongs to the run, or why it does not."""
    other = part.trace
    if other.format is run.format:
        return "it is another run, or another recording of the same one by the same tool"
    ranks = _match_ranks(run, other)
    if isinstance(ranks, str):
        return ranks
    if not run.origin_unix_ns or not other.origin_unix_ns:
        which = part.text if not other.origin_unix_ns else run.source
        return f"{which} has no wall clock, so that its times cannot be placed"
    shift_ns = other.origin_unix_ns - run.origin_unix_ns
    first, last = _extent(run)
    begin, end = (moment + shift_ns for moment in _extent(other))
    if begin > last:
        return f"it began {format_seconds((begin - last) * NS)} after the end of the run"
    if end < first:
        return f"it ended {format_seconds((first - end) * NS)} before the begin of the run"
    return _Match(ranks[0], ranks[1], shift_ns)


def _extent(trace: Trace) -> tuple[int, int]:
    begin = min((rank.start_ns for rank in trace.ranks), default=0)
    end = max((rank.end_ns for rank in trace.ranks), default=0)
    if trace.tensors is not None:
        begin, end = min(begin, trace.tensors.start_ns), max(end, trace.tensors.end_ns)
    return begin, end


def _match_ranks(run: Trace, other: Trace) -> tuple[list[tuple[Rank, Rank]], str] | str:
    pids = {rank.pid: rank for rank in run.ranks if rank.pid}
    unique = len(pids) == sum(1 for rank in run.ranks if rank.pid)
    theirs = [rank.pid for rank in other.ranks]
    if unique and len(set(theirs)) == len(theirs) and all(pid in pids for pid in theirs):
        return [(pids[rank.pid], rank) for rank in other.ranks], "process id"
    if other.format.is_of_one_process and run.world_size > 1:
        return "it does not say which rank it is of"
    numbers = {rank.number: rank for rank in run.ranks}
    strange = [rank.number for rank in other.ranks if rank.number >= run.world_size]
    if strange:
        return f"it has a rank {max(strange)}, and the run has {counted(run.world_size, 'rank')}"
    pairs = [(numbers[rank.number], rank) for rank in other.ranks if rank.number in numbers]
    if not pairs:
        return "none of its ranks is in the run"
    differing = [(a, b) for a, b in pairs if a.pid and b.pid and a.pid != b.pid]
    if differing and all(a.host == b.host for a, b in differing):
        a, b = differing[0]
        return f"its rank {b.number} was process {b.pid}, that of the run was process {a.pid}"
    return pairs, "rank number"


def _adopt(run: Trace, other: Trace, match: _Match) -> list[str]:
    """Gives the run what it does not have; returns what that was."""
    added: set[str] = set()
    if other.tensors is not None and run.tensors is None:
        other.tensors.shift(match.shift_ns)
        run.tensors = other.tensors
        added.add("operations by tensor")
    names = _Names(run.names, other.names)
    communicators = _communicators(run, other)
    for mine, theirs in match.ranks:
        shift(theirs, match.shift_ns)
        added |= {name for name in TABLES if _adopt_table(mine, theirs, name, names)}
        if _adopt_memory(run, mine, other, theirs):
            added.add("lines that keep memory")
        if theirs.devices is not None and mine.devices is None:
            mine.devices = _devices(theirs.devices, names, communicators)
            mine.devices.watched = (theirs.start_ns, theirs.end_ns)
            added.add("devices")
    if "counters" in added:
        run.counter_kinds = {**other.counter_kinds, **run.counter_kinds}
    if "devices" in added:
        run.not_recorded = {**run.not_recorded, "devices": _window(match.ranks)}
    return sorted(added)


def _adopt_table(mine: Rank, theirs: Rank, name: str, names: "_Names") -> bool:
    """Whether a table was taken because the run has none."""
    table: Table = getattr(theirs, name)
    if not len(table) or len(getattr(mine, name)):
        return False
    covered = theirs.end_ns - theirs.start_ns >= COVERS_SHARE * (mine.end_ns - mine.start_ns)
    if name in OF_A_WHOLE_RUN and not covered:
        return False
    fields = table.dtype.names or ()
    if "name" in fields:
        table["name"] = names.translate(table["name"])
    if "tid" in fields:
        table["tid"][table["tid"] == theirs.main_tid] = mine.main_tid
    setattr(mine, name, table)
    return True


def _adopt_memory(run: Trace, mine: Rank, other: Trace, theirs: Rank) -> bool:
    """Whether a rank got the lines that keep memory, of which the run knew none of this rank."""
    told = next((one for one in other.memory_recordings if one.rank == theirs.number), None)
    if told is None or any(one.rank == mine.number for one in run.memory_recordings):
        return False
    mine.memory_windows = theirs.memory_windows
    run.memory_recordings = [*run.memory_recordings, replace(told, rank=mine.number)]
    return True


def _window(ranks: Sequence[tuple[Rank, Rank]]) -> str:
    """Why there are no figures of devices for the whole run, and for which part there are."""
    start = max(theirs.start_ns for _, theirs in ranks) * NS
    end = min(theirs.end_ns for _, theirs in ranks) * NS
    return (
        "devices were watched during a part of the run only; analyze that part with "
        f"--foa {start:.3f}:{end:.3f}"
    )


def _devices(activity: DeviceActivity, names: "_Names", communicators: Numbers) -> DeviceActivity:
    rows = activity.rows
    for table, column in ((rows, "name"), (rows, "op"), (activity.runtime, "name")):
        table[column] = names.translate(table[column])
    found: Numbers = rows["comm"]
    known = found >= 0
    found[known] = communicators[found[known]]
    return activity


def _communicators(run: Trace, other: Trace) -> Numbers:
    """The place in the run's communicators of each of the other trace; new ones are added."""
    places = {c.members: place for place, c in reversed(list(enumerate(run.communicators)))}
    result = []
    for communicator in other.communicators:
        if communicator.members not in places:
            places[communicator.members] = len(run.communicators)
            run.communicators.append(communicator)
        result.append(places[communicator.members])
    return np.array(result, np.int32)


class _Names:
    """Numbers of names of another trace as numbers of the run's; used ones are added."""

    def __init__(self, mine: list[str], theirs: Sequence[str]) -> None:
        self._mine, self._theirs = mine, theirs
        self._places = {name: place for place, name in reversed(list(enumerate(mine)))}

    def translate(self, column: Numbers) -> Numbers:
        """The column with the run's numbers."""
        return mapped(column, self._place).astype(np.int32)

    def _place(self, number: int) -> int:
        if not 0 <= number < len(self._theirs):
            return number
        name = self._theirs[number]
        if name not in self._places:
            self._places[name] = len(self._mine)
            self._mine.append(name)
        return self._places[name]
