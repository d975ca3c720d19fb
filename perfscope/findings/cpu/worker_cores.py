"""Loader processes, progress threads and communication threads on the CPUs of the training."""

from collections import defaultdict
from collections.abc import Sequence
from math import inf

from perfscope.findings.core import thresholds, wording
from perfscope.findings.core.diagnosis import RANK_BY_RANK, Diagnosis, Outcome
from perfscope.findings.core.finding import Evidence, Finding, not_measured, passed
from perfscope.findings.facts.facts import Facts
from perfscope.findings.facts.helper_threads import UNEVEN, helper_threads, input_workers, more_cpus
from perfscope.findings.facts.node_threads import cpus_unknown
from perfscope.metrics.host.resources import NodeThreads, node_cpus, queue_share
from perfscope.metrics.results import Results
from perfscope.schema.enums import Confidence, LossKind, Status
from perfscope.schema.resources import ThreadsOfRank
from perfscope.structures import dataclass
from perfscope.trace.host_cpus import cpu_set
from perfscope.trace.model import Rank
from perfscope.units import NS, capitalized, counted, format_seconds, format_share

BUSY_CPUS_SHARE = 0.8  # of the CPUs allowed, busy with training and helpers: they take turns
HELPERS_LEAST_CPUS = 0.1  # that loaders and communication threads keep busy: less hardly counts
MOST_CPUS = 1 << 16
WANT = (LossKind.CPU_WAIT, LossKind.OTHER_PROCESSES)
"""Whose CPU time it is that a rank waits for is not always seen."""


@dataclass(frozen=True)
class _Helpers:
    """What works beside the training of one rank, in CPUs that each keeps busy on average."""

    rank: Rank
    threads: ThreadsOfRank
    processes: int  # of its loaders at a time, 0 unknown
    processes_cpus: float | None  # None: not known
    horovod_cpus: float
    progress: str  # the variable that starts a progress thread, "" none

    @property
    def cpus(self) -> float:
        """CPUs that the helpers keep busy; a progress thread polls all the time."""
        return (self.processes_cpus or 0.0) + self.horovod_cpus + (1.0 if self.progress else 0.0)

    @property
    def own_cpus(self) -> float:
        """CPUs that the rank itself keeps busy, without its helping threads."""
        whole = self.threads.cpu_utilization * self.threads.cpus_available
        helping = self.horovod_cpus + (1.0 if self.progress else 0.0)
        return max(0.0, whole - helping)

    @property
    def is_open(self) -> bool:
        """Whether processes that were, or may have been, started used CPU time that is not known.

        What a rank that was ended noted before is that of processes which had ended by then.
        """
        started = self.processes > 0 or bool(self.rank.workers)
        return (started and self.processes_cpus is None) or not self.rank.ending.is_natural


def judge(run: Facts) -> Outcome:
    """Whether helpers of ranks and their training wait for the same CPUs."""
    results = run.results
    threads = {rank.rank: rank for rank in results.resources.threads}
    length_s = results.focus.length_ns * 1e-9
    started_s = _cpu_s_of_started_ranks(results.trace.ranks)
    helpers = [
        _helpers(rank, threads[rank.number], length_s, started_s[rank.host, rank.pid])
        for rank in results.trace.ranks
        if rank.number in threads
    ]
    if not helpers:
        return not_measured(wording.threads_not_sampled(results.trace))
    found = [one for node in results.resources.nodes for one in _in_the_way(node, helpers)]
    if found and _held_up_s(run, found) < thresholds.WARN_SHARE * length_s:
        least = f"{100 * thresholds.WARN_SHARE:g} % of the analyzed window"
        return passed(f"The training waits for CPUs that its helpers use for less than {least}.")
    if found:
        return _fault(results, found)
    if any(one.is_open and _waits(one) for one in helpers):
        return not_measured(
            "Ranks wait for CPUs, and the CPU time of processes that they may have started was not "
            "noted: they did not end by themselves, or an older perfscope recorded them. Record a "
            "run that ends."
        )
    return passed(
        "What works beside the training of the ranks finds CPUs of its own, or needs none.",
        Confidence.MEDIUM,
    )


def _cpu_s_of_started_ranks(ranks: Sequence[Rank]) -> dict[tuple[str, int], float]:
    """CPU time, by host and process, of what that process started and that are ranks themselves."""
    started: dict[tuple[str, int], float] = defaultdict(float)
    for rank in ranks:
        parent = rank.metadata.get("parent_pid")
        if isinstance(parent, int) and len(rank.process_samples):
            started[rank.host, parent] += float(rank.process_samples["cpu_ns"].max()) * NS
    return started


def _helpers(rank: Rank, threads: ThreadsOfRank, length_s: float, ranks_cpu_s: float) -> _Helpers:
    beside = helper_threads(rank)
    return _Helpers(
        rank=rank,
        threads=threads,
        processes=input_workers(rank),
        processes_cpus=_processes_cpus(rank.metadata.get("children_cpu_s"), length_s, ranks_cpu_s),
        horovod_cpus=beside.horovod_cpus,
        progress=beside.progress,
    )


