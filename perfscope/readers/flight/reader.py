"""Reads dumps of PyTorch's flight recorder, one for each rank: who never came to which collective.

They hold when operations were put into a queue, and hardly ever how long they took: no efficiency
follows. Pickles are read without executing them.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path

from perfscope.errors import UnreadableInputError
from perfscope.readers.common.amounts import LATEST_NS
from perfscope.readers.common.tool_reports import report, reporting_trace, table
from perfscope.readers.detect import Place, Reader, ReadOptions, Tells
from perfscope.readers.flight.dump import PROTO, Dump, Entry, read_dump
from perfscope.readers.kineto.reader import read_each
from perfscope.schema.enums import Quantity
from perfscope.schema.other_tools import Cell, ToolTable
from perfscope.trace.damage import SPOILS_COMPARISON, Damage
from perfscope.trace.model import Format, Trace
from perfscope.units import counted

_SIGNS = re.compile(rb'"(?:collective_seq_id|last_enqueued_collective)"\s*:')
_IN_PICKLE = (b"collective_seq_id", b"last_enqueued_collective", b"pg_status")
MOST_SAID = 4
DAY_NS = 86400 * 10**9
APART_NS = DAY_NS
"""A job that hangs is ended within hours, and all of its ranks write their dumps then."""
MEETING = re.compile(r"all_?reduce|all_?gather|reduce_?scatter|all_?to_?all|barrier", re.IGNORECASE)
"""Collectives that no rank leaves before the last one has come."""
WHY = "a dump of the flight recorder tells when operations were queued, and not how long they took"
Key = tuple[str, int]
"""A process group and the number of a collective on it."""


def _recognizes(place: Place) -> bool:
    head = place.head
    if head[:1] == PROTO:
        return any(word in head for word in _IN_PICKLE)
    return head.lstrip()[:1] == b"{" and _SIGNS.search(head) is not None


def _open(paths: Sequence[Path], _: ReadOptions) -> Trace:
    """The run that these dumps are of.

    Raises:
        UnreadableInputError: none of them can be read.
    """
    dumps, notes = read_each(paths, read_dump)
    _refuse_several_runs(dumps)
    ranks = _by_rank(dumps)
    damage = []
    if len(ranks) < len(dumps):
        text = "Several dumps are of one rank by their names: the last one of each counts."
        damage.append(Damage("doubled_rank", text, SPOILS_COMPARISON))
    notes += [
        f"{dump.path.name}: {counted(dump.without_time, 'operation')} without a usable time."
        for dump in ranks.values()
        if dump.without_time
    ]
    moments = [e.created_ns for dump in ranks.values() for e in dump.entries if e.created_ns]
    told = report(
        f"PyTorch's flight recorder {dumps[0].release}".strip(),
        dumps[0].path if len(dumps) == 1 else dumps[0].path.parent,
        _sentences(ranks),
        [_unfinished(ranks), _progress(ranks), _operations(ranks)],
    )
    trace = reporting_trace(
        dumps[0].path,
        Format.FLIGHT,
        told,
        why=WHY,
        ranks=list(ranks),
        world_size=_world_size(ranks.values()),
        origin_unix_ns=min(moments, default=0),
        wall_ns=max(moments, default=0) - min(moments, default=0),
        notes=notes,
    )
    trace.damage += damage
    return trace


def _world_size(dumps: Iterable[Dump]) -> int:
    """As many as the ranks that the process groups of these dumps have, 0 where they tell none."""
    told = (one for dump in dumps for ranks in dump.members.values() for one in ranks)
    return max(told, default=-1) + 1


def _refuse_several_runs(dumps: Sequence[Dump]) -> None:
    """Lets dumps pass whose operations were queued within some hours of each other.

    Raises:
        UnreadableInputError: they are of runs at other times, or count in other units.
    """
    known: dict[str, tuple[tuple[int, ...], Dump]] = {}
    for dump in dumps:
        for name, ranks in dump.members.items():
            before, first = known.setdefault(name, (ranks, dump))
            if before != ranks:
                raise _several_runs(
                    f"Process group {name} has other ranks in {dump.path.name} than in "
                    f"{first.path.name}."
                )
    told = [(extent, dump) for dump in dumps if (extent := dump.extent_ns) is not None]
    told.sort(key=lambda one: one[0])
    for (earlier, one), (later, other) in pairwise(told):
        if later[0] - earlier[1] > APART_NS:
            days = (later[0] - earlier[1]) / DAY_NS
            raise _several_runs(
                f"The operations in {other.path.name} were queued {days:,.1f} days after those in "
                f"{one.path.name}."
            )


def _several_runs(why: str) -> UnreadableInputError:
    return UnreadableInputError(
        "These dumps are of several runs, or count their times in other units.",
        why=why,
        action="Give the dumps of one run alone, by their names or in a folder of their own.",
    )


def _by_rank(dumps: Sequence[Dump]) -> dict[int, Dump]:
    """The dumps by the number at the end of their names, else in their order."""
    if any(dump.rank is None for dump in dumps):
        return dict(enumerate(dumps))
    by_time = sorted(dumps, key=lambda one: one.extent_ns or (0, 0))
    return {dump.rank or 0: dump for dump in sorted(by_time, key=lambda one: one.rank or 0)}


def _collectives(ranks: Mapping[int, Dump]) -> dict[Key, dict[int, Entry]]:
    found: dict[Key, dict[int, Entry]] = defaultdict(dict)
    for rank, dump in ranks.items():
        for entry in dump.entries:
            if not entry.is_message and entry.number >= 0:
                found[entry.group, entry.number][rank] = entry
    return found


def _sentences(ranks: Mapping[int, Dump]) -> list[str]:
    found = _collectives(ranks)
    said = [*_behind(ranks, found), *_different(found)]
    late = [(rank, e) for rank, dump in ranks.items() for e in dump.entries if not e.is_done]
    if late and not said:
        rank, entry = min(late, key=lambda one: one[1].created_ns or LATEST_NS)
        where = f", called in {entry.where}" if entry.where else ""
        said.append(
            f"{counted(len(late), 'operation')} had not ended when the dump was made; the "
            f"oldest is number {entry.number} of {entry.group} on rank {rank}, {entry.name}{where}."
        )
    count = sum(len(dump.entries) for dump in ranks.values())
    of = counted(len(ranks), "rank")
    said.append(f"It holds the last {counted(count, 'operation')} of {of}.")
    return said[:MOST_SAID]


def _behind(ranks: Mapping[int, Dump], found: Mapping[Key, Mapping[int, Entry]]) -> Iterator[str]:
    """Which ranks never came to the last collective of a group that others are in, oldest first.

    A dump that was made before others were there tells nothing of them, which is said instead.
    """
    last: dict[str, dict[int, int]] = defaultdict(dict)
    for group, number in found:
        for rank in found[group, number]:
            last[group][rank] = max(last[group].get(rank, -1), number)
    early = _early(ranks, found, last)
    if early:
        rank, (group, number) = min(early.items())
        said = "dump of {} was" if len(early) == 1 else "dumps of {} were"
        yield (
            f"The {said.format(_listed(sorted(early)))} made before the other ranks were in "
            f"collective {number} of {group}, too early to tell who never came to it: make all "
            "dumps at one time."
        )
    found_behind: list[tuple[int, str]] = []
    for group, all_reached in last.items():
        reached = {rank: number for rank, number in all_reached.items() if rank not in early}
        least, most = min(reached.values(), default=0), max(reached.values(), default=0)
        if least == most:
            continue
        behind = sorted(rank for rank, number in reached.items() if number == least)
        ahead = min(rank for rank, number in reached.items() if number == most)
        waiting = found.get((group, least + 1), {}).get(ahead)
        since = waiting.created_ns if waiting and waiting.created_ns else LATEST_NS
        where = f" in {waiting.where}" if waiting and waiting.where else ""
        what = f", {waiting.name}{where}," if waiting else ""
        text = (
            f"In {group} rank {behind[0]} came to collective {least}, and rank {ahead} to {most}: "
            f"number {least + 1}{what} was never reached by {_listed(behind)}."
        )
        found_behind.append((since, text))
    yield from (text for _, text in sorted(found_behind))


def _early(
    ranks: Mapping[int, Dump],
    found: Mapping[Key, Mapping[int, Entry]],
    last: Mapping[str, Mapping[int, int]],
) -> dict[int, Key]:
    """Ranks whose dump was made before the next collective of a group had begun, and which one.

    It was where others have ended one there that no rank leaves before all have come, or where the
    file is older than their call of the next one. A copy of a file may be younger than its dump.
    """
    ended: dict[str, int] = {}
    for (group, number), by_rank in found.items():
        if any(e.is_done and MEETING.search(e.name) for e in by_rank.values()):
            ended[group] = max(ended.get(group, -1), number)
    early: dict[int, Key] = {}
    for group, reached in last.items():
        for rank, number in reached.items():
            following = found.get((group, number + 1), {}).values()
            begun = min((e.created_ns for e in following if e.created_ns), default=0)
            if ended.get(group, -1) > number or ranks[rank].written_ns < begun:
                early.setdefault(rank, (group, number + 1))
    return early


def _different(found: Mapping[Key, Mapping[int, Entry]]) -> Iterator[str]:
    """Collectives that are not the same on all ranks."""
    for (group, number), by_rank in sorted(found.items()):
        names = {entry.name for entry in by_rank.values()}
        if len(names) > 1:
            told = ", ".join(f"{e.name} on rank {rank}" for rank, e in list(by_rank.items())[:3])
            yield f"Collective {number} of {group} is another operation on each rank: {told}."
            return


def _listed(ranks: Sequence[int]) -> str:
    shown = ", ".join(str(rank) for rank in ranks[:5])
    more = f" and {len(ranks) - 5} more" if len(ranks) > 5 else ""
    return f"rank{'s' if len(ranks) > 1 else ''} {shown}{more}"


def _unfinished(ranks: Mapping[int, Dump]) -> ToolTable:
    columns = {
        "Rank": Quantity.COUNT,
        "Group": Quantity.TEXT,
        "Number": Quantity.COUNT,
        "Operation": Quantity.CODE,
        "State": Quantity.TEXT,
        "Sizes": Quantity.TEXT,
        "Called in": Quantity.CODE,
    }
    rows: list[tuple[Cell, ...]] = [
        (rank, e.group, e.number, e.name, e.state, e.sizes, e.where or None)
        for rank, dump in ranks.items()
        for e in dump.entries
        if not e.is_done
    ]
    return table("Operations that had not ended", columns, rows)


def _progress(ranks: Mapping[int, Dump]) -> ToolTable:
    names = ("Last enqueued", "Last started", "Last completed")
    columns = {"Group": Quantity.TEXT, "Rank": Quantity.COUNT}
    columns |= dict.fromkeys(names, Quantity.COUNT)
    keys = sorted((group, rank) for rank, dump in ranks.items() for group in dump.status)
    rows = [(group, rank, *ranks[rank].status[group]) for group, rank in keys]
    return table("How far each rank came in each process group", columns, rows)


def _operations(ranks: Mapping[int, Dump]) -> ToolTable:
    """Operations by name; lateness is from the first rank to the last, by their wall clocks."""
    count: dict[str, int] = defaultdict(int)
    spent: dict[str, list[float]] = defaultdict(list)
    late: dict[str, list[int]] = defaultdict(list)
    for dump in ranks.values():
        for entry in dump.entries:
            count[entry.name] += 1
            if entry.seconds is not None:
                spent[entry.name].append(entry.seconds)
    for by_rank in _collectives(ranks).values():
        moments = [entry.created_ns for entry in by_rank.values() if entry.created_ns]
        if len(moments) > 1:
            late[next(iter(by_rank.values())).name].append(max(moments) - min(moments))
    columns = {
        "Operation": Quantity.CODE,
        "Calls": Quantity.COUNT,
        "On the device, mean": Quantity.SECONDS,
        "First to last rank, mean": Quantity.SECONDS,
    }
    rows = [
        (name, calls, _mean(spent[name]), _mean([ns / 1e9 for ns in late[name]]))
        for name, calls in sorted(count.items(), key=lambda one: (-one[1], one[0]))
    ]
    return table("Operations of all ranks", columns, rows)


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None


READER = Reader(
    format=Format.FLIGHT,
    description="dumps of PyTorch's flight recorder (pickles or JSON, one for each rank)",
    recognizes=_recognizes,
    open=_open,
    tells=Tells(
        waits="who never came to which collective",
        clock="yes",
        known_from="dumps that PyTorch wrote of Gloo; of NCCL, 64 published ones by hand",
    ),
    joins=True,
)
