"""Which processes are ranks, of which MPI world, and what the others belong to."""

from collections.abc import Sequence
from dataclasses import field

import numpy as np

from perfscope.readers.recording import agent_metadata, elastic
from perfscope.readers.recording.layout import RecordKind
from perfscope.readers.recording.process_file import ProcessFile
from perfscope.readers.recording.record_file import MAX_RANKS
from perfscope.schema.enums import PhaseKind
from perfscope.structures import dataclass

MOST_SIZES = 8
START_SPREAD_NS = 10 * 10**9
"""Ranks of one job may start this far apart: one that fails at once can be gone by then."""


_Clock = tuple[str, int]
"""The boot and the time namespace whose moments they are."""


@dataclass
class World:
    """Processes that are the ranks of one job."""

    job: str
    size: int
    processes: dict[int, ProcessFile] = field(default_factory=dict)
    sizes: Sequence[int] = ()
    """How many ranks it had, one after the other; empty where they are the same all the time."""
    _lives: dict[_Clock, tuple[int, int]] = field(default_factory=dict)
    """Latest start and earliest last sign of life, of those whose clocks can be compared."""

    @property
    def rank_seconds(self) -> float:
        """How much there is to analyze: the lives of its ranks together."""
        return sum(_life_ns(process) for process in self.processes.values()) / 1e9

    @property
    def step_seconds(self) -> float:
        """How long its ranks trained, as far as their steps were told."""
        return sum(_steps_ns(process) for process in self.processes.values()) / 1e9

    @property
    def began_ns(self) -> int:
        """When its first rank began, by the wall clock."""
        return min(_life(process)[0] for process in self.processes.values())

    @property
    def over_ns(self) -> int:
        """The last sign of life of any of its ranks."""
        return max(_life(process)[1] for process in self.processes.values())

    def is_apart_from(self, other: "World") -> bool:
        """Whether one of the two was over when the other began."""
        return self.over_ns <= other.began_ns or other.over_ns <= self.began_ns

    def admits(self, process: ProcessFile, number: int, *, size: int, job: str) -> bool:
        """Whether the process can be rank `number` of this world."""
        if self.size != size or self.job != job or number in self.processes:
            return False
        return self.overlaps(process)

    def overlaps(self, process: ProcessFile, spread_ns: int = START_SPREAD_NS) -> bool:
        """Whether the process and each of these can have lived at the same time."""
        start, end = _life(process)
        latest, earliest = self._lives.get(_clock(process), (start, end))
        return max(start, latest) <= min(end, earliest) + spread_ns

    def add(self, number: int, process: ProcessFile) -> None:
        """Makes the process rank `number`."""
        self.processes[number] = process
        start, end = _life(process)
        latest, earliest = self._lives.get(_clock(process), (start, end))
        self._lives[_clock(process)] = max(start, latest), min(end, earliest)


@dataclass
class Arrangement:
    """The world to analyze, the workers of its ranks, and all other processes."""

    world: World
    workers: dict[int, list[ProcessFile]]
    others: list[tuple[ProcessFile, int | None]]
    notes: list[str]
    elsewhere_ns: int = 0  # in which only ranks of other worlds lived


def arrange_attempts(processes: Sequence[ProcessFile]) -> list[Arrangement]:
    """Each world that lived after the one before was over, the first one first.

    Of worlds beside each other it is the one with the most rank-seconds, as in `arrange`.
    """
    worlds, rest = _all_worlds(processes)
    kept: list[World] = []
    for world in sorted(worlds, key=lambda w: -w.rank_seconds):
        if all(world.is_apart_from(other) for other in kept):
            kept.append(world)
    if not kept:
        return [arrange(processes, ranks_requested=None)]
    kept.sort(key=lambda world: world.began_ns)
    found = []
    for world in kept:
        workers, _ = _owned(world, rest)
        found.append(Arrangement(world, workers, [], []))
    return found


def _all_worlds(processes: Sequence[ProcessFile]) -> tuple[list[World], list[ProcessFile]]:
    """The worlds in a recording, and the processes that are in none."""
    ordered = sorted(processes, key=lambda p: (p.unix_ns(p.start_ns), p.host, p.pid))
    changing = [_changing(members) for members in elastic.jobs(ordered)]
    taken = {id(process) for world in changing for process in world.processes.values()}
    worlds, rest = _worlds([process for process in ordered if id(process) not in taken])
    trainers, rest = _trainers(rest)
    return changing + worlds + trainers, rest


