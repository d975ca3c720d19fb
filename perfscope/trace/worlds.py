"""Whether the processes of a job formed one MPI world, and which MPI library they loaded."""

from collections.abc import Mapping

import numpy as np

from perfscope.trace.model import Rank, Trace, open_rows
from perfscope.trace.operations import OperationClass, codes_mask

SIZE_VARIABLES = ("OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "WORLD_SIZE")
"""What a launcher of processes tells each of them; an outer batch system's own comes after."""

_STARTS = codes_mask([OperationClass.INIT])
_MAY_BE_RANKS = ("", "rank")
"""Roles of processes: without Python nothing tells one."""

STEP_IDS = 0xFFFFFF00
"""Slurm's ids from here on are of batch scripts and interactive shells, which are one process."""


def separate_worlds(trace: Trace) -> int:
    """Processes that were started as one job and each became rank 0 of 1; 0 when that is not so.

    A process that nobody launched is a job of its own, however many its batch system reserves, and
    one that has not come out of MPI_Init yet has not said which rank it is.
    """
    if all(rank.init_exit_ns is None for rank in trace.ranks):
        return 0
    sizes = [asked_for(trace) or 0]
    sizes += [_launched(rank) for rank in trace.ranks]
    launched = max(sizes)
    others = any(process.get("world_rank") == 0 for process in trace.other_processes)
    if trace.world_size != 1 or (trace.launcher == "direct" and not others):
        return 0
    return launched if launched > 1 else 0


def asked_for(trace: Trace) -> int | None:
    """How many ranks the command asks its launcher for, None where it does not say."""
    return _count(trace.environment.get("ranks_requested")) or None


def has_changing_ranks(trace: Trace) -> bool:
    """Whether ranks came and went while the job ran, as its launcher lets them."""
    return bool(trace.environment.get("elastic_sizes"))


def starting(trace: Trace) -> int:
    """Processes of a job that was last seen in MPI_Init, where nothing else tells their ranks.

    0 where ranks are known, or the one process there is has no other beside it.
    """
    first = trace.ranks[0] if trace.ranks else None
    if first is None or trace.world_size > 1 or first.init_exit_ns is not None:
        return 0
    rows = first.operations
    if not _STARTS[rows["op"][open_rows(rows["flags"])]].any():
        return 0
    unknown = [one for one in trace.other_processes if one.get("world_rank") is None]
    return 1 + sum(one.get("role") in _MAY_BE_RANKS for one in unknown)


def apart(trace: Trace) -> int:
    """How many programs a trace holds that never exchange anything; 0 where it is one job.

    Several programs may still be one job, coupled by messages or by a communicator of both.
    """
    programs = trace.programs
    of_rank = {rank: place for place, members in enumerate(programs) for rank in members}
    if len(programs) < 2 or any(_meets_others(rank, trace, of_rank) for rank in trace.ranks):
        return 0
    return len(programs)


def _meets_others(rank: Rank, trace: Trace, of_rank: Mapping[int, int]) -> bool:
    """Whether a rank exchanges anything with one of another program."""
    own = of_rank.get(rank.number)
    used = [one for one in np.unique(rank.operations["comm"]).tolist() if one > 0]
    members = {number for one in used for number in trace.communicators[one].members}
    peers = [peer for peer in np.unique(rank.operations["peer"]).tolist() if peer >= 0]
    return any(of_rank.get(other) != own for other in (*members, *peers))


def _launched(rank: Rank) -> int:
    """Processes that the innermost launcher of a rank says it started; 0 where none says so."""
    table = rank.metadata.get("rank_environment")
    if not isinstance(table, dict):
        return 0
    for name in SIZE_VARIABLES:
        if size := _count(table.get(name)):
            return size
    step = table.get("SLURM_STEP_ID")  # srun alone starts as many processes as tasks
    is_srun = step is not None and (str(step) == "0" or 0 < _count(step) < STEP_IDS)
    return _count(table.get("SLURM_NTASKS")) if is_srun else 0


def mpi_library(trace: Trace) -> str:
    """Version and path of the MPI library that the ranks loaded, "" where none is known."""
    return next((library_text(rank.mpi_library) for rank in trace.ranks if rank.mpi_library), "")


def library_text(library: str) -> str:
    """Version and path of an MPI library as one line; its own text may have many."""
    path, *text = [" ".join(line.split()) for line in library.splitlines()] or [""]
    return f"{text[0]} ({path})" if text and text[0] else path


def _count(value: object) -> int:
    text = str(value)
    return int(text) if text.isascii() and text.isdigit() and len(text) < 11 else 0
