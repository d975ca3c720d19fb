"""Memory, threads and CPU of each rank over time."""

from collections.abc import Sequence

from perfscope.metrics.host.run_queue import CpuWait
from perfscope.schema.enums import Account
from perfscope.schema.resources import MemoryOfNode, MemoryOfRank, ThreadsOfRank
from perfscope.structures import dataclass
from perfscope.trace.model import Trace


@dataclass(frozen=True)
class RankMemory(MemoryOfRank):
    """Resident memory of one rank, and what its control group used."""

    group_peak_bytes: int | None = None  # used in that control group at most, None unknown
    group_end_bytes: int | None = None  # used in it at the end

    @property
    def needed_bytes(self) -> int:
        """What one more rank like this would need: proportional where known, else resident."""
        return self.peak_bytes if self.tree_bytes is None else self.tree_bytes


@dataclass(frozen=True)
class NodeThreads:
    """All ranks of one node against the CPUs that they may use together."""

    host: str
    ranks: tuple[int, ...]
    cpus: float  # union of their affinity masks, limited by the cgroup quota
    runnable_mean: float  # summed over ranks, over stretches in which all were computing
    samples: int  # of all its ranks at a time, computing or not
    runnable_p95: float
    ranks_sharing_a_cpu: tuple[
        int, ...
    ]  # ranks whose masks hold fewer CPUs than ranks sharing them


@dataclass(frozen=True)
class RankFiles:
    """Files of one rank: bytes over its life, standing still for them over the focus.

    Bytes are those of calls (rchar and wchar of `/proc/PID/io`): of pipes and of what the kernel
    has in memory as well, and none of mapped files.
    """

    rank: int
    read_bytes: int
    written_bytes: int
    major_faults: int  # pages that had to be read from a device first
    # seconds in which a thread waited for a device, none ran, and the rank was not communicating;
    # None where that was not sampled
    stalled_s: float | None
    last_stalled_s: float = 0.0  # from the start of the focus to the last time that it did so
    # the same seconds by account of the ledger, most first
    stalled_by_account: tuple[tuple[Account, float], ...] = ()
    # between the readings around the moments in which it stood still or was in a file phase
    waited_read_bytes: int = 0
    waited_written_bytes: int = 0


def queue_share(ranks: Sequence[ThreadsOfRank]) -> float:
    """Seconds that threads of ranks waited for a CPU, per CPU second that they got."""
    cpu_s = sum(rank.cpu_s for rank in ranks)
    return sum(rank.queue_delay_s for rank in ranks) / cpu_s if cpu_s > 0 else 0.0


def busy_cpus(ranks: Sequence[ThreadsOfRank]) -> float:
    """CPUs that ranks keep busy together, mean over the focus of analysis."""
    return sum(rank.cpu_utilization * rank.cpus_available for rank in ranks)


def node_cpus(trace: Trace, node: NodeThreads) -> float:
    """CPUs of a node as its topology tells, else those that its ranks may use."""
    known = known_cpus(trace, node)
    return node.cpus if known is None else known


def known_cpus(trace: Trace, node: NodeThreads) -> float | None:
    """CPUs of a node as its topology tells; None where that was not noted."""
    tables = [trace.environment.get("topology")]
    tables = [table.get(node.host) for table in tables if isinstance(table, dict)]
    tables += [rank.metadata.get("topology") for rank in trace.ranks if rank.host == node.host]
    for table in tables:
        cpus = table.get("cpus") if isinstance(table, dict) else None
        if isinstance(cpus, int) and cpus > 0:
            return float(cpus)
    return None


@dataclass(frozen=True)
class Resources:
    """Memory, threads and files of the run."""

    memory: tuple[RankMemory, ...]
    node_memory: tuple[MemoryOfNode, ...]
    threads: tuple[ThreadsOfRank, ...]
    node_threads: tuple[NodeThreads, ...]
    read_bytes_by_rank: tuple[int, ...]
    written_bytes_by_rank: tuple[int, ...]
    files: tuple[RankFiles, ...] = ()  # of the ranks that were sampled
    cpu_waits: tuple[CpuWait, ...] = ()  # of the ranks whose main thread was sampled

    @property
    def nodes(self) -> tuple[NodeThreads, ...]:
        """Nodes of which it is known how many CPUs the ranks have."""
        return tuple(node for node in self.node_threads if node.cpus > 0)

    def threads_of(self, node: NodeThreads) -> tuple[ThreadsOfRank, ...]:
        """Threads of the ranks of one node."""
        here = frozenset(node.ranks)
        return tuple(rank for rank in self.threads if rank.rank in here)