def _changing(members: Sequence[ProcessFile]) -> World:
    """A world whose ranks came and went: every process is one, numbered as they began."""
    world = World("", len(members), sizes=elastic.sizes(members))
    for number, process in enumerate(members):
        world.add(number, process)
    return world


def arrange(processes: Sequence[ProcessFile], *, ranks_requested: int | None) -> Arrangement:
    """Chooses the world that trains longest, else lives longest, and says what the others are.

    On a busy machine a group of ranks that fails soon may live longer, as it starts, than the next.
    """
    worlds, rest = _all_worlds(processes)
    notes: list[str] = []
    elsewhere_ns = 0
    if worlds:
        world = max(worlds, key=lambda w: (len(worlds) > 1 and w.step_seconds, w.rank_seconds))
        elsewhere_ns = _elsewhere_ns(world, [w for w in worlds if w is not world])
        others: list[tuple[ProcessFile, int | None]] = [
            (process, number)
            for other in worlds
            if other is not world
            for number, process in other.processes.items()
        ]
        notes += _other_world_notes(world, [w for w in worlds if w is not world])
        notes += _changing_note(world)
    else:
        chosen = max(rest, key=lambda p: (_trained(p), p.role != "worker", _life_ns(p)))
        rest = [process for process in rest if process is not chosen]
        world, others = World("", 1), []
        world.add(0, chosen)
        if chosen.role == "worker":
            notes.append("No process was a rank; the longest-living one is analyzed as rank 0.")
    if ranks_requested is not None and ranks_requested > world.size and len(worlds) <= 1:
        notes.append(
            f"The command asked for {ranks_requested} ranks, but the recorded world has "
            f"{world.size}."
        )
    workers, unowned = _owned(world, rest)
    others += [(process, None) for process in unowned]
    return Arrangement(world, workers, others, notes, elsewhere_ns)


def _changing_note(world: World) -> list[str]:
    if not world.sizes:
        return []
    numbers = [str(size) for size in world.sizes[:MOST_SIZES]]
    more = ", ..." if len(world.sizes) > MOST_SIZES else ""
    note = (
        f"Ranks came and went while the job ran: it had {', then '.join(numbers)}{more} of them. "
        "Each process is shown as one rank, numbered as they began, which Horovod may have "
        "numbered otherwise."
    )
    return [note]


def _elsewhere_ns(world: World, others: Sequence[World]) -> int:
    """How long some other world lived before this one began or after it was over."""
    before = [(one.began_ns, min(one.over_ns, world.began_ns)) for one in others]
    after = [(max(one.began_ns, world.over_ns), one.over_ns) for one in others]
    found, reached = 0, 0
    for start, end in sorted(before + after):
        found += max(0, end - max(start, reached))
        reached = max(reached, end)
    return found


def _worlds(processes: Sequence[ProcessFile]) -> tuple[list[World], list[ProcessFile]]:
    """MPI's own ranks first; the agent's word fills the numbers that MPI left open."""
    worlds: list[World] = []
    rest: list[ProcessFile] = []
    told: list[ProcessFile] = []
    for process in processes:
        is_of_mpi = process.uses_mpi and process.framework_rank is None
        if is_of_mpi and 0 <= process.rank < process.size:
            _place(process, process.rank, size=process.size, worlds=worlds)
        else:
            told.append(process)
    mpi_worlds = list(worlds)
    for process in told:
        number, size = _told_rank(process)
        if number is None or process.role == "worker":
            rest.append(process)
            continue
        size = max(size or 0, number + 1)
        if size > MAX_RANKS:
            rest.append(process)
            continue
        same_job = [w for w in mpi_worlds if w.job in ("", agent_metadata.job_of(process.metadata))]
        home = next((w for w in same_job if w.size == size and number not in w.processes), None)
        if home is not None and home.overlaps(process):
            home.add(number, process)
        elif same_job:
            rest.append(process)
        else:
            _place(process, number, size=size, worlds=worlds)
    return worlds, rest


def _trainers(rest: Sequence[ProcessFile]) -> tuple[list[World], list[ProcessFile]]:
    """Processes that one process started and that train: numbered as they began.

    A parent that trains as well is one of them, the first; one that only evaluates what they have
    trained is none. A process that was told a number is
    none: it has lost it to the one that it started, or belongs to another job.
    """
    families: dict[tuple[str, int], list[ProcessFile]] = {}
    for process in rest:
        parent = agent_metadata.integer(process.metadata, "parent_pid")
        is_told = _told_rank(process)[0] is not None
        if process.role == "rank" and parent is not None and not is_told:
            families.setdefault((process.host, parent), []).append(process)
    worlds: list[World] = []
    for (host, parent), family in families.items():
        above = [p for p in rest if (p.host, p.pid) == (host, parent) and _learned(p)]
        world = World("", 1)
        for process in [*above, *family]:
            # one that began when another was over is the next attempt, fold or trial
            if world.processes and not world.overlaps(process, spread_ns=0):
                worlds.append(world)
                world = World("", 1)
            world.add(len(world.processes), process)
            world.size = len(world.processes)
        worlds.append(world)
    taken = {id(process) for world in worlds for process in world.processes.values()}
    return worlds, [process for process in rest if id(process) not in taken]


