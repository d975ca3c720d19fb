"""Which rank wrote each profile, and which of a rank's profiles is analyzed."""

import os
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from perfscope.readers.kineto.file import KinetoContents
from perfscope.structures import dataclass
from perfscope.trace.damage import SPOILS_COMPARISON, Damage
from perfscope.units import counted

MOST_RANKS = 1_000_000
_RANK = re.compile(r"rank[-_ ]?(\d{1,7})(?!\d)", re.IGNORECASE)
_WORKER = re.compile(r"(.+)_(\d{1,9})\.\d+\.pt\.trace\.json")
"""HOST_PID.TIME, as torch.profiler.tensorboard_trace_handler names a file."""


@dataclass(frozen=True)
class Process:
    """Who wrote a profile; "" where that is not known."""

    host: str
    pid: str

    @property
    def text(self) -> str:
        """How the process is called in notes."""
        return f"process {self.pid}" + (f" on {self.host}" if self.host else "")


def number_ranks(
    files: Sequence[KinetoContents],
) -> tuple[dict[int, KinetoContents], list[str], list[Damage]]:
    """The profile to be analyzed of each rank, how the ranks are known, and which are doubtful."""
    folder = Path(os.path.commonpath([file.path.absolute().parent for file in files]))
    files, copies = _once(sorted(files, key=lambda file: (file.start_ns, str(file.path))), folder)
    known: dict[int, list[KinetoContents]] = {}
    unknown: list[list[KinetoContents]] = []
    guessed, strange = 0, 0
    for contents in files:
        number = rank_told(contents)
        is_guessed = number is None
        if is_guessed and not contents.part.process:
            number = _named(contents.path.absolute().relative_to(folder))
        if number is None:
            _add(unknown, contents)
        elif is_guessed and _is_of_another(contents, known.get(number, ())):
            strange += 1
            _add(unknown, contents)
        else:
            guessed += is_guessed
            known.setdefault(number, []).append(contents)
    notes = copies + _how(
        len(files), guessed, strange, sum(map(len, unknown)) - strange, len(unknown)
    )
    free = (number for number in range(MOST_RANKS) if number not in known)
    parts = known | dict(zip(free, unknown, strict=False))
    ranked = {}
    damage: list[Damage] = []
    for number, profiles in sorted(parts.items()):
        ranked[number] = _chosen(profiles, files)
        notes += _left_aside(number, ranked[number], profiles)
        if not damage:
            damage += _doubled(number, ranked[number], profiles)
    return ranked, notes, damage


def _once(files: Sequence[KinetoContents], folder: Path) -> tuple[list[KinetoContents], list[str]]:
    """The profiles without copies of others, and which were left aside as such."""
    kept: dict[tuple[object, ...], KinetoContents] = {}
    notes = []
    for contents in files:
        whose = (process_of(contents), contents.part.process, rank_told(contents))
        named = _named(contents.path.absolute().relative_to(folder))
        tables = (contents.host, contents.calls, contents.counters)
        rows = (contents.device_count, *map(len, tables))
        extent = (contents.start_ns, contents.end_ns)
        first = kept.setdefault((*whose, named, *rows, *extent), contents)
        if first is not contents:
            mine, other = _told_apart(contents.path, first.path)
            notes.append(f"{mine} was left aside: it tells the same as {other}.")
    return list(kept.values()), notes


def _told_apart(mine: Path, other: Path) -> tuple[str, str]:
    """The names of two files, with their folders where they are called alike."""
    if mine.name == other.name:
        return f"{mine.parent.name}/{mine.name}", f"{other.parent.name}/{other.name}"
    return mine.name, other.name


def _doubled(
    number: int, chosen: KinetoContents, profiles: Sequence[KinetoContents]
) -> list[Damage]:
    """That other processes say at the same time that they are this rank: one is not, or no run."""
    others = [one for one in profiles if one is not chosen and _is_of_another(one, [chosen])]
    if not others:
        return []
    count = counted(len(others) + 1, "process", "processes")
    text = (
        f"{count} say at the same time that they are rank {number} ({chosen.path.name}, "
        f"{others[0].path.name}{', ...' if others[1:] else ''}): which of them it is, is not known."
    )
    return [Damage("doubled_rank", text, SPOILS_COMPARISON)]


