"""Reads a run directory that `perfscope run` wrote into the trace model."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from perfscope.progress import counted
from perfscope.readers.common.clocks import measure, shift
from perfscope.readers.detect import Reader
from perfscope.readers.recording import TELLS, agent_metadata, unseen_collectives
from perfscope.readers.recording.awaited_steps import share_waits
from perfscope.readers.recording.definitions import frame_of
from perfscope.readers.recording.endings import (
    ObservedEnds,
    after_work,
    ended_by_its_job,
    left_by_themselves,
    stopped_on_request,
)
from perfscope.readers.recording.framework_operations import adopt, unseen_communication
from perfscope.readers.recording.gpu_samples import GpuNumbering, adopt_gpus
from perfscope.readers.recording.input_queues import adopt_queues
from perfscope.readers.recording.interning import Interning
from perfscope.readers.recording.memory_detail import ENDING as MEMORY_ENDING
from perfscope.readers.recording.memory_detail import read_memory_detail
from perfscope.readers.recording.process_file import ProcessFile
from perfscope.readers.recording.rank_assembly import RankContext, assemble_ranks
from perfscope.readers.recording.run_directory import (
    LATE_WRITING_NS,
    RUN_FILE,
    RunValues,
    read_processes,
    read_run,
)
from perfscope.readers.recording.stack_sampling import STATE_ENDING, read_stack_sampling
from perfscope.readers.recording.starts import read_starts
from perfscope.readers.recording.wall_clocks import Clock, align, domain_of
from perfscope.readers.recording.worker_samples import adopt_workers
from perfscope.readers.recording.worlds import Arrangement, arrange, arrange_attempts
from perfscope.trace.model import Format, Rank, Trace
from perfscope.trace.stack_spans import MemoryRecording, StackSampling

__all__ = ["frame_of", "is_recording", "open_attempts", "open_recording"]


def is_recording(path: Path) -> bool:
    """Whether a directory looks like what `perfscope run` writes."""
    return path.is_dir() and ((path / RUN_FILE).exists() or any(path.glob("*/*.rec")))


def open_recording(path: Path, *, recent_s: float | None = None) -> Trace:
    """The trace of a recorded run.

    What cannot be read or cannot be true is left out and said in `Trace.notes`.

    `recent_s` is for what was recorded in the last seconds of each process alone, and what was open
    then, as of a job that still runs; None for all of it.

    Raises:
        UnreadableInputError: there is nothing to analyze in it.
    """
    run = read_run(path)
    processes, ends = read_processes(path, run, recent_s)
    arrangement = arrange(
        processes, ranks_requested=agent_metadata.integer(run.values, "ranks_requested")
    )
    return _Assembly(path, run, arrangement, ends).trace()


def open_attempts(path: Path) -> list[Trace]:
    """The traces of the groups of ranks in a recording that lived one after the other.

    A launcher that starts ranks anew when some have failed leaves one for each attempt.

    Raises:
        UnreadableInputError: there is nothing to analyze in it.
    """
    run = read_run(path)
    processes, ends = read_processes(path, run, None)
    found = arrange_attempts(processes)
    return [_Assembly(path, run, arrangement, ends).trace() for arrangement in found]


class _Assembly:
    """Puts the processes of the chosen world on one clock and into one set of names."""

    def __init__(
        self, path: Path, run: RunValues, arrangement: Arrangement, ends: Mapping[str, ObservedEnds]
    ) -> None:
        self._path, self._run, self._ends = path, run, ends
        self._arrangement = arrangement
        self._numbers = sorted(arrangement.world.processes)
        self._processes = [arrangement.world.processes[number] for number in self._numbers]
        self._reference = self._choose_reference()
        # differences of times from here on are small enough to be exact as floating point
        self._provisional_ns = self._reference.start_ns
        recorded = [one.path for found in arrangement.workers.values() for one in found]
        folders = {process.path.parent for process in self._processes}
        self._starts = read_starts(folders, {path.stem for path in recorded})
        self._sampling: StackSampling | None = None
        self._memory: list[MemoryRecording] = []

    def _choose_reference(self) -> ProcessFile:
        """A rank that reads the clock that `perfscope run` did; its clock is that of the trace."""
        run = self._run
        at_home = [p for p in self._processes if run.shares_clock(p.boot_id, p.time_namespace)]
        return (at_home or self._processes)[0]

    def trace(self) -> Trace:
        world = self._arrangement.world
        interning = Interning(world.size)
        gpus = GpuNumbering()
        ranks = self._ranks(interning)
        self._sample_gpus(ranks, gpus)
        notes = adopt(ranks, interning.names, interning.communicators, world.size)
        self._judge_ends(ranks)
        clock_notes = measure(ranks)
        reports = unseen_collectives.take(ranks, interning.names, self._path)
        origin, wall = self._span(ranks)
        unseen = unseen_communication(ranks)
        notes += self._on_one_clock(ranks, origin, interning)
        return Trace(
            command=agent_metadata.texts(self._run.values, "command"),
            origin_unix_ns=self._reference.unix_ns(origin),
            origin_mono_ns=origin,
            clock=domain_of(self._reference),
            wall_ns=wall,
            launcher=self._run.launcher,
            exit_code=agent_metadata.integer(self._run.values, "exit_code"),
            world_size=world.size,
            ranks=ranks,
            names=interning.names,
            frames=interning.frames,
            stacks=interning.stacks,
            communicators=interning.communicators,
            gpus=gpus.gpus,
            environment=self._environment(),
            notes=[*self._notes(clock_notes), *interning.notes, *notes],
            source=str(self._path),
            tool_reports=reports,
            stack_sampling=self._sampling,
            memory_recordings=self._memory,
            not_recorded={"communication": unseen} if unseen else {},
            other_processes=[_brief(*other) for other in self._arrangement.others],
            elsewhere_ns=self._arrangement.elsewhere_ns,
        )

    def _judge_ends(self, ranks: Sequence[Rank]) -> None:
        """What the ends of ranks are in the job that they were in."""
        if self._ended_well:
            for rank in ranks:
                rank.ending = after_work(rank)
        elif not self._was_asked_to_end and left_by_themselves(ranks):
            for rank in ranks:
                rank.ending = replace(rank.ending, is_after_work=True)

    def _on_one_clock(
        self, ranks: Sequence[Rank], origin: int, interning: Interning
    ) -> Iterator[str]:
        """Brings all times to the beginning of the trace; tells what was assumed then."""
        for rank in ranks:
            shift(rank, self._provisional_ns - origin)
            adopt_queues(rank, interning.names)
            yield from share_waits(rank, interning.names)

    def _span(self, ranks: Sequence[Rank]) -> tuple[int, int]:
        """When the trace begins on the reference's clock, and how long the run was."""
        first = min(rank.start_ns for rank in ranks)
        start, end = self._run_times(first + self._provisional_ns)
        origin = first + self._provisional_ns if start is None else start
        if start is not None and end is not None:
            return origin, end - origin
        return origin, max(rank.end_ns for rank in ranks) - first

    def _notes(self, of_clocks: Sequence[str]) -> list[str]:
        """What is to be said of the run's files, and of how they were put together."""
        said = [*self._run.notes, *agent_metadata.texts(self._run.values, "notes")]
        said += [*self._arrangement.notes, *of_clocks]
        return said + [note for process in self._processes for note in process.notes]

    @property
    def _ended_well(self) -> bool:
        """Whether the command did, with nobody asking it to end."""
        is_well = agent_metadata.integer(self._run.values, "exit_code") == 0
        return is_well and not self._was_asked_to_end

    @property
    def _was_asked_to_end(self) -> bool:
        return bool(agent_metadata.texts(self._run.values, "signals_received"))

    def _ranks(self, interning: Interning) -> list[Rank]:
        """The ranks on the reference's clock as the wall clocks have it, from `_provisional_ns`."""
        clocks = align(self._processes, self._reference)
        ranks = []
        was_stopped = bool(agent_metadata.mapping(self._run.values, "stopped"))
        every = [
            (process, self._context(number, process, clock))
            for number, process, clock in zip(self._numbers, self._processes, clocks, strict=True)
        ]
        assembled = assemble_ranks(every, interning)
        for process, context in counted("putting ranks together", every):
            rank = next(assembled)
            workers = self._workers(context.number)
            adopt_workers(rank, process, workers, interning, context.clock.offset_ns)
            if (memory := read_memory_detail(rank, process, context.clock.offset_ns)) is not None:
                self._memory.append(memory)
            if was_stopped:
                rank.ending = stopped_on_request(rank.ending)
            elif self._ended_well:
                rank.ending = ended_by_its_job(rank.ending)
            ranks.append(rank)
        options = agent_metadata.mapping(self._run.values, "options")
        offsets = [clock.offset_ns - self._provisional_ns for clock in clocks]
        self._sampling = read_stack_sampling(ranks, self._processes, offsets, options)
        return ranks

    def _context(self, number: int, process: ProcessFile, clock: Clock) -> RankContext:
        return RankContext(
            number=number,
            clock=Clock(clock.offset_ns - self._provisional_ns, clock.error_ns, clock.domain),
            clock_offset_ns=clock.offset_ns,
            ends=self._ends.get(process.path.parent.name, {}),
            command_exit=self._command_exit(),
            workers=self._arrangement.workers.get(number, []),
            starts=self._starts.get((process.path.parent.name, process.pid)),
        )

    def _sample_gpus(self, ranks: Sequence[Rank], gpus: GpuNumbering) -> None:
        """Takes the samples of each process; one that is no rank may have sampled for the ranks."""
        for rank, process in zip(ranks, self._processes, strict=True):
            adopt_gpus(rank, process, gpus, rank.clock_offset_ns - self._provisional_ns)
        beside = [process for process, _ in self._arrangement.others]
        beside += [worker for number in self._numbers for worker in self._workers(number)]
        for process in beside:
            domain = domain_of(process)
            for rank, own in zip(ranks, self._processes, strict=True):
                if domain_of(own) == domain:
                    offset = rank.clock_offset_ns - self._provisional_ns
                    adopt_gpus(rank, process, gpus, offset)
                    break

    def _workers(self, number: int) -> Sequence[ProcessFile]:
        return self._arrangement.workers.get(number, [])

    def _run_times(self, first_ns: int) -> tuple[int | None, int | None]:
        """Start and end of the command on the reference clock; None when they do not fit it."""
        start, end = self._run.moment("start_mono_ns"), self._run.moment("end_mono_ns")
        if not self._run.shares_clock(self._reference.boot_id, self._reference.time_namespace):
            return None, None
        unix = self._run.moment("start_unix_ns")
        if start is None or start > first_ns or unix is None:
            return None, None
        if abs(self._reference.unix_ns(start) - unix) > LATE_WRITING_NS:
            self._run.notes.append(
                f"{RUN_FILE}: its start does not fit the ranks' clocks, ignored."
            )
            return None, None
        return start, end if end is not None and end >= start else None

    def _command_exit(self) -> tuple[int | None, int | None] | None:
        if not self._run.is_command_itself(self._arrangement.world.size):
            return None
        # A command that was stopped on request counts as exit code 0; how it really ended is here.
        values = agent_metadata.mapping(self._run.values, "stopped") or self._run.values
        return agent_metadata.integer(values, "exit_code"), agent_metadata.integer(values, "signal")

    def _environment(self) -> dict[str, Any]:
        values = self._run.values
        versions: dict[str, Any] = {}
        topology: dict[str, Any] = {}
        for process in self._processes:
            told = agent_metadata.mapping(process.metadata, "versions")
            for name, version in told.items():
                if isinstance(version, str):
                    versions.setdefault(name, version)
            if found := agent_metadata.mapping(process.metadata, "topology"):
                topology.setdefault(process.host, found)
        if (own := agent_metadata.mapping(values, "topology")) and not topology:
            topology[agent_metadata.text(values, "host") or self._reference.host] = own
        libraries = {p.definitions.library for p in self._processes if p.definitions.library}
        return {
            "hosts": sorted({process.host for process in self._processes}),
            "clock_domains": len({domain_of(process) for process in self._processes}),
            "versions": versions,
            "launcher": agent_metadata.mapping(values, "launcher"),
            "variables": agent_metadata.mapping(values, "environment"),
            "topology": topology,
            "mpi_libraries": sorted(libraries),
            "options": agent_metadata.mapping(values, "options"),
            "signal": agent_metadata.integer(values, "signal"),
            "signals_received": list(agent_metadata.texts(values, "signals_received")),
            "ranks_requested": agent_metadata.integer(values, "ranks_requested"),
            "elastic_sizes": list(self._arrangement.world.sizes),
            "perfscope": agent_metadata.text(values, "perfscope"),
            "commit": agent_metadata.mapping(values, "commit"),
            "oom_kills": _kills(values),
        }