def _processes_cpus(spent_s: object, length_s: float, ranks_cpu_s: float) -> float | None:
    """CPUs that processes kept busy in the focus of analysis; None if not known or impossible.

    When in their lives they worked is not known; input workers do so while the ranks train.
    """
    if isinstance(spent_s, bool) or not isinstance(spent_s, int | float) or length_s <= 0:
        return None
    is_possible = 0 <= spent_s <= MOST_CPUS * length_s
    return max(0.0, spent_s - ranks_cpu_s) / length_s if is_possible else None


def _waits(one: _Helpers) -> bool:
    return queue_share([one.threads]) >= thresholds.QUEUE_DELAY_SHARE


def _in_the_way(node: NodeThreads, helpers: list[_Helpers]) -> list[_Helpers]:
    """Ranks of a node with helpers for which the CPUs that all may use do not suffice."""
    here = [one for one in helpers if one.rank.number in node.ranks]
    # oversubscription by the ranks' own threads is another diagnosis, which names these as well
    is_oversubscribed = node.runnable_mean >= thresholds.OVERSUBSCRIBED_WARN * node.cpus
    whole = sum(one.own_cpus + one.cpus for one in here)
    is_full = whole >= BUSY_CPUS_SHARE * node.cpus
    found = []
    for one in here:
        alone = one.own_cpus + one.cpus
        bound = 0 < one.threads.cpus_available <= alone / BUSY_CPUS_SHARE
        helping = (one.processes_cpus or 0.0) if is_oversubscribed else one.cpus
        matters = helping >= HELPERS_LEAST_CPUS
        if matters and _waits(one) and (is_full or bound):
            found.append(one)
    return found


def _fault(results: Results, found: list[_Helpers]) -> Finding:
    worst = max(found, key=lambda one: queue_share([one.threads]))
    ranks = tuple(one.rank.number for one in found)
    share = queue_share([worst.threads])
    who = capitalized(wording.ranks(ranks))
    shares = "shares its CPUs" if len(ranks) == 1 else "share their CPUs"
    return Finding(
        status=Status.FAIL if share >= thresholds.SHARED_CPU_SHARE else Status.WARN,
        title=f"{who} {shares} with {_named(worst, is_alone=len(ranks) == 1)}",
        summary=(
            f"{_who_uses(worst, found)}: the training of rank {worst.rank.number} keeps "
            f"{worst.own_cpus:.1f} busy, and what works beside it {worst.cpus:.1f}. Its threads "
            f"waited {format_seconds(worst.threads.queue_delay_s)} for a CPU, "
            f"{format_share(share)} of the CPU time that they got."
        ),
        confidence=Confidence.HIGH if worst.processes_cpus or worst.progress else Confidence.MEDIUM,
        ranks=ranks,
        evidence=_evidence(worst),
        actions=_actions(results, worst),
        overlaps=("threads_over_cores", "shared_cores", *UNEVEN, "data_stall"),
    )


def _held_up_s(run: Facts, found: Sequence[_Helpers]) -> float:
    """Seconds for which want of CPUs holds up the work of the rank worst off; endless unknown."""
    if not all(len(one.rank.main_samples) for one in found):
        return inf
    lost = [one for one in run.losses.entries if one.cause.kind in WANT]
    return sum(one.most_ns for one in lost) * NS


def _who_uses(worst: _Helpers, found: list[_Helpers]) -> str:
    """Who runs on the CPUs of a rank, as far as all of them may use the same ones."""
    own = worst.threads
    same = [one for one in found if one.rank.host == worst.rank.host]
    same = [one for one in same if one.threads.cpus_allowed == own.cpus_allowed]
    processes = sum(one.processes for one in same)
    may_use = wording.cpus(own.cpus_available)
    is_whole = own.cpus_available == len(cpu_set(own.cpus_allowed))
    if len(same) < 2 or not processes or not is_whole:
        return f"Rank {worst.rank.number} may use {may_use}"
    who = capitalized(wording.ranks([one.rank.number for one in same]))
    beside = counted(processes, "input process", "input processes")
    return f"{who} and their {beside} all use the same {may_use}"


def _named(one: _Helpers, *, is_alone: bool) -> str:
    """The helper that takes most CPU time, of one rank or of each of several."""
    processes = f"processes that {'it' if is_alone else 'they'} started"
    if one.processes:
        count = counted(one.processes, "input process", "input processes")
        processes = f"{count}{'' if is_alone else ' each'}"
    parts = {
        processes: one.processes_cpus or 0.0,
        "Horovod's communication thread": one.horovod_cpus,
        f"MPI's progress thread ({one.progress})": 1.0 if one.progress else 0.0,
    }
    return max(parts, key=lambda name: parts[name])


