"""One dump of PyTorch's flight recorder: the last collectives of one rank."""

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from perfscope.errors import UnreadableInputError
from perfscope.files import parse_json
from perfscope.readers.common import texts
from perfscope.readers.common.amounts import LATEST_NS, MAX_AMOUNT
from perfscope.readers.flight_recorder.plain_pickle import NotPlainError, plain_value
from perfscope.structures import dataclass

WHAT = "a dump of the flight recorder"
ACTION = "Copy it again from the job; dumps are written by TORCH_NCCL_DUMP_ON_TIMEOUT=1."
PROTO = b"\x80"
LIBRARY = "/torch/"
_NUMBER = re.compile(r"(\d{1,6})(?:\.\w+)?$")
_WHOLE, _RANK = re.compile(r"\d+"), re.compile(r"\d{1,6}")
MOST_TENSORS, MOST_DIMENSIONS = 40, 20
"""Whose sizes are told."""
MOST_RANKS, MOST_LISTED = 1 << 20, 8
"""Of a process group: those that are read, and those that its name holds."""
Members = Mapping[str, tuple[int, ...]]


@dataclass(frozen=True)
class Entry:
    """One operation that a rank put into a process group's queue."""

    group: str  # the process group: what is told of it that no other group of the job shares
    number: int  # of a collective on the group; those of messages count apart
    name: str  # of the operation, with its backend
    is_message: bool
    state: str  # "scheduled", "started" or "completed"
    is_done: bool  # whether it was over when the dump was made
    created_ns: int  # when it was put there, since 1970; 0 unknown
    timeout_ns: int  # how long PyTorch waits for it before it ends the job; 0 unknown
    seconds: float | None  # how long it ran on the device, where PyTorch measured it
    sizes: str  # of what went in
    where: str  # the program's own line, else the innermost


@dataclass(frozen=True)
class Dump:
    """What one rank left; `status` are the last numbers by group: enqueued, started, completed."""

    path: Path
    written_ns: int  # when the file was changed last, since 1970
    rank: int | None
    release: str
    members: Mapping[str, tuple[int, ...]]  # ranks of each process group that tells them
    ranks_of: Mapping[str, tuple[int, ...]]  # the same of those that entries name, as they do
    entries: tuple[Entry, ...]
    status: Mapping[str, tuple[int | None, int | None, int | None]]

    @property
    def extent_ns(self) -> tuple[int, int] | None:
        """From when to when its operations were queued; None where no usable time is told."""
        moments = [entry.created_ns for entry in self.entries if entry.created_ns]
        return (min(moments), max(moments)) if moments else None

    @property
    def deadline_ns(self) -> int | None:
        """When the job was over at the latest, since PyTorch waits no longer; None unknown."""
        waiting = [e for e in self.entries if not e.is_done and e.created_ns and e.timeout_ns]
        return min((e.created_ns + e.timeout_ns for e in waiting), default=None)

    @property
    def without_time(self) -> int:
        """How many of its operations tell no time that can be."""
        return sum(not entry.created_ns for entry in self.entries)


def read_dump(path: Path) -> Dump:
    """The dump in a file, a pickle or JSON.

    Raises:
        UnreadableInputError: it is damaged, or would have to be executed.
    """
    notes: list[str] = []
    content = texts.content_of(path, notes.append, ACTION)
    try:
        value = plain_value(content) if content[:1] == PROTO else parse_json(content, [])
    except NotPlainError as error:
        why = f"As a pickle {error}; perfscope executes none."
        raise UnreadableInputError(f"{path} is not {WHAT}.", why=why, action=ACTION) from error
    except ValueError as error:
        why = f"Its JSON ends early or is damaged: {error}."
        raise UnreadableInputError(
            f"{path} cannot be read as {WHAT}.", why=why, action=ACTION
        ) from error
    document = texts.mapping(value)
    members = _members(texts.mapping(document.get("pg_config")))
    groups = _groups(document, members)
    entries = [_entry(row, members) for row in texts.rows(document.get("entries"))]
    if not entries and not document.get("pg_status"):
        why = "Neither `entries` nor `pg_status` holds anything."
        raise UnreadableInputError(f"{path} tells of no operation.", why=why, action=ACTION)
    number = _NUMBER.search(path.name)
    told = [row.get("process_group") for row in texts.rows(document.get("entries"))]
    pairs = [one for one in told if isinstance(one, list | tuple) and len(one) == 2]
    status = {
        groups.get(_shown(key), _shown(key)): _status(texts.mapping(told))
        for key, told in texts.mapping(document.get("pg_status")).items()
    }
    return Dump(
        path,
        path.stat().st_mtime_ns,
        int(number[1]) if number else None,
        texts.text(document, "version")[:20],
        members,
        {_group(one, members): members.get(_shown(one[0]), ()) for one in pairs},
        tuple(entries),
        status,
    )


