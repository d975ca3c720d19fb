"""Files that hold several processes, such as perfscope's exports and merged profiles, by rank."""

import re
from dataclasses import replace

import numpy as np

from perfscope.arrays import Ints
from perfscope.readers.kineto.file import ANNOTATION, RUNTIME, KinetoContents, Part, ProcessName
from perfscope.readers.kineto.host import is_step
from perfscope.readers.kineto.ranks import process_of
from perfscope.trace.devices import LAUNCH_UNKNOWN
from perfscope.trace.model import Table
from perfscope.units import counted

Places = Ints
_RANK = re.compile(r"rank[-_ ]?(\d{1,6})(?!\d)(?:\s*\(([^()]*)\)$)?", re.IGNORECASE)
_HOST_LABEL = re.compile(r"(CPU|pid \d+)?$", re.IGNORECASE)
"""What stands on processes of the host; on others stands their device: GPU 0, XPU 1, NPU, ..."""
_PID = re.compile(r"pid (\d{1,9})$")


def split(contents: KinetoContents) -> tuple[list[KinetoContents], list[str]]:
    """One part for each process of the host in a file, and what could not be given to any."""
    of = _thread_processes(contents)
    owners = _processes(contents, of)
    if len(owners) < 2:
        return [replace(contents, part=_only(contents))], _others(contents, of)
    device = _owners_of_device_rows(contents, owners)
    parts = [_one(contents, place, of, device) for place in owners]
    kept = [part for part in parts if part.start_ns <= part.end_ns]
    if len(kept) < 2:  # names of processes that do nothing here
        return [replace(contents, part=_only(contents))], _others(contents, of)
    kept[0].counts = contents.counts
    name = contents.path.name
    notes = [f"{name} holds {len(kept)} processes of the host; each was read as a rank."]
    host = np.concatenate([of[contents.host["thread"]], of[contents.calls["thread"]]])
    for what, places in (("device", device), ("host", host)):
        if lost := int(np.count_nonzero(~np.isin(places, owners))):
            all_events = counted(len(places), f"{what} event")
            notes.append(
                f"{name}: left out {lost:,} of {all_events} that could not "
                "be given to one of these processes. Give the profile of each rank instead."
            )
    return kept, notes


def _thread_processes(contents: KinetoContents) -> Places:
    """Of each thread, the place of its process."""
    places = {process.number: place for place, process in enumerate(contents.processes)}
    return np.array([*(places[thread.process] for thread in contents.threads), -1], np.int64)


def _processes(contents: KinetoContents, of: Places) -> list[int]:
    """Processes that are ranks: those that step, launch or communicate, if several do the same."""
    host = contents.host
    devices = _device_processes(contents, of)
    named = [
        place
        for place, one in enumerate(contents.processes)
        if _RANK.search(one.name) and place not in devices
    ]
    if max(len(set(of.tolist())) - 1, len(named)) < 2:
        return []
    steps = [place for place in np.unique(host["name"]).tolist() if is_step(contents.names[place])]
    candidates = [
        of[host["thread"][np.isin(host["name"], steps)]],
        _launching(contents, of),
        of[contents.calls["thread"]],
        np.array(named, np.int64),
    ]
    found: set[int] = set()
    for every in map(np.unique, candidates):
        places = every[~np.isin(every, list(devices))]
        if len(places) > 1:
            found.update(places.tolist())
    return _with_devices_of_their_rank(contents, of, sorted(found))


def _with_devices_of_their_rank(
    contents: KinetoContents, of: Places, owners: list[int]
) -> list[int]:
    """The processes without those that are but the devices of another one: `RANK 3 - GPU`."""
    program = set(of[np.concatenate([contents.host["thread"], contents.calls["thread"]])].tolist())
    hosts = {_rank_of(contents, place) for place in owners if place in program} - {None}
    return [place for place in owners if place in program or _rank_of(contents, place) not in hosts]


def _rank_of(contents: KinetoContents, place: int) -> int | None:
    """The rank in the name of a process."""
    named = _RANK.search(contents.processes[place].name)
    return int(named[1]) if named else None


def _device_processes(contents: KinetoContents, of: Places) -> set[int]:
    """Processes that are a device and not a rank: labeled as one, or of nothing but its work.

    Calls of a device's runtime may stand in them; what a program does itself does not, unless the
    process has the number of the device, as PyTorch's profiler numbers them.
    """
    host, calls = contents.host, contents.calls
    program = np.concatenate([host["thread"][host["kind"] != RUNTIME], calls["thread"]])
    own_work = set(np.unique(of[program]).tolist())
    numbers: dict[int, set[str]] = {}
    device = contents.device["device"].astype(np.int64)
    first = int(device.min(initial=0))
    span = int(device.max(initial=0)) - first + 1
    work = contents.device_processes.astype(np.int64) * span + device - first
    for place, number in zip(*np.divmod(np.unique(work), span), strict=True):
        numbers.setdefault(int(place), set()).add(str(int(number) + first))
    return {
        place
        for place, one in enumerate(contents.processes)
        if not _HOST_LABEL.match(one.labels)
        or one.name.startswith("/device:")
        or (
            place in numbers
            and not _RANK.search(one.name)
            and (place not in own_work or numbers[place] == {one.number})
        )
    }