def _evidence(one: _Helpers) -> tuple[Evidence, ...]:
    main = next((t for t in one.rank.threads if t.tid == one.rank.main_tid), None)
    rows = [
        Evidence(f"CPUs of rank {one.rank.number}", one.threads.cpus_allowed or "?"),
        Evidence("Busy with training", one.own_cpus, "CPUs"),
    ]
    if one.processes_cpus is not None:
        its = "processes it started"
        if one.processes:
            count = "input process" if one.processes == 1 else f"{one.processes} input processes"
            its = f"its {count}"
        rows.append(Evidence(f"Busy with {its}", one.processes_cpus, "CPUs"))
    if one.horovod_cpus:
        rows.append(Evidence("Busy with Horovod's thread", one.horovod_cpus, "CPUs"))
    if one.progress:
        rows.append(Evidence(f"{one.progress} in this run", "on"))
    rows.append(
        Evidence("Waiting for a CPU, all its threads", one.threads.queue_delay_s, "s", "near 0")
    )
    if main is not None:
        rows.append(
            Evidence(
                "Waiting for a CPU, its main thread in its whole life",
                main.queue_delay_ns * 1e-9,
                "s",
            )
        )
    return tuple(rows)


def _actions(results: Results, one: _Helpers) -> tuple[str, ...]:
    needed = max(2, round(one.own_cpus + one.cpus + 0.5), int(one.threads.cpus_available) + 1)
    node = next(n for n in results.resources.node_threads if one.rank.number in n.ranks)
    whose = "each rank" if len(results.trace.ranks) > 1 else "it"
    each = f" That is one for {whose}, and one for what works beside it." if needed == 2 else ""
    actions = [f"{capitalized(more_cpus(results.trace, node, needed))}.{each}"]
    if one.progress:
        actions.append(
            f"Or {wording.unset(one.progress)}: its thread polls all the time and needs a CPU "
            "of its own (Intel MPI: I_MPI_ASYNC_PROGRESS_PIN names which)."
        )
    workers = one.processes
    if workers > 1:
        fewer = max(1, workers // 2)
        actions.append(
            f"Or lower num_workers of the DataLoader from {workers} to {fewer}, if the ranks do "
            "not wait for input then (data_stall)."
        )
    elif not workers and (one.processes_cpus or 0.0) > 0:
        actions.append("Or start fewer input processes in each rank.")
    free = _free_cpus(results, node)
    if one.horovod_cpus >= HELPERS_LEAST_CPUS and len(free) >= len(node.ranks):
        each = ",".join(map(str, free[: len(node.ranks)]))
        actions.append(
            f"Horovod: {wording.exported(f'HOROVOD_THREAD_AFFINITY={each}')} puts the thread of "
            f"each rank of host {node.host} on a CPU that no rank is bound to."
        )
    return tuple(actions)


def _free_cpus(results: Results, node: NodeThreads) -> list[int]:
    """CPUs of a node that are in no rank's mask, where the masks are known."""
    masks = [cpu_set(rank.cpus_allowed) for rank in results.trace.ranks if rank.host == node.host]
    if not all(masks):
        return []
    return sorted(set(range(int(node_cpus(results.trace, node)))) - frozenset().union(*masks))


DIAGNOSIS = Diagnosis(
    id="worker_cores",
    title="Loader processes and communication threads share CPUs with training",
    description=(
        "Adds up the CPU time of what works beside the training of a rank (processes that it "
        "started, Horovod's thread, MPI's progress thread) and compares it with what the training "
        "leaves of the CPUs that all may use; run-queue delay shows whether they wait for each "
        "other."
    ),
    judge=judge,
    needs=(cpus_unknown,),
    intact=RANK_BY_RANK,
    passed="No helper of a rank takes CPUs from its training",
    evidence="CPU time of each, masks, run-queue delay",
    counts_from=(
        f"{100 * BUSY_CPUS_SHARE:g} % of the CPUs busy, {HELPERS_LEAST_CPUS:g} CPU for the "
        f"helpers, run-queue delay of {100 * thresholds.QUEUE_DELAY_SHARE:g} % (fails from "
        f"{100 * thresholds.SHARED_CPU_SHARE:g} % on)"
    ),
    rank=220,
    references=(
        "Horovod, binding: https://horovod.readthedocs.io/en/stable/mpi_include.html",
        "MPICH, asynchronous progress: https://www.mpich.org/static/docs/latest/www1/mpiexec.html",
        (
            "Intel MPI, asynchronous progress: "
            "https://www.intel.com/content/www/us/en/docs/mpi-library/developer-reference-linux/2021-15/environment-variables-for-async-progress-control.html"
        ),
        "ChainerMN, tips: https://docs.chainer.org/en/stable/chainermn/tutorial/tips_faqs.html",
    ),
)
