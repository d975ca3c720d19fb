"""Processes of the recording become ranks of the model, on the trace's clock."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from perfscope.readers.common.amounts import MAX_AMOUNT
from perfscope.readers.recording import agent_metadata
from perfscope.readers.recording.endings import (
    ObservedEnds,
    end_time_ns,
    ending_of,
    observed_end,
    silent_ns,
)
from perfscope.readers.recording.handed_calls import take_handed_calls
from perfscope.readers.recording.interning import Interning
from perfscope.readers.recording.layout import HeaderFlag
from perfscope.readers.recording.process_file import ProcessFile
from perfscope.readers.recording.record_tables import CallsRead, Tables, read_tables
from perfscope.readers.recording.starts import Starts
from perfscope.readers.recording.thinned import call_totals_of, thinning_of
from perfscope.readers.recording.totals import totals_of
from perfscope.readers.recording.wall_clocks import Clock
from perfscope.structures import dataclass
from perfscope.trace.counts import count_under
from perfscope.trace.loops import values_seen
from perfscope.trace.model import Rank, ThreadInfo
from perfscope.trace.moving import times_of
from perfscope.trace.operations import code_of
from perfscope.trace.started import STARTED
from perfscope.units import counted, were

_OF_A_THREAD = ("tid", "name", "cpu_ns", "queue_ns", "seen", "runnable_seen")
_FINALIZE = code_of("MPI_Finalize")


@dataclass(frozen=True)
class RankContext:
    """What the recording as a whole says about one rank; `clock` leads to the trace's own zero."""

    number: int
    clock: Clock
    clock_offset_ns: int
    ends: ObservedEnds
    command_exit: tuple[int | None, int | None] | None
    workers: Sequence[ProcessFile]
    starts: Starts | None = None


MOST_TOGETHER = 1 << 18
"""Records of processes that become tables at once, for which they are held twice."""


def assemble_ranks(
    every: Sequence[tuple[ProcessFile, RankContext]], interning: Interning
) -> Iterator[Rank]:
    """The ranks that processes were, in their order; notes go to the processes and the interning.

    The processes' calls are given away.
    """
    group: list[tuple[CallsRead, RankContext]] = []
    records = 0
    for place, (process, context) in enumerate(every):
        group.append((_calls_read(process, context, interning), context))
        records += len(group[-1][0].others)
        if records >= MOST_TOGETHER or place == len(every) - 1:
            tables = read_tables([read for read, _ in group])
            for (read, own), found in zip(group, tables, strict=True):
                yield _rank(read, own, found)
            group, records = [], 0


def _calls_read(process: ProcessFile, context: RankContext, interning: Interning) -> CallsRead:
    definitions = process.definitions
    if process.framework_rank is not None:
        # communicators of a world of its own have no partners here
        definitions = replace(definitions, communicators={})
    numbering = interning.number(definitions, rank=context.number)
    seen = observed_end(process, context.ends)
    return CallsRead(process, numbering, end_of=lambda last_ns: end_time_ns(process, last_ns, seen))


def _rank(read: CallsRead, context: RankContext, tables: Tables) -> Rank:
    process, is_of_mpi = read.process, read.process.framework_rank is None
    seen = observed_end(process, context.ends)
    header, offset = process.header, context.clock.offset_ns
    rank = Rank(
        number=context.number,
        host=process.host,
        pid=process.pid,
        start_ns=process.start_ns + offset,
        end_ns=tables.end_ns + offset,
        main_tid=_main_tid(process, tables),
        ending=ending_of(process, seen, command_exit=context.command_exit),
        silent_ns=silent_ns(process, tables.end_ns, seen),
        init_exit_ns=_shifted(process.init_exit_ns, offset) if is_of_mpi else None,
        finalize_enter_ns=_shifted(_finalize_ns(process, tables), offset) if is_of_mpi else None,
        program_end_ns=_shifted(_program_end_ns(process, tables), offset),
        cpus_allowed=process.definitions.affinity,
        cpu_count_allowed=min(int(header["cpus_allowed"]), 1 << 20),
        cgroup_cpus=_cpus(int(header["cgroup_cpu_quota_us"])),
        cgroup_memory_bytes=_limit(int(header["cgroup_memory_limit"])),
        clock_domain=context.clock.domain,
        clock_offset_ns=context.clock_offset_ns,
        clock_error_ns=context.clock.error_ns,
        mpi_library=process.definitions.library,
        detail_end_ns=_shifted(process.first_drop_ns, offset),
        dropped_records=process.dropped + process.cut_off,
        sampler_cpu_ns=_samplers_ns(process),
        threads=_threads(header),
        metadata=_metadata(process, context.starts),
        workers=[_worker(worker) for worker in context.workers],
        thinning=thinning_of(process),
    )
    _attach(process, rank, tables, offset)
    rank.loop_turns = values_seen(rank.metadata, offset)
    rank.totals, rank.call_totals = (
        totals_of(process, rank),
        call_totals_of(process, read.numbering),
    )
    _note_quality(process, context.number, tables)
    return rank


