"""Threads of a rank that communicate beside its training: Horovod's own, MPI's progress thread."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from perfscope.trace.model import Rank

PROGRESS_VARIABLES = (
    "MPICH_ASYNC_PROGRESS",
    "MPIR_CVAR_ASYNC_PROGRESS",
    "I_MPI_ASYNC_PROGRESS",
)
_ON = {"1", "yes", "on", "true", "enable"}
BINDING = (
    "mpirun --bind-to none, or --map-by slot:PE={cpus} --bind-to core (Open MPI); -bind-to none "
    "(MPICH); I_MPI_PIN_DOMAIN={cpus} (Intel MPI); srun --cpus-per-task={cpus}"
)


def progress_variable(rank: Rank) -> str:
    """The variable that has MPI start a thread which polls beside the rank; "" where none does."""
    environment = rank.metadata.get("environment")
    if not isinstance(environment, dict):
        return ""
    on = (name for name in PROGRESS_VARIABLES if str(environment.get(name, "")).lower() in _ON)
    return next(on, "")


def horovod_cpus(rank: Rank) -> float:
    """CPUs that Horovod's thread keeps busy, mean over the life of the rank."""
    threads = set(rank.background["tid"].tolist())
    spent_ns = sum(thread.cpu_ns for thread in rank.threads if thread.tid in threads)
    return spent_ns / max(1, rank.end_ns - rank.start_ns)
