"""Nodes all of whose CPUs have a busy rank, so that the system takes its time from the ranks."""

from perfscope.findings.core import thresholds
from perfscope.findings.core.diagnosis import Diagnosis, Outcome
from perfscope.findings.core.finding import Evidence, Finding, not_applicable, passed
from perfscope.findings.facts.facts import Facts
from perfscope.findings.facts.helper_threads import UNEVEN
from perfscope.findings.facts.node_threads import cpus_unknown
from perfscope.metrics.host.resources import NodeThreads, busy_cpus, node_cpus, queue_share
from perfscope.metrics.results import Results
from perfscope.schema.enums import Confidence, Status
from perfscope.units import format_seconds, format_share

FULL_SHARE = 0.95  # of all CPUs of a node, busy with ranks: nothing is left for the system
NOISE_SHARE = 0.01  # run-queue delay per CPU second from which on the system is felt
EVEN_NOISE = 2.0  # most over least of the ranks' run-queue delay: noise meets all alike
INTERRUPTED_PER_S = 5.0  # involuntary switches a second of each rank: the system's own timers
NOISE_LEAST_S = 10.0  # a shorter focus does not tell noise from start-up


def judge(run: Facts) -> Outcome:
    """Whether system noise of some node can only run at the expense of its ranks; a hint."""
    results = run.results
    if results.focus.length_ns * 1e-9 < NOISE_LEAST_S:
        return not_applicable(
            f"Less than {format_seconds(NOISE_LEAST_S)} do not tell noise from start."
        )
    full = [node for node in results.resources.nodes if _is_full(results, node)]
    if not full:
        return passed(
            "On no node are all CPUs busy with ranks that are interrupted alike.", Confidence.MEDIUM
        )
    node = max(full, key=lambda node: queue_share(results.resources.threads_of(node)))
    ranks = results.resources.threads_of(node)
    delay_s = sum(rank.queue_delay_s for rank in ranks)
    return Finding(
        status=Status.INFO,
        title=f"Host {node.host} has no spare core for the OS: ranks keep every CPU busy",
        summary=(
            f"The ranks keep {busy_cpus(ranks):.1f} of {node.cpus:g} CPUs busy and do not "
            f"oversubscribe them, yet they waited {format_seconds(delay_s)} for a CPU, all alike: "
            "that went to the system and to others. What a free CPU gives is not known before it "
            "is tried."
        ),
        confidence=Confidence.LOW,
        ranks=node.ranks,
        evidence=_evidence(results, node),
        actions=(
            (
                f"Try {int(node.cpus) - 1} instead of {int(node.cpus)} CPUs for the ranks of each "
                "node: one rank or one thread less, or Slurm's --core-spec=1 where the cluster "
                "allows it."
            ),
        ),
        overlaps=UNEVEN,
    )


def _is_full(results: Results, node: NodeThreads) -> bool:
    """Every CPU is busy, nothing of the job is in the way, and all ranks wait alike."""
    ranks = results.resources.threads_of(node)
    whole = node_cpus(results.trace, node)
    fits = node.runnable_mean / node.cpus < thresholds.OVERSUBSCRIBED_WARN
    if node.cpus < 2 or whole > node.cpus or not fits or node.ranks_sharing_a_cpu:
        return False
    if busy_cpus(ranks) < FULL_SHARE * node.cpus:
        return False
    share = queue_share(ranks)
    if not NOISE_SHARE <= share < thresholds.SHARED_CPU_SHARE:
        return False
    own = [queue_share([rank]) for rank in ranks]
    interrupted = min(rank.involuntary_switches for rank in ranks)
    seconds = results.focus.length_ns * 1e-9
    is_even = max(own) <= EVEN_NOISE * min(own)
    return is_even and interrupted >= INTERRUPTED_PER_S * seconds


def _evidence(results: Results, node: NodeThreads) -> tuple[Evidence, ...]:
    ranks = results.resources.threads_of(node)
    return (
        Evidence("CPUs of the node", node.cpus, "CPUs"),
        Evidence("Busy with ranks", busy_cpus(ranks), "CPUs", f"at most {node.cpus - 1:g}"),
        Evidence("Waited for a CPU, of the CPU time", format_share(queue_share(ranks))),
        Evidence(
            "Involuntary context switches, of the rank with the fewest",
            min(rank.involuntary_switches for rank in ranks),
        ),
    )


DIAGNOSIS = Diagnosis(
    id="no_free_core",
    title="No CPU is left for the system",
    description=(
        "Looks for nodes all of whose CPUs are busy, though not oversubscribed, while all ranks "
        "alike are interrupted and wait for CPUs: what the operating system does is then taken "
        "from the ranks, and the slowest of them holds up the others."
    ),
    judge=judge,
    needs=(cpus_unknown,),
    passed="The system has a CPU of its own, or takes next to nothing",
    evidence="CPU time, run-queue delay, involuntary switches",
    counts_from=(
        f"{100 * FULL_SHARE:g} % busy, run-queue delay of {100 * NOISE_SHARE:g} %: reported (info)"
    ),
    rank=250,
    references=(
        (
            "Petrini, Kerbyson, Pakin: The Case of the Missing Supercomputer Performance (SC "
            "2003): https://doi.org/10.1145/1048935.1050204"
        ),
        "Slurm, specialized cores: https://slurm.schedmd.com/core_spec.html",
    ),
)
