"""Whether a configuration fits on the CPUs of this machine: ranks times threads."""

import os
from collections.abc import Mapping, Sequence

from perfscope.record.cpus import quota_cpus
from perfscope.record.launcher import LauncherKind, recognize
from perfscope.structures import dataclass
from perfscope.sweep.grid import Configuration
from perfscope.units import counted

THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "MKL_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "TF_NUM_INTRAOP_THREADS",
)
THREADS_AXIS = "threads"
_SEVERAL_HOSTS = {
    "-f",
    "-H",
    "-host",
    "-hosts",
    "-hostfile",
    "-machinefile",
    "--host",
    "--hostfile",
    "--machinefile",
    "-N",
    "--nodes",
    "--nnodes",
}


@dataclass(frozen=True)
class Demand:
    """What a configuration asks of a machine; None where the command does not say."""

    ranks: int | None  # processes of the job
    threads: int | None  # threads that each rank is told to use
    is_here: bool  # whether all ranks are started on this host


def cpus_allowed() -> int:
    """CPUs that a job started here may use: affinity and the quota of the control group."""
    allowed = len(os.sched_getaffinity(0))
    quota = quota_cpus()
    return allowed if quota is None else max(1, min(allowed, int(quota)))


def demand(configuration: Configuration, base: Mapping[str, str]) -> Demand:
    """What a configuration asks for, from its command line and its environment."""
    environment = effective(configuration.environment, base)
    launcher = recognize(configuration.command, environment)
    ranks = 1 if launcher.kind is LauncherKind.DIRECT else launcher.ranks_requested
    elsewhere = launcher.kind is LauncherKind.SRUN or any(
        word.partition("=")[0] in _SEVERAL_HOSTS for word in launcher.arguments
    )
    named = [environment.get(name, "") for name in THREAD_VARIABLES]
    named.append(configuration.values.get(THREADS_AXIS, ""))
    threads = [int(text.partition(",")[0]) for text in named if _is_count(text)]
    return Demand(ranks, max(threads, default=None), not elsewhere)


def _is_count(text: str) -> bool:
    first = text.partition(",")[0]
    return first.isascii() and first.isdigit() and 0 < len(first) < 7


def effective(own: Mapping[str, str | None], base: Mapping[str, str]) -> dict[str, str]:
    """An environment with some variables set and others taken out."""
    found = {name: value for name, value in base.items() if name not in own}
    return found | {name: value for name, value in own.items() if value is not None}


def demands(configurations: Sequence[Configuration], base: Mapping[str, str]) -> dict[int, Demand]:
    """What each configuration asks for, by number."""
    return {one.number: demand(one, base) for one in configurations}


def refusals(asked: Mapping[int, Demand], *, cpus: int) -> dict[int, str]:
    """Why configurations are not run, by number: they ask for more threads than there are CPUs."""
    found = {}
    for number, wanted in asked.items():
        if not wanted.is_here or wanted.ranks is None:
            continue
        threads = wanted.threads or 1
        if wanted.ranks * threads > cpus:
            found[number] = (
                f"{counted(wanted.ranks, 'rank')} × {counted(threads, 'thread')} = "
                f"{wanted.ranks * threads:,} on {counted(cpus, 'CPU')}"
            )
    return found
