"""Ranks that are bound to the same CPUs, and CPUs that nobody uses."""

from __future__ import annotations

from typing import TYPE_CHECKING

from perfscope.findings import thresholds, wording
from perfscope.findings.finding import Confidence, Diagnosis, Evidence, Finding, Status
from perfscope.units import format_share

if TYPE_CHECKING:
    from perfscope.metrics.resources import NodeThreads, RankThreads
    from perfscope.metrics.results import Results
    from perfscope.replay.model import Replay

ID = "shared_cores"
TITLE = "Ranks share CPUs or leave them idle"
PASSED = "Every rank has CPUs of its own and uses them"
DESCRIPTION = (
    "Compares the affinity masks of the ranks of a node: ranks that are bound to fewer CPUs than "
    "they are ranks take turns on them, however many CPUs the node has. Tells how much of the CPUs "
    "that the ranks may use is idle."
)
REFERENCES = (
    "Linux, sched_setaffinity(2): https://man7.org/linux/man-pages/man2/sched_setaffinity.2.html",
    "Open MPI, binding: https://docs.open-mpi.org/en/main/man-openmpi/man1/mpirun.1.html",
)


def judge(results: Results, replay: Replay) -> Finding:  # noqa: ARG001
    """Whether ranks are bound to the same CPUs while others are free, or leave CPUs idle."""
    nodes = [node for node in results.resources.node_threads if node.cpus > 0]
    if not nodes:
        text = results.trace.not_recorded.get("threads") or (
            "No threads were sampled: record with --sample-hz 10 (the default)."
        )
        return Finding(ID, Status.NOT_MEASURED, TITLE, text, confidence=Confidence.HIGH)
    bound = [node for node in nodes if _bound_together(results, node)]
    if bound:
        return _shared(results, bound[0])
    idle = max(nodes, key=lambda node: _idle_share(results, node))
    if _idle_share(results, idle) >= thresholds.IDLE_CPUS_SHARE and not _waits(
        _ranks(results, idle)
    ):
        return _idle(results, idle)
    text = "No ranks are bound to fewer CPUs than they are."
    return Finding(ID, Status.PASS, PASSED, text, confidence=Confidence.HIGH)


def _ranks(results: Results, node: NodeThreads) -> list[RankThreads]:
    return [rank for rank in results.resources.threads if rank.rank in node.ranks]


def _bound_together(results: Results, node: NodeThreads) -> bool:
    """Ranks take turns on CPUs to which they are bound, while the node has CPUs for all."""
    if not node.ranks_sharing_a_cpu or len(node.ranks) > _cpus_of(results, node):
        return False  # more ranks than CPUs is another diagnosis
    return _waits([r for r in _ranks(results, node) if r.rank in node.ranks_sharing_a_cpu])


def _waits(ranks: list[RankThreads]) -> bool:
    """Whether threads of these ranks wait for CPUs."""
    cpu_s = sum(rank.cpu_s for rank in ranks)
    delay_s = sum(rank.queue_delay_s for rank in ranks)
    return cpu_s > 0 and delay_s >= thresholds.QUEUE_DELAY_SHARE * cpu_s


def _cpus_of(results: Results, node: NodeThreads) -> float:
    """CPUs of a node as its topology tells, else those that its ranks may use."""
    topology = results.trace.environment.get("topology")
    told = topology.get(node.host) if isinstance(topology, dict) else None
    cpus = told.get("cpus") if isinstance(told, dict) else None
    return float(cpus) if isinstance(cpus, int) and cpus > 0 else node.cpus


def _shared(results: Results, node: NodeThreads) -> Finding:
    ranks = [rank for rank in _ranks(results, node) if rank.rank in node.ranks_sharing_a_cpu]
    masks = sorted({rank.cpus_allowed for rank in ranks})
    turns = "; ".join(
        f"{wording.ranks([r.rank for r in ranks if r.cpus_allowed == mask])} on CPU {mask}"
        for mask in masks
    )
    everybody = len(ranks) == len(node.ranks) and len(masks) == 1
    cpus = _cpus_of(results, node)
    return Finding(
        id=ID,
        # all ranks on the same CPUs may be all that the batch system gave to the job
        status=Status.WARN if everybody else Status.FAIL,
        title=f"Ranks of {node.host} take turns: {turns}",
        summary=(
            f"They are more ranks than CPUs that they are bound to; {node.host} has {cpus:g} CPUs. "
            f"They waited {sum(rank.queue_delay_s for rank in ranks):.1f} s for a CPU and used "
            f"{sum(rank.cpu_s for rank in ranks):.1f} s."
        ),
        confidence=Confidence.HIGH,
        ranks=node.ranks_sharing_a_cpu,
        evidence=_evidence(results, node),
        actions=(
            (
                "Bind each rank to cores of its own: mpirun --map-by core --bind-to core (Open "
                "MPI), mpirun -bind-to core (MPICH), I_MPI_PIN_DOMAIN=auto (Intel MPI), srun "
                "--cpus-per-task=N --cpu-bind=cores. Ask the batch system for as many CPUs as "
                "ranks, at least."
            ),
            (
                "Or do not bind at all (--bind-to none) where several mpirun share a node: each "
                "begins to count at the first core."
            ),
        ),
        references=REFERENCES,
        overlaps=("threads_over_cores", "load_imbalance"),
    )


def _idle_share(results: Results, node: NodeThreads) -> float:
    """Share of the CPUs that the ranks of a node may use together that had nothing to do."""
    busy = sum(rank.cpu_utilisation * rank.cpus_available for rank in _ranks(results, node))
    return max(0.0, 1.0 - busy / node.cpus)


def _idle(results: Results, node: NodeThreads) -> Finding:
    share = _idle_share(results, node)
    return Finding(
        id=ID,
        status=Status.INFO,
        title=f"{format_share(share)} of the CPUs of {node.host} are idle",
        summary=(
            f"The ranks may use {node.cpus:g} CPUs together; "
            f"{(1 - share) * node.cpus:.1f} of them are busy. Whether more threads or ranks would "
            "make the job faster is not known before it is tried."
        ),
        confidence=Confidence.HIGH,
        ranks=node.ranks,
        evidence=_evidence(results, node),
        actions=(
            (
                "Try more threads or ranks on a few steps: perfscope sweep --env "
                "OMP_NUM_THREADS=1,2,4 -- and your command."
            ),
        ),
        references=REFERENCES,
    )


def _evidence(results: Results, node: NodeThreads) -> tuple[Evidence, ...]:
    rows = [
        Evidence("CPUs that the ranks may use together", node.cpus, "CPUs"),
        Evidence("CPUs of the node", _cpus_of(results, node), "CPUs"),
    ]
    for rank in _ranks(results, node)[:8]:
        busy = rank.cpu_utilisation * rank.cpus_available
        rows.append(
            Evidence(f"Rank {rank.rank}", f"CPUs {rank.cpus_allowed or '?'}, {busy:.1f} busy")
        )
    return tuple(rows)


DIAGNOSIS = Diagnosis(id=ID, title=TITLE, description=DESCRIPTION, judge=judge)