def rank_told(contents: KinetoContents) -> int | None:
    """The rank as the file itself says it."""
    number = contents.rank
    return number if type(number) is int and 0 <= number < MOST_RANKS else None


def _named(path: Path) -> int | None:
    """The rank in a file's name, else in the name of the nearest folder around it."""
    for name in reversed(path.parts):
        found = _RANK.search(name)
        if found and int(found[1]) < MOST_RANKS:
            return int(found[1])
    return None


def process_of(contents: KinetoContents) -> Process:
    """The process with most events of the host, and its host."""
    worker = _WORKER.match(contents.path.name)
    if contents.part.pid:
        return Process(contents.host_name, contents.part.pid)
    events: Counter[str] = Counter()
    for thread in contents.threads:
        events[thread.process] += thread.events
    pid = max(events, key=lambda process: events[process], default="")
    host = contents.host_name or (worker[1] if worker else "")
    return Process(host, pid or (worker[2] if worker else ""))


def _add(processes: list[list[KinetoContents]], contents: KinetoContents) -> None:
    """Puts a profile to the others of its process: a process is profiled once at a time."""
    mine = process_of(contents)
    for profiles in processes:
        same = process_of(profiles[0]) == mine and mine.pid
        if same and not any(_overlap(contents, other) for other in profiles):
            profiles.append(contents)
            return
    processes.append([contents])


def _is_of_another(contents: KinetoContents, others: Iterable[KinetoContents]) -> bool:
    """Whether another process was profiled at the same time, under the same number."""
    mine = process_of(contents)
    return any(_overlap(contents, other) and process_of(other) != mine for other in others)


def _overlap(one: KinetoContents, other: KinetoContents) -> bool:
    return one.start_ns < other.end_ns and other.start_ns < one.end_ns


def _how(files: int, guessed: int, strange: int, unnamed: int, processes: int) -> list[str]:
    if files == 1:
        return []
    notes = []
    if guessed:
        files_named = counted(guessed, "file")
        notes.append(f"Ranks taken from the names of files or folders: of {files_named}.")
    if strange:
        notes.append(
            f"Numbered in order of time: {counted(strange, 'file')} named like a rank that another "
            "process has at the same time."
        )
    if unnamed:
        notes.append(
            f"No rank is named in {counted(unnamed, 'file')}; the processes that wrote "
            f"{'it' if unnamed == 1 else 'them'} ({processes}) were numbered in order of time."
        )
    return notes


def _chosen(profiles: Sequence[KinetoContents], files: Sequence[KinetoContents]) -> KinetoContents:
    """The profile that most others were recorded beside, so that ranks can be compared."""
    if len(profiles) == 1:
        return profiles[0]
    starts = np.sort([file.start_ns for file in files])
    ends = np.sort([file.end_ns for file in files])
    beside = [
        int(np.searchsorted(starts, file.end_ns) - np.searchsorted(ends, file.start_ns, "right"))
        for file in profiles
    ]
    return profiles[beside.index(max(beside))]


def _left_aside(
    number: int, chosen: KinetoContents, profiles: Sequence[KinetoContents]
) -> list[str]:
    notes = []
    for contents in profiles:
        if contents is chosen:
            continue
        process = process_of(contents)
        is_same = process.pid and process == process_of(chosen)
        whose = f" ({process.text} wrote both)" if is_same else ""
        apart = (contents.start_ns - chosen.start_ns) / 1e9
        when = f"{abs(apart):,.1f} s {'after' if apart >= 0 else 'before'}"
        names = _told_apart(contents.path, chosen.path)
        notes.append(
            f"{names[0]} is another profile of rank {number}, begun {when} {names[1]}{whose}; "
            "it was left aside. Give it alone to have it analyzed."
        )
    return notes
