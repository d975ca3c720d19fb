"""Which profiles are of one run: their times would mean nothing beside those of another."""

from collections.abc import Callable, Hashable, Sequence
from datetime import datetime, timezone

from perfscope.errors import UnreadableInputError
from perfscope.joined import Joined
from perfscope.readers.kineto.file import EPOCH_NS, KinetoContents
from perfscope.readers.kineto.ranks import process_of, rank_told
from perfscope.units import NS_PER_S

NEAR_NS = 10 * 10**9
"""Profiles of one run lie at most so far apart: clocks of hosts differ by less, by far."""
SHOWN_FILES = 3
Files = Sequence[KinetoContents]


def refuse_several_runs(files: Files) -> None:
    """Lets the profiles of one run pass, also where its processes were profiled several times.

    Raises:
        UnreadableInputError: they are of several runs; it says which file is of which.
    """
    found = sorted(_runs(files), key=lambda run: (run[0].start_ns, str(run[0].path)))
    if len(found) < 2:
        return
    first = found[0][0].start_ns
    raise UnreadableInputError(
        f"These profiles are of {len(found)} runs, which cannot be analyzed as one.",
        why="; ".join(f"run {place}: {_said(run, first)}" for place, run in enumerate(found, 1))
        + ".",
        action="Give the profiles of one run alone, by their names or in a folder of their own.",
    )


def _runs(files: Files) -> list[list[KinetoContents]]:
    sizes = sorted({size for one in files if (size := _size(one))})
    told = [run for size in sizes for run in _of_size([f for f in files if _size(f) == size])]
    for run in _by_time([one for one in files if not _size(one)], NEAR_NS):
        beside = [other for other in told if _are_near(run, other)]
        if len(beside) == 1:
            beside[0].extend(run)
        else:
            told.append(run)
    return told


def _of_size(files: Files) -> list[list[KinetoContents]]:
    """The runs of one world size: by time, then by what cannot be twice in a run."""
    found = _by_time(files, NEAR_NS)
    if len(found) > 1 and _is_whole(found):
        return [list(files)]  # clocks of hosts that are set wrong
    return [run for one in found for run in _without_doubles(one)]


def _without_doubles(files: Files) -> list[list[KinetoContents]]:
    """Takes apart what holds a rank of two processes."""
    if not _doubles(files):
        return [list(files)]
    keys: list[Callable[[KinetoContents], Hashable]] = [
        lambda one: one.path.absolute().parent,
        lambda one: one.host_name,
    ]
    ways = [_by_time(files, 0), *(_by_key(files, key) for key in keys)]
    for way in ways:
        if not any(map(_doubles, way)):
            return way
    kept: list[list[KinetoContents]] = []
    for one in files:
        home = next((run for run in kept if not _doubles([*run, one])), None)
        if home is None:
            kept.append([one])
        else:
            home.append(one)
    return kept


def _doubles(files: Files) -> bool:
    """Whether a rank is there as two processes."""
    seen: dict[int, KinetoContents] = {}
    for one in files:
        rank = rank_told(one)
        if rank is None:
            continue
        other = seen.setdefault(rank, one)
        if process_of(other) != process_of(one):
            return True
    return False


def _by_key(files: Files, key: Callable[[KinetoContents], Hashable]) -> list[list[KinetoContents]]:
    found: dict[Hashable, list[KinetoContents]] = {}
    for one in files:
        found.setdefault(key(one), []).append(one)
    return list(found.values())


def _by_time(files: Files, near_ns: int) -> list[list[KinetoContents]]:
    """Profiles that overlap, but for a little, or are of one process or file."""
    joined = Joined[int]()
    same: dict[Hashable, int] = {}
    for place, one in enumerate(files):
        process = process_of(one)
        keys: list[Hashable] = [one.path]
        if process.pid:
            keys.append((process, rank_told(one)))
        if one.start_ns < EPOCH_NS:
            keys.append("no moment is known")
        for key in keys:
            joined.join(same.setdefault(key, place), place)
    order = sorted(range(len(files)), key=lambda place: files[place].start_ns)
    reach, before = None, 0
    for place in order:
        if reach is not None and files[place].start_ns <= reach + near_ns:
            joined.join(before, place)
        reach = max(reach or files[place].end_ns, files[place].end_ns)
        before = place
    found: dict[int, list[KinetoContents]] = {}
    for place in order:
        found.setdefault(joined.of(place), []).append(files[place])
    return list(found.values())


def _is_whole(parts: Sequence[Files]) -> bool:
    """Whether parts far apart in time are hosts of one job: together they are all of its ranks."""
    hosts = [{one.host_name for one in part} for part in parts]
    ranks = [{rank_told(one) for one in part} for part in parts]
    size = _size(parts[0][0])
    named = all(name for part in hosts for name in part)
    return (
        named
        and sum(map(len, hosts)) == len(set().union(*hosts))
        and sum(map(len, ranks)) == len(set().union(*ranks)) == size
        and None not in set().union(*ranks)
    )


def _are_near(run: Files, other: Files) -> bool:
    return any(
        one.start_ns <= two.end_ns + NEAR_NS and two.start_ns <= one.end_ns + NEAR_NS
        for one in run
        for two in other
    )


def _size(contents: KinetoContents) -> int:
    """How many ranks a file says that its job has, 0 unknown."""
    size = contents.distributed.get("world_size")
    return size if type(size) is int and size > 0 else 0


def _said(run: Files, first_ns: int) -> str:
    """How a run is called: its ranks, when it was, and its files."""
    names = sorted({f"{one.path.parent.name}/{one.path.name}" for one in run})
    more = f" and {len(names) - SHOWN_FILES} more" if len(names) > SHOWN_FILES else ""
    ranks = {number for one in run if (number := rank_told(one)) is not None}
    size = next((size for one in run if (size := _size(one))), 0)
    of = f"{len(ranks)} of {size} ranks, " if size and ranks else ""
    start = min(one.start_ns for one in run)
    if start == first_ns and start >= EPOCH_NS:
        when = f"from {datetime.fromtimestamp(start // 10**9, timezone.utc):%Y-%m-%d %H:%M:%S} UTC"
    else:
        when = f"{_length((start - first_ns) / NS_PER_S)} later"
    return f"{of}{when} ({', '.join(names[:SHOWN_FILES])}{more})"


def _length(seconds: float) -> str:
    return f"{seconds / 3600:,.1f} h" if seconds >= 3600 else f"{seconds:,.1f} s"
