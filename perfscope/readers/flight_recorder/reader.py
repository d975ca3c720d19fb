"""Reads dumps of PyTorch's flight recorder, one for each rank: who never came to which collective.

They hold when operations were put into a queue, and hardly ever how long they took: no efficiency
follows. Pickles are read without executing them.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from perfscope.readers.common.amounts import LATEST_NS
from perfscope.readers.common.spread import read_each
from perfscope.readers.common.tool_reports import report, reporting_trace, table
from perfscope.readers.detect import Place, Reader, ReadOptions, Tells
from perfscope.readers.flight_recorder.dump import (
    PROTO,
    Dump,
    Entry,
    read_dump,
    refuse_several_runs,
)
from perfscope.schema.enums import Quantity
from perfscope.schema.other_tools import Cell, ToolTable
from perfscope.trace.damage import SPOILS_COMPARISON, Damage
from perfscope.trace.model import Format, Trace
from perfscope.units import counted

_SIGNS = re.compile(rb'"(?:collective_seq_id|last_enqueued_collective)"\s*:')
_IN_PICKLE = (b"collective_seq_id", b"last_enqueued_collective", b"pg_status")
MOST_SAID = 5
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
    refuse_several_runs(dumps)
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
    reached, absent = _reached(ranks, found)
    early = _early(ranks, found, reached)
    said = [
        *_too_early(early),
        *_of_others([*_behind(found, reached, early, absent), *_unended(ranks, found, early)]),
        *_different(found),
    ]
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


Reached = Mapping[str, Mapping[int, int]]
"""The last collective of each rank by process group."""
Named = tuple[int, Sequence[int], str]
"""When others began to wait, the ranks for which they wait, and a sentence that says so."""


def _reached(
    ranks: Mapping[int, Dump], found: Mapping[Key, Mapping[int, Entry]]
) -> tuple[Reached, set[tuple[str, int]]]:
    """How far each rank came in each group, and where that is not told but follows.

    Dumps may hold only what has not ended: a rank of a group that is in none of the collectives in
    which others wait came to the one before them at most.
    """
    last: dict[str, dict[int, int]] = defaultdict(dict)
    waiting: dict[str, int] = {}
    for (group, number), by_rank in found.items():
        for rank in by_rank:
            last[group][rank] = max(last[group].get(rank, -1), number)
        if not any(entry.is_done for entry in by_rank.values()):
            waiting[group] = min(waiting.get(group, number), number)
    absent = set()
    if all(dump.rank is not None for dump in ranks.values()):
        members = {group: of for dump in ranks.values() for group, of in dump.ranks_of.items()}
        for group, number in waiting.items():
            missing = ranks.keys() & set(members.get(group, ())) - last[group].keys()
            last[group] |= dict.fromkeys(missing, number - 1)
            absent |= {(group, rank) for rank in missing}
    return last, absent


def _of_others(found: Iterable[Named]) -> Iterator[str]:
    """The sentences of which each names a rank that none before it does."""
    said: set[int] = set()
    for _, named, text in found:
        if not said.issuperset(named):
            yield text
        said.update(named)


def _too_early(early: Mapping[int, Key]) -> Iterator[str]:
    """That a dump was made before others were there: it tells nothing of who never came."""
    if early:
        group, number = early[min(early)]
        said = "dump of {} was" if len(early) == 1 else "dumps of {} were"
        yield (
            f"The {said.format(_listed(sorted(early)))} made before the other ranks were in "
            f"collective {number} of {group}, too early to tell who never came to it: make all "
            "dumps at one time."
        )


def _behind(
    found: Mapping[Key, Mapping[int, Entry]],
    reached: Reached,
    early: Mapping[int, Key],
    absent: set[tuple[str, int]],
) -> list[Named]:
    """Which ranks never came to the last collective of a group that others are in, oldest first."""
    found_behind: list[Named] = []
    for group, all_reached in reached.items():
        of_group = {rank: number for rank, number in all_reached.items() if rank not in early}
        least, most = min(of_group.values(), default=0), max(of_group.values(), default=0)
        if least == most:
            continue
        behind = sorted(rank for rank, number in of_group.items() if number == least)
        ahead = min(rank for rank, number in of_group.items() if number == most)
        waiting = found.get((group, least + 1), {}).get(ahead)
        since = waiting.created_ns if waiting and waiting.created_ns else LATEST_NS
        where = f" in {waiting.where}" if waiting and waiting.where else ""
        what = f", {waiting.name}{where}," if waiting else ""
        at_most = " at most" if (group, behind[0]) in absent else ""
        text = (
            f"In {group} rank {behind[0]} came to collective {least}{at_most}, and rank {ahead} to "
            f"{most}: number {least + 1}{what} was never reached by {_listed(behind)}."
        )
        found_behind.append((since, behind, text))
    return sorted(found_behind)


def _unended(
    ranks: Mapping[int, Dump],
    found: Mapping[Key, Mapping[int, Entry]],
    early: Mapping[int, Key],
) -> list[Named]:
    """Ranks that queued a collective which has ended on others and not on them, oldest first.

    What no rank leaves before all have come ended for those others because these had come.
    """
    stuck: list[Named] = []
    for group in sorted({group for group, _ in found}):
        told = {rank: dump.status.get(group) for rank, dump in ranks.items() if rank not in early}
        ended = {rank: one[2] for rank, one in told.items() if one and one[2] is not None}
        least, most = min(ended.values(), default=0), max(ended.values(), default=0)
        by_rank = found.get((group, least + 1), {})
        behind = sorted(rank for rank, number in ended.items() if number == least)
        waiting = by_rank.get(behind[0]) if behind else None
        if least == most or waiting is None or not MEETING.search(waiting.name):
            continue
        if not all(rank in by_rank for rank in behind):
            continue
        others = sorted(rank for rank, number in ended.items() if number > least)
        text = (
            f"In {group} collective {least + 1}, {waiting.name}, ended on {_listed(others)} and "
            f"not on {_listed(behind)}, where it was queued: look at what their devices do."
        )
        stuck.append((waiting.created_ns or LATEST_NS, behind, text))
    return sorted(stuck)


def _early(
    ranks: Mapping[int, Dump],
    found: Mapping[Key, Mapping[int, Entry]],
    last: Reached,
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
        known_from="dumps that PyTorch wrote of Gloo; NCCL's by the facts of 16 published ones",
    ),
    joins=True,
)
