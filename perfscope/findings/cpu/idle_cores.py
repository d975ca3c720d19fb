"""CPUs that the ranks may use and that have nothing to do."""

from collections.abc import Sequence

from perfscope.findings.core import thresholds
from perfscope.findings.core.diagnosis import Diagnosis, Outcome
from perfscope.findings.core.finding import Evidence, Finding, passed
from perfscope.findings.core.sweep_command import doubled, sweep_command
from perfscope.findings.facts.facts import Facts
from perfscope.findings.facts.node_threads import cpus_unknown
from perfscope.findings.facts.thread_pools import INTEROP, Pool, busiest_rank, holders, pools
from perfscope.judging import MAIN
from perfscope.metrics.host.resources import NodeThreads, busy_cpus, queue_share
from perfscope.metrics.results import Results
from perfscope.schema.enums import Confidence, Status
from perfscope.trace.model import Rank
from perfscope.units import capitalized, counted, format_share

WAITING = "No CPU is idle for the ranks: they wait for CPUs"


def judge(run: Facts) -> Outcome:
    """How much of the CPUs of the node with the most idle ones is idle; never a fault."""
    results = run.results
    nodes = results.resources.nodes
    node = max(nodes, key=lambda node: (not _waits(results, node), _idle_share(results, node)))
    share = _idle_share(results, node)
    if _waits(results, node):
        text = f"The ranks on host {node.host} wait for CPUs: none is left for them to use."
        return Finding(Status.PASS, WAITING, text)
    if share < MAIN:
        return passed(f"{format_share(1.0 - share)} of the CPUs of host {node.host} are busy.")
    return Finding(
        status=Status.INFO,
        title=f"The CPUs of host {node.host} are {format_share(share)} idle",
        summary=(
            f"The ranks may use {node.cpus:g} CPUs together; "
            f"{(1 - share) * node.cpus:.1f} of them are busy. Whether more threads or ranks would "
            "make the job faster is not known before it is tried."
        ),
        confidence=Confidence.HIGH,
        ranks=node.ranks,
        evidence=_evidence(results, node),
        actions=_actions(results, node),
    )


def _waits(results: Results, node: NodeThreads) -> bool:
    """Whether the ranks of a node wait for CPUs: what they do not use is not theirs then."""
    return queue_share(results.resources.threads_of(node)) >= thresholds.QUEUE_DELAY_SHARE


def _idle_share(results: Results, node: NodeThreads) -> float:
    """Share of the CPUs that the ranks of a node may use together that had nothing to do."""
    return max(0.0, 1.0 - busy_cpus(results.resources.threads_of(node)) / node.cpus)


def _evidence(results: Results, node: NodeThreads) -> tuple[Evidence, ...]:
    rows = [Evidence("CPUs that the ranks may use together", node.cpus, "CPUs")]
    for rank in results.resources.threads_of(node)[:8]:
        busy = rank.cpu_utilization * rank.cpus_available
        rows.append(
            Evidence(f"Rank {rank.rank}", f"CPUs {rank.cpus_allowed or '?'}, {busy:.1f} busy")
        )
    return tuple(rows)


def _actions(results: Results, node: NodeThreads) -> tuple[str, ...]:
    """Threads of the largest pool raised until they fill the CPUs; else more ranks."""
    room = max(1, int(node.cpus // max(1, len(node.ranks))))
    # operations side by side do not compute by themselves: the pool inside each does
    known = pools(busiest_rank(results, node))
    pool = next((p for p in known if p.variable not in {"", INTEROP}), None)
    ranks = [rank for rank in results.trace.ranks if rank.number in node.ranks]
    least = _least(ranks, pool) if pool else 1
    actions = []
    if room > 1 and least < room:
        variable = pool.variable if pool else "OMP_NUM_THREADS"
        values = doubled(least, room)
        actions.append(
            f"Try up to {room} threads in each rank: "
            f"`{sweep_command(results.trace, {variable: values})}`"
        )
    elif pool is not None:
        whose = holders(ranks, [pool])[pool].text
        actions.append(
            f"{capitalized(pool.name)} may use {counted(pool.threads, 'thread')} "
            f"in {whose} "
            "already: give the work of a rank more that can be done at the same time (larger "
            "batches, more input workers)."
        )
    actions.append(
        f"Or start more ranks on host {node.host}, or ask the batch system for fewer CPUs (Slurm: "
        f"--cpus-per-task)."
    )
    return tuple(actions)


def _least(ranks: Sequence[Rank], pool: Pool) -> int:
    """Threads of the smallest pool that the same variable sets, of those that are known."""
    return min(p.threads for rank in ranks for p in pools(rank) if p.variable == pool.variable)


DIAGNOSIS = Diagnosis(
    id="idle_cores",
    title="CPUs that the ranks may use have nothing to do",
    description=(
        "Compares the CPU time of the ranks of a node with the CPUs that their affinity masks and "
        "the cgroup quota allow."
    ),
    judge=judge,
    needs=(cpus_unknown,),
    passed="The ranks use the CPUs that they may use",
    evidence="CPU time, masks",
    counts_from=f"{100 * MAIN:g} % of the CPUs idle is reported (info)",
    rank=240,
    references=(
        "OpenMP, OMP_NUM_THREADS: https://www.openmp.org/spec-html/5.2/openmpse62.html",
        "Slurm, CPUs of a task: https://slurm.schedmd.com/sbatch.html#OPT_cpus-per-task",
    ),
)
