"""Threads of a rank that communicate beside its training: Horovod's own, MPI's progress thread."""

from collections.abc import Mapping, Sequence

from perfscope.findings.core import thresholds, wording
from perfscope.foreign import mentions
from perfscope.metrics.host.resources import NodeThreads, known_cpus
from perfscope.schema.resources import ThreadsOfRank
from perfscope.structures import dataclass
from perfscope.trace.metadata import noted_environment
from perfscope.trace.model import Rank, Trace
from perfscope.units import counted

PROGRESS_VARIABLES = ("MPICH_ASYNC_PROGRESS", "MPIR_CVAR_ASYNC_PROGRESS", "I_MPI_ASYNC_PROGRESS")
_ON = {"1", "yes", "on", "true", "enable"}
UNEVEN = ("load_imbalance", "straggler", "transient_imbalance")
"""Findings in which time shows that ranks lose by waiting for CPUs."""

MOST_WORKERS = 1 << 12
BINDING = {
    "Open MPI": "`mpirun --bind-to none`, or `--map-by slot:PE={cpus} --bind-to core`",
    "MPICH": "`mpirun -bind-to none`",
    "Intel MPI": "`export I_MPI_PIN_DOMAIN={cpus}`",
    "srun": "`srun --cpus-per-task={cpus}`",
}
"""By what starts the ranks: how it gives each of them more CPUs, to be typed."""


def progress_variable(rank: Rank) -> str:
    """The variable that has MPI start a thread which polls beside the rank; "" where none does."""
    environment = noted_environment(rank.metadata)
    on = (name for name in PROGRESS_VARIABLES if environment.get(name, "").lower() in _ON)
    return next((name for name in on if _is_read(name, rank.mpi_library.lower())), "")


def _is_read(variable: str, library: str) -> bool:
    """Whether the MPI library that a rank loaded knows the variable; an unknown one may."""
    if not library:
        return True
    is_intel = mentions(library, "intel", "impi")
    if variable.startswith("I_MPI_"):
        return is_intel
    return not is_intel and not mentions(library, "open mpi", "openmpi")


def more_cpus(trace: Trace, node: NodeThreads, needed: int) -> str:
    """How each rank of a node gets so many CPUs: by binding while the node has them, else not.

    What a node has beyond the ranks' masks is taken for enough where it was not noted, unless the
    ranks alone are too many.
    """
    known = known_cpus(trace, node)
    ranks = [rank for rank in trace.ranks if rank.number in node.ranks]
    quotas = [rank.cgroup_cpus for rank in ranks if rank.cgroup_cpus is not None]
    whole = int(min([node.cpus if known is None else known, *quotas]))
    if needed * len(ranks) <= whole or (known is None and not quotas and needed > 1):
        how = by_launcher(trace, BINDING).format(cpus=needed)
        each = "each rank" if len(trace.ranks) > 1 else "the process"
        return f"give {each} {wording.cpus(needed)}{how and f': {how}'}"
    asks = f"ask for {wording.cpus(needed * len(ranks))}"
    if whole:
        asks += f" where there {'is' if whole == 1 else 'are'} {whole}"
    fewer = len(ranks) - whole // needed
    if fewer >= len(ranks) or len(trace.ranks) - fewer < 2:
        return asks  # one rank alone would be no distributed training
    return f"{asks}, or start {counted(fewer, 'rank')} fewer on host {node.host}"


def room_for_gloo(
    trace: Trace, node: NodeThreads, ranks: Sequence[ThreadsOfRank], limit: int
) -> str:
    """A CPU more for the threads by which gloo exchanges; "" where they hardly want to run."""
    runnable = [
        sum(group.runnable_mean for group in rank.groups if "gloo" in group.stem) for rank in ranks
    ]
    if max(runnable, default=0.0) < thresholds.HELPERS_LEAST_RUNNABLE:
        return ""
    more = more_cpus(trace, node, limit + 1)
    return f"Leave a CPU beside each rank for gloo's threads, which send and receive: {more}."


def by_launcher(trace: Trace, commands: Mapping[str, str]) -> str:
    """What to type, by what starts the ranks; of an unknown one all, "" of another one."""
    own = [words for name, words in commands.items() if name in trace.launcher]
    if own or trace.launcher:
        return own[0] if own else ""
    return ", ".join(f"{words} ({name})" for name, words in commands.items())


def input_workers(rank: Rank) -> int:
    """Processes that the loaders of a rank start at a time, 0 where none is known to."""
    rows = rank.framework("torch").get("loaders")
    tables = [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []
    counts = [table.get("workers") for table in tables]
    possible = [n for n in counts if isinstance(n, int) and not isinstance(n, bool)]
    return max((count for count in possible if 0 < count <= MOST_WORKERS), default=0)


@dataclass(frozen=True)
class HelperThreads:
    """What the threads of a rank beside its main one do, mean over the time that each was there."""

    horovod_cpus: float  # CPUs that Horovod's thread keeps busy
    horovod_runnable: float  # how much of the time it wants to run
    # how many of the other threads, those of pools, want to run at a time; None where threads were
    # not told apart
    others_runnable: float | None
    progress: str  # the variable that has MPI start a polling thread, which is one of the others

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
