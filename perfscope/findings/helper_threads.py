"""Threads of a rank that communicate beside its training: Horovod's own, MPI's progress thread."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from perfscope.findings import thresholds

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


@dataclass(frozen=True)
class HelperThreads:
    """What the threads of a rank beside its main one do, mean over the time that each was there.

    Attributes:
        horovod_cpus: CPUs that Horovod's thread keeps busy.
        horovod_runnable: how much of the time it wants to run.
        others_runnable: how many of the other threads, those of pools, want to run at a time; None
            where threads were not told apart.
        progress: the variable that has MPI start a polling thread, which is one of the others.
    """

    horovod_cpus: float
    horovod_runnable: float
    others_runnable: float | None
    progress: str

    @property
    def has_idle_pools(self) -> bool:
        """Whether threads were told apart, and those of pools hardly want to run."""
        if self.others_runnable is None:
            return False
        return self.others_runnable - bool(self.progress) < thresholds.HELPERS_LEAST_RUNNABLE


def helper_threads(rank: Rank) -> HelperThreads:
    """The threads of a rank, Horovod's told from those of pools."""
    own = set(rank.background["tid"].tolist())
    horovod = [thread for thread in rank.threads if thread.tid in own]
    others = [t for t in rank.threads if t.tid not in own and t.tid != rank.main_tid]
    longest = max((thread.samples for thread in rank.threads), default=0)
    life_ns = max(1, rank.end_ns - rank.start_ns)
    seen = [thread for thread in horovod if thread.samples > 0]
    return HelperThreads(
        # a thread lives as much of the rank's life as the samples in which it was there
        horovod_cpus=sum(t.cpu_ns * longest / (life_ns * t.samples) for t in seen),
        horovod_runnable=sum(t.runnable_samples / t.samples for t in seen),
        others_runnable=sum(t.runnable_samples for t in others) / longest if longest else None,
        progress=progress_variable(rank),
    )
