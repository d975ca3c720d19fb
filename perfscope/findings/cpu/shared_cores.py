"""Ranks that are bound to the same CPUs while the node has CPUs for all."""

from perfscope.findings.core import thresholds, wording
from perfscope.findings.core.diagnosis import Diagnosis, Outcome
from perfscope.findings.core.finding import Evidence, Finding, Gain, passed
from perfscope.findings.facts.facts import Facts
from perfscope.findings.facts.helper_threads import UNEVEN, by_launcher
from perfscope.findings.facts.node_threads import cpus_unknown
from perfscope.metrics.host.resources import NodeThreads, node_cpus, queue_share
from perfscope.metrics.results import Results
from perfscope.schema.enums import Confidence, Status
from perfscope.schema.resources import ThreadsOfRank
from perfscope.trace.host_cpus import cpu_set

BINDING = {
    "Open MPI": "`mpirun --map-by core --bind-to core`",
    "MPICH": "`mpirun -bind-to core`",
    "Intel MPI": "`export I_MPI_PIN_DOMAIN=auto`",
    "srun": "`srun --cpu-bind=cores`",
}
"""By what starts the ranks: how it is told to bind them, to be typed."""

SHOWN_MASKS = 3  # in the title, of a node on which many ranks share CPUs


def judge(run: Facts) -> Outcome:
    """Whether ranks are bound to the same CPUs while others are free."""
    results = run.results
    bound = [node for node in results.resources.nodes if _bound_together(results, node)]
    if bound:
        return _shared(run, bound[0])
    return passed("No ranks are bound to fewer CPUs than they are.")


def _bound_together(results: Results, node: NodeThreads) -> bool:
    """Ranks take turns on CPUs to which they are bound, while the node has CPUs for all."""
    if not node.ranks_sharing_a_cpu or len(node.ranks) > node_cpus(results.trace, node):
        return False  # more ranks than CPUs is another diagnosis
    return queue_share(_sharing(results, node)) >= thresholds.QUEUE_DELAY_SHARE


def _sharing(results: Results, node: NodeThreads) -> list[ThreadsOfRank]:
    ranks = results.resources.threads_of(node)
    return [rank for rank in ranks if rank.rank in node.ranks_sharing_a_cpu]


def _shared(run: Facts, node: NodeThreads) -> Finding:
    results = run.results
    gain = run.cpu_wait_gain
    ranks = _sharing(results, node)
    masks = sorted({rank.cpus_allowed for rank in ranks}, key=lambda mask: sorted(cpu_set(mask)))
    turns = [
        f"{wording.ranks([r.rank for r in ranks if r.cpus_allowed == mask])} are bound to CPU "
        f"{mask}"
        for mask in masks[:SHOWN_MASKS]
    ]
    if len(masks) > SHOWN_MASKS:
        turns.append(f"and so on, {len(masks)} groups of ranks")
    everybody = len(ranks) == len(node.ranks) and len(masks) == 1
    cpus, how = node_cpus(results.trace, node), by_launcher(results.trace, BINDING)
    return Finding(
        # all ranks on the same CPUs may be all that the batch system gave to the job
        status=_status(gain, is_everybody=everybody),
        title=f"Ranks on host {node.host} take turns running: {'; '.join(turns)}",
        summary=(
            f"They are more ranks than CPUs that they are bound to; {node.host} has {cpus:g} CPUs. "
            f"They waited {sum(rank.queue_delay_s for rank in ranks):.1f} s for a CPU and used "
            f"{sum(rank.cpu_s for rank in ranks):.1f} s."
        ),
        gain=gain,
        confidence=Confidence.HIGH,
        ranks=node.ranks_sharing_a_cpu,
        evidence=_evidence(results, node),
        actions=(
            (
                f"Bind each rank to cores of its own{how and f': {how}'}. If they still share CPUs "
                "then, something else binds them: a script, the batch system or the program itself."
            ),
            (
                "Or do not bind at all (--bind-to none) where several mpirun share a node: each "
                "begins to count at the first core."
            ),
        ),
        overlaps=("threads_over_cores", *UNEVEN),
    )


def _status(gain: Gain | None, *, is_everybody: bool) -> Status:
    if not is_everybody:
        return Status.FAIL
    if gain is None:
        return Status.WARN
    deserved = thresholds.deserved(gain)
    return deserved if deserved.is_fault else Status.WARN


def _evidence(results: Results, node: NodeThreads) -> tuple[Evidence, ...]:
    rows = [
        Evidence("CPUs that the ranks may use together", node.cpus, "CPUs"),
        Evidence("CPUs of the node", node_cpus(results.trace, node), "CPUs"),
    ]
    for rank in results.resources.threads_of(node)[:8]:
        busy = rank.cpu_utilization * rank.cpus_available
        rows.append(
            Evidence(f"Rank {rank.rank}", f"CPUs {rank.cpus_allowed or '?'}, {busy:.1f} busy")
        )
    return tuple(rows)


DIAGNOSIS = Diagnosis(
    id="shared_cores",
    title="Ranks are bound to the same CPUs",
    description=(
        "Compares the affinity masks of the ranks of a node: ranks that are bound to fewer CPUs "
        "than they are ranks take turns on them, however many CPUs the node has."
    ),
    judge=judge,
    needs=(cpus_unknown,),
    passed="No ranks are bound to fewer CPUs than they are",
    evidence="masks, run-queue delay",
    gain_from=(
        "replay of work and transfer without the time that their main threads waited for a CPU"
    ),
    counts_from=f"run-queue delay of {100 * thresholds.QUEUE_DELAY_SHARE:g} % of the CPU time",
    rank=210,
    references=(
        (
            "Linux, sched_setaffinity(2): "
            "https://man7.org/linux/man-pages/man2/sched_setaffinity.2.html"
        ),
        "Open MPI, binding: https://docs.open-mpi.org/en/main/man-openmpi/man1/mpirun.1.html",
    ),
)