def _place(process: ProcessFile, number: int, *, size: int, worlds: list[World]) -> None:
    job = agent_metadata.job_of(process.metadata)
    for world in worlds:
        if world.admits(process, number, size=size, job=job):
            break
    else:
        world = World(job, size)
        worlds.append(world)
    world.add(number, process)


def _told_rank(process: ProcessFile) -> tuple[int | None, int | None]:
    if process.framework_rank is not None:
        return process.framework_rank
    number, size = agent_metadata.rank_and_size(process.metadata)
    if 0 <= process.rank < process.size:
        return process.rank, process.size
    return (number, size) if process.role == "rank" else (None, None)


def _owned(
    world: World, rest: Sequence[ProcessFile]
) -> tuple[dict[int, list[ProcessFile]], list[ProcessFile]]:
    """Workers by the rank that owns them, directly or through another worker; the others apart."""
    owners = {(p.host, p.pid): number for number, p in world.processes.items()}
    workers: dict[int, list[ProcessFile]] = {number: [] for number in world.processes}
    left = list(rest)
    while True:
        owned = [
            (process, owners[process.host, owner])
            for process in left
            if (owner := agent_metadata.integer(process.metadata, "owner_pid")) is not None
            and (process.host, owner) in owners
        ]
        if not owned:
            return workers, left
        for process, number in owned:
            workers[number].append(process)
            owners.setdefault((process.host, process.pid), number)
            left.remove(process)


def _other_world_notes(world: World, others: Sequence[World]) -> list[str]:
    notes = []
    if others:
        names = ", ".join(f"{len(w.processes)} of {w.size} ranks" for w in others[:5])
        members = [p for w in (world, *others) for p in w.processes.values()]
        kind = "MPI worlds" if all(p.uses_mpi for p in members) else "groups of ranks"
        notes.append(
            f"The recording holds {len(others) + 1} {kind}; the one with the most rank-seconds, "
            f"in steps if any has some ({len(world.processes)} of {world.size} ranks) is analyzed, "
            f"not: {names}."
        )
        if any(world.is_apart_from(other) for other in others):
            notes[-1] += " perfscope restarts tells of those that ran before or after it."
    singles = [w for w in (world, *others) if w.size == 1 and _launched_size(w) > 1]
    if len(singles) > 1:
        notes.append(
            f"{len(singles)} processes each were alone in their MPI_COMM_WORLD although the "
            f"launcher started {_launched_size(singles[0])}: the MPI library of the program is not "
            "that of the launcher."
        )
    return notes


def _launched_size(world: World) -> int:
    sizes = [agent_metadata.rank_and_size(p.metadata)[1] for p in world.processes.values()]
    return max((size for size in sizes if size is not None), default=0)


def _learned(process: ProcessFile) -> bool:
    """Whether the process has steps or computed gradients itself."""
    records = process.records
    is_backward = (records["kind"] == RecordKind.PHASE) & (records["op"] == PhaseKind.BACKWARD)
    return bool(np.any(is_backward | (records["kind"] == RecordKind.STEP)))


def _trained(process: ProcessFile) -> bool:
    """Whether it has steps or phases of any kind."""
    kinds = process.records["kind"]
    return bool(np.any((kinds == RecordKind.STEP) | (kinds == RecordKind.PHASE)))


def _steps_ns(process: ProcessFile) -> int:
    """How long its steps took together."""
    steps = process.records[process.records["kind"] == RecordKind.STEP]
    return int((steps["t1_ns"].astype(np.int64) - steps["t0_ns"].astype(np.int64)).sum())


def _life_ns(process: ProcessFile) -> int:
    return process.last_sign_ns - process.start_ns


def _life(process: ProcessFile) -> tuple[int, int]:
    """When the process began, and its last sign of life."""
    return process.unix_ns(process.start_ns), process.unix_ns(process.last_sign_ns)


def _clock(process: ProcessFile) -> _Clock:
    """What processes share whose moments can be compared."""
    return process.boot_id, process.time_namespace