def _launching(contents: KinetoContents, of: Places) -> Places:
    """Processes that launched work of a device; where none did, those that call its runtime."""
    launches = contents.launches
    used = np.isin(launches["correlation"], contents.device["correlation"])
    if np.any(used):
        found: Places = launches["process"][used]
        return found
    callers: Places = of[contents.host["thread"][contents.host["kind"] == RUNTIME]]
    return callers


def _others(contents: KinetoContents, of: Places) -> list[str]:
    """A word where annotations of several processes are there that are not ranks."""
    rows = contents.host[contents.host["kind"] == ANNOTATION]
    several = np.unique(of[rows["thread"]])
    if len(several) < 2:
        return []
    note = (
        f"{contents.path.name} holds annotations of {len(several)} processes, of which only one "
        "runs steps or launches work; it was read as one rank."
    )
    return [note]


def _owners_of_device_rows(contents: KinetoContents, owners: list[int]) -> Places:
    """The process of each device row: its event's own, that which launched it, or its device's."""
    own = contents.device_processes.astype(np.int64)
    of_rank = {rank: place for place in owners if (rank := _rank_of(contents, place)) is not None}
    owner = np.full(len(contents.processes), -1, np.int64)
    for place in np.unique(own).tolist():
        rank = _rank_of(contents, place)
        owner[place] = place if place in owners else -1 if rank is None else of_rank.get(rank, -1)
    found = owner[own]
    launches = contents.launches[np.isin(contents.launches["process"], owners)]
    if len(launches):
        first = np.searchsorted(launches["correlation"], contents.device["correlation"])
        behind = np.searchsorted(launches["correlation"], contents.device["correlation"], "right")
        left = launches["process"][np.minimum(first, len(launches) - 1)]
        right = launches["process"][np.maximum(behind, 1) - 1]
        sole = (behind > first) & (left == right)
        found = np.where((found < 0) & sole, left, found)
    if len(found):
        _vote(found, np.stack([own, contents.device["device"]], 1), owners)
    _launch_again(contents.device, found, launches)
    return found


def _vote(found: Places, devices: Ints, owners: list[int]) -> None:
    """Rows whose launch is not clear belong to the process of most others of their device.

    A device of which nothing is clear is that of the only process that has none.
    """
    _, device = np.unique(devices, axis=0, return_inverse=True)
    device = device.reshape(-1)
    known = found >= 0
    pairs = np.stack([device[known], found[known]], 1)
    pairs, counts = np.unique(pairs, axis=0, return_counts=True)
    best = np.full(int(device.max()) + 1, -1, np.int64)
    for number, process in pairs[np.argsort(counts, kind="stable")].tolist():
        best[number] = process
    idle, free = sorted(set(owners) - set(best.tolist())), np.flatnonzero(best < 0)
    if len(idle) == len(free) == 1:
        best[free] = idle
    found[~known] = best[device[~known]]


def _launch_again(rows: Table, owners: Places, launches: Table) -> None:
    """Correlations are those of one process: takes the launch of the row's own."""
    if not len(launches):
        return
    most = int(launches["process"].max()) + 1
    keys = launches["correlation"] * most + launches["process"]
    wanted = rows["correlation"] * most + owners
    place = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    is_own = (keys[place] == wanted) & (owners >= 0) & (rows["correlation"] > 0)
    shared = np.isin(rows["correlation"], launches["correlation"]) & ~is_own
    rows["launch"][shared] = LAUNCH_UNKNOWN
    rows["launch"][is_own] = launches["t"][place[is_own]]


def _one(contents: KinetoContents, place: int, of: Places, device: Places) -> KinetoContents:
    """What a file holds of one process; `of` tells the process of threads, `device` of its rows."""
    tables = {
        "device": contents.device[device == place],
        "host": contents.host[of[contents.host["thread"]] == place],
        "calls": contents.calls[of[contents.calls["thread"]] == place],
    }
    counters = contents.counters[contents.counters["process"] == place]
    starts = [int(rows["t0"].min()) for rows in tables.values() if len(rows)]
    ends = [int(rows["t1"].max()) for rows in tables.values() if len(rows)]
    if len(counters):
        starts.append(int(counters["t"].min()))
        ends.append(int(counters["t"].max()))
    return replace(
        contents,
        **tables,
        counters=counters,
        counts=dict.fromkeys(contents.counts, 0),
        start_ns=min(starts, default=1),
        end_ns=max(ends, default=0),
        part=_part(contents.processes[place]),
    )


def _only(contents: KinetoContents) -> Part:
    """What the file says of the only process of the host in it."""
    number = process_of(contents).pid
    told = [_part(one) for one in contents.processes if one.number == number]
    return replace(told[0], process="") if told else Part()


def _part(process: ProcessName) -> Part:
    """What a process is called; exports of perfscope write `rank 3 (node7)` and `pid 4711`."""
    named, labeled = _RANK.search(process.name), _PID.match(process.labels)
    return Part(
        process=process.number,
        rank=int(named[1]) if named else None,
        host=(named[2] or "") if named else "",
        pid=labeled[1] if labeled else process.number,
    )
