"""How many threads of the ranks want to run on the CPUs of each node."""

from collections.abc import Iterable, Mapping

from perfscope.findings.core import thresholds, wording
from perfscope.findings.core.finding import Quiet, not_measured
from perfscope.findings.facts.helper_threads import HelperThreads, helper_threads, input_workers
from perfscope.findings.facts.thread_pools import (
    Holders,
    Pool,
    busiest_rank,
    holders,
    pools,
)
from perfscope.judging import MAIN
from perfscope.metrics.host.resources import NodeThreads, node_cpus, queue_share
from perfscope.metrics.results import Results
from perfscope.schema.enums import Status
from perfscope.schema.resources import ThreadsOfRank
from perfscope.structures import dataclass
from perfscope.trace.metadata import noted_environment

OVERSUBSCRIBED_FAIL = 1.5
VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS")


@dataclass(frozen=True)
class NodeLoad:
    """One node: its ranks' threads against its CPUs, and what is known of its busiest rank."""

    node: NodeThreads
    ranks: tuple[ThreadsOfRank, ...]
    environment: Mapping[str, str]  # of its busiest rank
    of_one: tuple[str, ...]  # variables that other ranks have otherwise
    busiest: int
    pools: tuple[Pool, ...]  # of its busiest rank, the largest first
    holders: Mapping[Pool, Holders]
    beside: HelperThreads  # of its busiest rank
    has_workers: bool  # whether ranks started processes of their own
    horovod_runnable: float = 0.0  # threads of Horovod that want to run, of all its ranks
    others_share: float | None = None  # of the waiting of main threads; None: not measured

    @property
    def threads_per_cpu(self) -> float:
        """Runnable threads per CPU, mean over the time in which the ranks compute."""
        return self.node.runnable_mean / self.node.cpus if self.node.cpus > 0 else 0.0

    @property
    def is_horovods_alone(self) -> bool:
        """Whether the threads fit the CPUs but for Horovod's, which only polls for its messages."""
        own = self.node.runnable_mean - self.horovod_runnable
        return self.horovod_runnable > 0 and own < thresholds.OVERSUBSCRIBED_WARN * self.node.cpus

    @property
    def queue_share(self) -> float:
        """Seconds that threads waited for a CPU, per CPU second that they got."""
        return queue_share(self.ranks)

    @property
    def is_of_others(self) -> bool:
        """Whether it is mostly others that the threads wait for CPUs for, and not each other.

        N threads on C CPUs that nobody else uses wait (N - C) / N of the time that they want to
        run: at least half of what they waited must be that, to be for their own number. Where it
        was measured who had the CPUs, that tells.
        """
        if self.others_share is not None:
            return self.others_share > MAIN
        waited = self.queue_share / (1.0 + self.queue_share)
        own = 1.0 - 1.0 / self.threads_per_cpu if self.threads_per_cpu > 1.0 else 0.0
        return own < MAIN * waited

    @property
    def threads_per_rank(self) -> int:
        """Threads that each rank can have so that all together just fill the CPUs."""
        return max(1, int(self.node.cpus // max(1, len(self.node.ranks))))

    @property
    def too_many_ranks(self) -> bool:
        """Whether the ranks alone, with one thread each, are more than the CPUs."""
        return len(self.node.ranks) > self.node.cpus


def waits_for_cpus(loads: Iterable[NodeLoad]) -> bool:
    """Whether ranks of some node wait for CPUs, so that it is chance which one is late."""
    return any(load.node.cpus > 0 and status_of(load) is not Status.PASS for load in loads)


def are_ranks_too_many(results: Results, load: NodeLoad) -> bool:
    """Whether there are too few CPUs for the ranks, and not only in the masks they are bound to."""
    return load.too_many_ranks and len(load.node.ranks) > node_cpus(results.trace, load.node)


def has_fewer_cpus_than_ranks(results: Results, loads: Iterable[NodeLoad]) -> bool:
    """Whether ranks of some node wait for CPUs as there are fewer of these than ranks.

    N ranks that all want to run on C CPUs wait (N - C) / N of the time: at least half of that must
    be seen. Ranks that wait for less mostly sleep in their calls, and leave the CPUs to others.
    """
    return any(status_of(load).is_fault and _lacks_cpus(results, load) for load in loads)


def _lacks_cpus(results: Results, load: NodeLoad) -> bool:
    lacking = 1.0 - load.node.cpus / len(load.node.ranks)
    waited = load.queue_share / (1.0 + load.queue_share)
    return are_ranks_too_many(results, load) and waited > MAIN * lacking


def cpus_unknown(results: Results) -> Quiet | None:
    """Why it is not known of any node how many CPUs its ranks have; None where it is."""
    if results.resources.nodes:
        return None
    return not_measured(wording.threads_not_sampled(results.trace))


def node_load(results: Results, node: NodeThreads) -> NodeLoad:
    """What is known of the threads of one node."""
    ranks = [rank for rank in results.trace.ranks if rank.number in node.ranks]
    busiest = busiest_rank(results, node)
    noted = [noted_environment(rank.metadata) for rank in ranks]
    found = pools(busiest)
    return NodeLoad(
        node=node,
        ranks=results.resources.threads_of(node),
        environment=noted_environment(busiest.metadata),
        of_one=tuple(name for name in VARIABLES if len({told.get(name) for told in noted}) > 1),
        busiest=busiest.number,
        pools=found,
        holders=holders(ranks, found),
        beside=helper_threads(busiest),
        has_workers=any(input_workers(rank) or rank.workers for rank in ranks),
        horovod_runnable=sum(helper_threads(rank).horovod_runnable for rank in ranks),
        others_share=_others_share(results, node),
    )


def _others_share(results: Results, node: NodeThreads) -> float | None:
    """Of the waiting for CPUs of a node's main threads, that at the expense of other processes."""
    waits = [one for one in results.resources.cpu_waits if one.rank in node.ranks]
    waited_s = sum(one.lost_s + one.in_pool_s for one in waits)
    if not waited_s or any(one.others_cpus is None for one in waits):
        return None
    return sum(one.part(is_of_others=True).lost_s for one in waits) / waited_s


def status_of(node: NodeLoad) -> Status:
    """How bad it is that threads of a node wait for its CPUs."""
    waits = node.queue_share >= thresholds.QUEUE_DELAY_SHARE
    if node.threads_per_cpu < thresholds.OVERSUBSCRIBED_WARN or node.is_of_others:
        return Status.INFO if node.queue_share >= thresholds.SHARED_CPU_SHARE else Status.PASS
    if not waits:
        return Status.PASS
    if node.node.samples < thresholds.OVERSUBSCRIBED_LEAST_SAMPLES:
        return Status.INFO
    return Status.FAIL if node.threads_per_cpu >= OVERSUBSCRIBED_FAIL else Status.WARN