def _members(config: Mapping[str, Any]) -> dict[str, tuple[int, ...]]:
    """The ranks of each process group, by its name; they are told as a text or as a list."""
    found = {}
    for name, group in config.items():
        told = texts.mapping(group).get("ranks")
        numbers = _WHOLE.findall(told) if isinstance(told, str) else told
        if isinstance(numbers, list | tuple):
            whole = [_shown(one) for one in numbers[:MOST_RANKS]]
            found[_shown(name)] = tuple(int(one) for one in whole if _RANK.fullmatch(one))
    return found


def _groups(document: Mapping[str, Any], members: Members) -> dict[str, str]:
    """What groups are called, by the numbers that `pg_status` has."""
    found = {}
    for row in texts.rows(document.get("entries")):
        told = row.get("process_group")
        if isinstance(told, list | tuple) and len(told) == 2:
            found[_shown(row.get("pg_id"))] = _group(told, members)
    return found


def _group(told: object, members: Members) -> str:
    """What a group is called: many have one description, as those of each tensor-parallel group."""
    if not isinstance(told, list | tuple) or len(told) != 2:
        return "?"
    name, description = (_shown(one) for one in told)
    called = description if description not in ("", "undefined") else name
    ranks = members.get(name, ())
    few = f"ranks {', '.join(map(str, ranks))}"
    of = few if len(ranks) <= MOST_LISTED else f"{len(ranks)} ranks"
    named = [*([name] if called != name else []), *([of] if ranks else [])]
    return f"{called} ({': '.join(named)})" if named else called


def _entry(row: Mapping[str, Any], members: Members) -> Entry:
    is_message = row.get("is_p2p") is True
    number = texts.whole(row, "p2p_seq_id" if is_message else "collective_seq_id")
    state = texts.text(row, "state")[:20]
    created = row.get("time_created_ns")
    duration, timeout = texts.amount(row, "duration_ms"), texts.whole(row, "timeout_ms")
    return Entry(
        group=_group(row.get("process_group"), members),
        number=-1 if number is None else number,
        name=texts.text(row, "profiling_name")[:120] or "unknown",
        is_message=is_message,
        state=state,
        is_done=state == "completed" or row.get("retired") is True,
        created_ns=created if isinstance(created, int) and 0 < created < LATEST_NS else 0,
        timeout_ns=min((timeout or 0) * 10**6, LATEST_NS),
        seconds=None if duration is None else duration / 1e3,
        sizes=_sizes(row.get("input_sizes")),
        where=_where(row.get("frames")),
    )


def _shown(value: object) -> str:
    """A text or a number; parts of a pickle may hold each other, and are never written out."""
    if isinstance(value, str):
        return value[:80]
    return str(value) if isinstance(value, int) and abs(value) < MAX_AMOUNT else "?"


def _sizes(told: object) -> str:
    """Of each tensor that went in its dimensions, "" where they are not told."""
    if not isinstance(told, list | tuple):
        return ""
    tensors = [one for one in told[:MOST_TENSORS] if isinstance(one, list | tuple)]
    written = [", ".join(_shown(size) for size in one[:MOST_DIMENSIONS]) for one in tensors]
    return f"[{', '.join(f'[{text}]' for text in written)}]"[:120]


def _where(told: object) -> str:
    frames = texts.rows(told)
    own = [row for row in frames if LIBRARY not in texts.text(row, "filename")]
    if not frames:
        return ""
    row = (own or frames)[0]
    file = texts.text(row, "filename")
    return f"{texts.text(row, 'name')} ({file}:{texts.whole(row, 'line') or 0})"[:300]


def _status(told: Mapping[str, Any]) -> tuple[int | None, int | None, int | None]:
    names = ("enqueued", "started", "completed")
    found = [texts.whole(told, f"last_{name}_collective") for name in names]
    return found[0], found[1], found[2]


DAY_NS = 86400 * 10**9
APART_NS = DAY_NS
"""A job that hangs is ended within hours, and all of its ranks write their dumps then."""


def refuse_several_runs(dumps: Sequence[Dump]) -> None:
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
    _refuse_later_runs(told)
    for (earlier, one), (later, other) in pairwise(told):
        if later[0] - earlier[1] > APART_NS:
            days = (later[0] - earlier[1]) / DAY_NS
            raise _several_runs(
                f"The operations in {other.path.name} were queued {days:,.1f} days after those in "
                f"{one.path.name}."
            )


def _refuse_later_runs(told: Sequence[tuple[tuple[int, int], Dump]]) -> None:
    """Lets dumps pass of which none begins when, by another one, PyTorch had ended the job.

    Raises:
        UnreadableInputError: one does, so it is of a later run.
    """
    ends = [(end, dump) for _, dump in told if (end := dump.deadline_ns) is not None]
    if not ends:
        return
    end_ns, first = min(ends, key=lambda one: one[0])
    (begun_ns, _), last = told[-1]
    if begun_ns > end_ns:
        raise _several_runs(
            f"An operation in {first.path.name} timed out {(begun_ns - end_ns) / 1e9:,.0f} s "
            f"before the first one in {last.path.name} was queued, so the job had ended."
        )


def _several_runs(why: str) -> UnreadableInputError:
    return UnreadableInputError(
        "These dumps are of several runs, or count their times in other units.",
        why=why,
        action="Give the dumps of one run alone, by their names or in a folder of their own.",
    )
