"""Whether the processes of a job found each other, and which MPI library they loaded."""

from __future__ import annotations

from perfscope.trace.model import Trace

SIZE_VARIABLES = ("PMI_SIZE", "OMPI_COMM_WORLD_SIZE", "SLURM_NTASKS", "WORLD_SIZE")


def separate_worlds(trace: Trace) -> int:
    """Processes that were started as one job and each became rank 0 of 1; 0 when that is not so."""
    sizes = [_count(trace.environment.get("ranks_requested"))]
    for rank in trace.ranks:
        table = rank.metadata.get("rank_environment")
        if isinstance(table, dict):
            sizes += [_count(table.get(name)) for name in SIZE_VARIABLES]
    launched = max(sizes)
    return launched if trace.world_size == 1 and launched > 1 else 0


def mpi_library(trace: Trace) -> str:
    """Version and path of the MPI library that the ranks loaded, "" where none is known."""
    return next((library_text(rank.mpi_library) for rank in trace.ranks if rank.mpi_library), "")


def library_text(library: str) -> str:
    """Version and path of an MPI library as one line; its own text may have many."""
    path, *text = [" ".join(line.split()) for line in library.splitlines()] or [""]
    return f"{text[0]} ({path})" if text and text[0] else path


def _count(value: object) -> int:
    text = str(value)
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else 0
