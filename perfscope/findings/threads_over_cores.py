"""More threads that want to run than CPUs that they may use."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from perfscope.findings import thresholds
from perfscope.findings.finding import Confidence, Diagnosis, Evidence, Finding, Status
from perfscope.units import format_seconds

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from perfscope.metrics.resources import NodeThreads, RankThreads
    from perfscope.metrics.results import Results
    from perfscope.replay.model import Replay

ID = "threads_over_cores"
TITLE = "More threads want to run than there are CPUs"
DESCRIPTION = (
    "Adds up the runnable threads of the ranks of a node while they compute and compares them with "
    "the CPUs that their affinity masks and the cgroup quota allow; run-queue delay and "
    "involuntary context switches show whether the threads wait for CPUs."
)
REFERENCES = (
    (
        "Linux scheduler statistics, /proc/PID/schedstat: "
        "https://docs.kernel.org/scheduler/sched-stats.html"
    ),
)
VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS")


@dataclass(frozen=True)
class _Node:
    """One node: its ranks' threads against its CPUs."""

    node: NodeThreads
    ranks: tuple[RankThreads, ...]
    environment: Mapping[str, Any]  # of its first rank
    blas_threads: int | None

    @property
    def crowding(self) -> float:
        """Runnable threads per CPU, mean over the time in which the ranks compute."""
        return self.node.runnable_mean / self.node.cpus if self.node.cpus > 0 else 0.0

    @property
    def queue_share(self) -> float:
        """Seconds that threads waited for a CPU, per CPU second that they got."""
        cpu_s = sum(rank.cpu_s for rank in self.ranks)
        return sum(rank.queue_delay_s for rank in self.ranks) / cpu_s if cpu_s > 0 else 0.0

    @property
    def threads_per_rank(self) -> int:
        """Threads that each rank can have so that all together just fill the CPUs."""
        return max(1, int(self.node.cpus // max(1, len(self.node.ranks))))

    @property
    def too_many_ranks(self) -> bool:
        """Whether the ranks alone, with one thread each, are more than the CPUs."""
        return len(self.node.ranks) > self.node.cpus


def judge(results: Results, replay: Replay) -> Finding:  # noqa: ARG001
    """Whether threads wait for CPUs on some node, of which pool they are, and what helps."""
    nodes = [_node(results, node) for node in results.resources.node_threads]
    nodes = [node for node in nodes if node.node.cpus > 0 and node.ranks]
    sampled = any(len(rank.process_samples) for rank in results.trace.ranks)
    if not nodes or not sampled:
        return Finding(
            id=ID,
            status=Status.NOT_MEASURED,
            title="Threads were not compared with CPUs",
            summary="No threads were sampled: record with --sample-hz 10 (the default).",
            confidence=Confidence.HIGH,
        )
    worst = max(nodes, key=lambda node: node.crowding)
    status = _status(worst)
    return Finding(
        id=ID,
        status=status,
        title=_title(worst, status),
        summary=_summary(worst),
        confidence=Confidence.HIGH if worst.queue_share > 0 else Confidence.LOW,
        ranks=worst.node.ranks if status is not Status.PASS else (),
        evidence=_evidence(worst),
        actions=_actions(worst) if status in {Status.FAIL, Status.WARN} else (),
        references=REFERENCES,
    )


def waits_for_cpus(results: Results) -> bool:
    """Whether ranks of some node wait for CPUs, so that it is chance which one is late."""
    nodes = [_node(results, node) for node in results.resources.node_threads]
    return any(node.node.cpus > 0 and _status(node) is not Status.PASS for node in nodes)


def _node(results: Results, node: NodeThreads) -> _Node:
    ranks = tuple(rank for rank in results.resources.threads if rank.rank in node.ranks)
    metadata = [rank.metadata for rank in results.trace.ranks if rank.number in node.ranks]
    first: Mapping[str, Any] = metadata[0] if metadata else {}
    environment = first.get("environment")
    blas = first.get("blas_threads")
    return _Node(
        node=node,
        ranks=ranks,
        environment=environment if isinstance(environment, dict) else {},
        blas_threads=blas if isinstance(blas, int) else None,
    )


def _status(node: _Node) -> Status:
    waits = node.queue_share >= thresholds.QUEUE_DELAY_SHARE
    if node.crowding < thresholds.CROWDED_WARN:
        return Status.INFO if node.queue_share >= thresholds.SHARED_CPU_SHARE else Status.PASS
    if node.crowding >= thresholds.CROWDED_FAIL and waits:
        return Status.FAIL
    return Status.WARN if node.crowding >= thresholds.CROWDED_WARN and waits else Status.PASS


def _title(node: _Node, status: Status) -> str:
    where = f"{node.node.runnable_mean:.1f} threads want to run on {_cpus(node)}"
    if status is Status.INFO:
        return f"The ranks wait for CPUs of {node.node.host} that other processes use"
    if status is Status.PASS:
        return f"The threads fit the CPUs: {where}"
    return f"{where} of {node.node.host}"


def _cpus(node: _Node) -> str:
    count = node.node.cpus
    return "1 CPU" if count == 1 else f"{count:g} CPUs"


def _summary(node: _Node) -> str:
    ranks = len(node.node.ranks)
    delay_s = sum(rank.queue_delay_s for rank in node.ranks)
    cpu_s = sum(rank.cpu_s for rank in node.ranks)
    text = (
        f"{ranks} {'rank' if ranks == 1 else 'ranks'} of {node.node.host} may use {_cpus(node)} "
        f"together and have {node.node.runnable_mean:.1f} runnable threads while they compute "
        f"({node.crowding:.1f} per CPU); they used {format_seconds(cpu_s)} of CPU time and waited "
        f"{format_seconds(delay_s)} for it."
    )
    if node.too_many_ranks:
        text += " The ranks alone are more than the CPUs."
    return text


def _pool(node: _Node) -> str:
    """The pool that most of the threads belong to, as text; "" when it is not known."""
    if node.blas_threads and node.blas_threads > 1:
        return f"the numerical library (BLAS), {node.blas_threads} threads in each rank"
    groups = [group for rank in node.ranks for group in rank.groups if group.count > 1]
    if not groups:
        return ""
    largest = max(groups, key=lambda group: group.runnable_mean)
    return f"threads named {largest.stem}, {largest.count} in one rank"


def _evidence(node: _Node) -> tuple[Evidence, ...]:
    ranks = node.ranks
    found = [
        Evidence(
            "Runnable threads of all ranks",
            node.node.runnable_mean,
            "threads",
            f"at most {node.node.cpus:g}",
        ),
        Evidence("95 % of the time at most", node.node.runnable_p95, "threads"),
        Evidence("CPUs allowed (affinity mask and cgroup)", node.node.cpus, "CPUs"),
        Evidence("Run-queue delay", sum(rank.queue_delay_s for rank in ranks), "s", "near 0"),
        Evidence("CPU time used", sum(rank.cpu_s for rank in ranks), "s"),
        Evidence("Involuntary context switches", sum(r.involuntary_switches for r in ranks), ""),
    ]
    if pool := _pool(node):
        found.append(Evidence("Largest pool", pool))
    settings = [
        Evidence(f"{name} in this run", str(node.environment[name]))
        for name in VARIABLES
        if name in node.environment
    ]
    return (*found, *settings)


def _actions(node: _Node) -> tuple[str, ...]:
    limit = node.threads_per_rank
    setting = " ".join(f"{name}={limit}" for name in _to_set(node.environment, limit))
    count = len(node.node.ranks)
    actions = []
    busy = max(rank.runnable_mean for rank in node.ranks) > thresholds.CROWDED_WARN
    if busy or not node.too_many_ranks:
        actions.append(
            f"Set {setting} for {count} {'rank' if count == 1 else 'ranks'} on {_cpus(node)}."
        )
    if node.too_many_ranks:
        actions.append(
            f"Start at most {int(node.node.cpus)} ranks on {node.node.host}, or ask for "
            f"{count} CPUs: waiting ranks poll and take CPU time from working ones."
        )
    again = f"with {setting}" if busy or not node.too_many_ranks else "that way"
    actions.append(f"To measure the gain, record the run once more {again} and compare step times.")
    return tuple(actions)


def _to_set(environment: Mapping[str, Any], limit: int) -> Sequence[str]:
    """Variables to set: OMP_NUM_THREADS, and those that the run sets higher, which win over it."""
    higher = [
        name
        for name in VARIABLES[1:]
        if str(environment.get(name, "")).isdigit() and int(environment[name]) > limit
    ]
    return ("OMP_NUM_THREADS", *higher)


DIAGNOSIS = Diagnosis(id=ID, title=TITLE, description=DESCRIPTION, judge=judge)