def _main_tid(process: ProcessFile, tables: Tables) -> int:
    """The thread of the program: where Horovod's thread initialized MPI, the process's first."""
    if np.any(tables.by_name["background"]["tid"] == process.main_tid):
        return process.pid
    return process.main_tid


def _finalize_ns(process: ProcessFile, tables: Tables) -> int | None:
    """When the rank had done its work: Horovod's thread finalizes as soon as any rank has."""
    moment = process.finalize_enter_ns
    if moment is None or not np.any(tables.by_name["background"]["op"] == _FINALIZE):
        return moment
    main = tables.by_name["phases"]["tid"] == process.pid
    ends = (tables.by_name["steps"]["t1"], tables.by_name["phases"]["t1"][main])
    return max([moment, *(int(column.max()) for column in ends if len(column))])


def _program_end_ns(process: ProcessFile, tables: Tables) -> int | None:
    """When the agent's exit handler ran, the last one, within the life that the records tell."""
    moment = agent_metadata.integer(process.metadata, "program_end_ns")
    return moment if moment and process.start_ns <= moment <= tables.end_ns else None


def _attach(process: ProcessFile, rank: Rank, tables: Tables, offset: int) -> None:
    for name, table in tables.by_name.items():
        for column in times_of(table) if len(table) else ():
            table[column] += offset
        setattr(rank, name, table)
    join_first_thread(rank)
    if handed := take_handed_calls(rank):
        process.notes.append(
            f"Rank {rank.number}: {were(handed, 'MPI call')} made by other threads while the main "
            "thread was idle: they count as its own."
        )


def _note_quality(process: ProcessFile, number: int, tables: Tables) -> None:
    for reason, rows in sorted(tables.left_out.items()):
        process.notes.append(f"Rank {number}: {counted(rows, 'record')} left out: {reason}.")
    for reason, rows in sorted(tables.incomplete.items()):
        text = f"{counted(rows, 'record')} {reason}; their time is counted."
        process.notes.append(f"Rank {number}: {text}")
    if process.dropped:
        why = "the size limit was reached"
        if process.flags & HeaderFlag.DISK_FULL:
            why = "the disk was full"
        process.notes.append(
            f"Rank {number}: {were(process.dropped, 'record')} dropped because {why}; totals per "
            "operation are complete."
        )


def _threads(header: np.void) -> tuple[ThreadInfo, ...]:
    entries = header["threads"]
    used = entries[(entries["seen"] > 0) & (entries["runnable_seen"] <= entries["seen"])]
    used = used[(used["cpu_ns"] < MAX_AMOUNT) & (used["queue_ns"] < MAX_AMOUNT)]
    columns = (used[name].tolist() for name in _OF_A_THREAD)
    return tuple(
        ThreadInfo(tid, name.split(b"\0")[0].decode("utf-8", "replace"), *amounts)
        for tid, name, *amounts in zip(*columns, strict=True)
    )


def _worker(process: ProcessFile) -> dict[str, Any]:
    return {
        "pid": process.pid,
        "host": process.host,
        "role": process.role,
        "argv": list(agent_metadata.texts(process.metadata, "argv")),
    }


def _metadata(process: ProcessFile, starts: Starts | None) -> Mapping[str, Any]:
    """What the agent noted, with what it noted of processes that this one started."""
    if starts is None:
        return process.metadata
    return {**process.metadata, STARTED: starts.told(count_under(process.metadata, "forks"))}


def _shifted(moment_ns: int | None, offset_ns: int) -> int | None:
    return None if moment_ns is None else moment_ns + offset_ns


def _samplers_ns(process: ProcessFile) -> int:
    """CPU time of what looks at the process, and of what looks at its Python stacks."""
    stacks = agent_metadata.mapping(process.metadata, "stack_sampler")
    looking_ns = max(0, agent_metadata.integer(stacks, "cpu_ns") or 0)
    return min(int(process.header["sampler_cpu_ns"]) + looking_ns, MAX_AMOUNT)


def _cpus(quota_us: int) -> float | None:
    return quota_us / 1e6 if 0 < quota_us < MAX_AMOUNT else None


def _limit(memory_bytes: int) -> int | None:
    return memory_bytes if 0 < memory_bytes < MAX_AMOUNT else None


def join_first_thread(rank: Rank) -> None:
    """Has the thread that trains go on with what the first thread did until then.

    The thread of the program is then one sequence from start to end; what the first thread does
    later, mostly waiting, is that of another thread. Where MPI was initialized, its thread is the
    one, whatever others do.
    """
    if rank.main_tid == rank.pid or rank.init_exit_ns is not None:
        return
    told = (rank.operations, rank.phases)
    begins = np.concatenate([table["t0"][table["tid"] == rank.main_tid] for table in told])
    if not len(begins):
        return
    moment = begins.min()
    for table, column in ((rank.operations, "t0"), (rank.phases, "t0"), (rank.stacks, "t")):
        table["tid"][(table["tid"] == rank.pid) & (table[column] < moment)] = rank.main_tid