def _kills(values: Mapping[str, Any]) -> dict[str, int]:
    """Processes that the kernel ended for want of memory meanwhile, by the launcher's host."""
    told = agent_metadata.mapping(values, "oom_kills")
    start, end = agent_metadata.integer(told, "start"), agent_metadata.integer(told, "end")
    host = agent_metadata.text(values, "host")
    if not host or start is None or end is None or not 0 <= start < end:
        return {}
    return {host: end - start}


def _brief(process: ProcessFile, world_rank: int | None) -> dict[str, Any]:
    """A process that is no rank of this job, or one of another MPI world."""
    return {
        "role": process.role,
        "world_rank": world_rank,
        "pid": process.pid,
        "host": process.host,
        "argv": list(agent_metadata.texts(process.metadata, "argv")),
    }


def _companions(path: Path) -> list[Path]:
    """What is read with the directory: run.json, and of each process records, names, metadata."""
    parts = [
        file.with_suffix(ending)
        for file in path.glob("*/*.rec")
        for ending in (".rec", ".def", ".json", STATE_ENDING, MEMORY_ENDING)
    ]
    return [path / RUN_FILE, *parts, *path.glob("*/*.stacks-*.json.gz")]


READER = Reader(
    Format.PERFSCOPE,
    "the directory that `perfscope run` printed (trace/)",
    lambda place: is_recording(place.path),
    lambda paths, _: open_recording(paths[0]),
    TELLS,
    is_directory=True,
    companions=_companions,
)
