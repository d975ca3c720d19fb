"""Ranks whose memory and CPUs lie on different NUMA nodes."""

from perfscope.findings.core import wording
from perfscope.findings.core.diagnosis import RANK_BY_RANK, Diagnosis, Outcome
from perfscope.findings.core.finding import Evidence, Finding, not_applicable, not_measured, passed
from perfscope.findings.facts.facts import Facts
from perfscope.metrics.host.numa import NumaUse, numa_use
from perfscope.schema.enums import Confidence, Status
from perfscope.units import capitalized, format_bytes, format_share

REMOTE_WARN = 0.2  # of a rank's memory on NUMA nodes without a CPU of the rank
REMOTE_FAIL = 0.5
REMOTE_LEAST_BYTES = 256 << 20  # libraries and small data lie anywhere and do not matter
MOVES_LEAST = 5  # changes of NUMA node that were seen: once or twice is the start
MOVES_PER_MINUTE = 3.0  # fewer are the scheduler's: what is in the caches is back in no time
LOCAL = (
    "Bind each rank to one NUMA node before it allocates: `mpirun --map-by numa --bind-to numa` "
    "(Open MPI), `-bind-to numa` (MPICH), `export I_MPI_PIN_DOMAIN=numa` (Intel MPI), "
    "`srun --cpu-bind=ldoms --mem-bind=local`, or `numactl --localalloc` in front of the program."
)


def judge(run: Facts) -> Outcome:
    """Whether ranks reach over to the memory of another NUMA node; no seconds are claimed."""
    results = run.results
    uses = numa_use(results.trace)
    if not uses:
        return not_measured(
            wording.not_recorded(
                results.trace,
                "environment",
                "The NUMA nodes of the machine were not noted: record with perfscope run.",
            )
        )
    several = [use for use in uses if len(use.nodes) > 1]
    if not several:
        return not_applicable(
            "The machine has one NUMA node with CPUs: it is the same for all ranks."
        )
    remote = [use for use in several if _is_remote(use)]
    if remote:
        return _remote(remote)
    moving = [use for use in several if _moves(use, several)]
    if moving:
        return _moving(moving)
    if not any(use.bytes_by_node for use in several):
        return not_measured(
            "Where the pages lie was not noted: the ranks ended before 30 s without an exit of "
            "their own, or are too large to be looked through."
        )
    largest = max(use.remote_share for use in several)
    return passed(f"At most {format_share(largest)} of a rank's memory is on another NUMA node.")


def _is_remote(use: NumaUse) -> bool:
    return use.remote_share >= REMOTE_WARN and use.remote_bytes >= REMOTE_LEAST_BYTES


def _moves(use: NumaUse, others: list[NumaUse]) -> bool:
    """Several ranks share the NUMA nodes of a host, and this one was seen on more than one."""
    together = sum(other.host == use.host for other in others)
    often = use.moves_per_minute >= MOVES_PER_MINUTE
    often = often and use.moves >= MOVES_LEAST
    return together > 1 and len(use.cpu_nodes) > 1 and often


def _remote(found: list[NumaUse]) -> Finding:
    worst = max(found, key=lambda use: use.remote_share)
    ranks = tuple(use.rank for use in found)
    nodes = _numbers(worst.cpu_nodes)
    verb = "reaches" if len(ranks) == 1 else "reach"
    return Finding(
        status=Status.FAIL if worst.remote_share >= REMOTE_FAIL else Status.WARN,
        title=f"{capitalized(wording.ranks(ranks))} {verb} over to the memory of another NUMA node",
        summary=(
            f"{format_bytes(worst.remote_bytes)} ({format_share(worst.remote_share)}) of the "
            f"memory of rank {worst.rank} lies outside NUMA node {nodes}, where its CPUs are. What "
            "a nearer place gives was not measured; memory of another node mostly takes 1.5 to 2 "
            "times as long."
        ),
        confidence=Confidence.HIGH,
        ranks=ranks,
        evidence=_evidence(found),
        actions=(
            LOCAL,
            (
                "Allocate and fill the data in the process that uses it, after it was bound: a "
                "page lies where it is first written."
            ),
        ),
    )


def _moving(found: list[NumaUse]) -> Finding:
    ranks = tuple(use.rank for use in found)
    most = max(found, key=lambda use: use.moves)
    who = f"Rank {ranks[0]} moves" if len(ranks) == 1 else f"The {len(ranks)} ranks move"
    them = "it" if len(ranks) == 1 else "them"
    return Finding(
        status=Status.WARN,
        title=f"{who} between NUMA nodes: nothing binds {them}",
        summary=(
            f"Rank {most.rank} may use CPUs of NUMA nodes {_numbers(most.cpu_nodes)} and was seen "
            f"to change from one to another {most.moves:,} times; its memory stays where it was "
            "first written."
        ),
        confidence=Confidence.MEDIUM,
        ranks=ranks,
        evidence=_evidence(found),
        actions=(LOCAL,),
    )


def _numbers(nodes: tuple[int, ...]) -> str:
    return ", ".join(map(str, nodes))


def _evidence(found: list[NumaUse]) -> tuple[Evidence, ...]:
    rows = []
    for use in found[:4]:
        rows.append(Evidence(f"CPUs of rank {use.rank} on NUMA node", _numbers(use.cpu_nodes)))
        rows += [
            Evidence(f"Memory of rank {use.rank} on NUMA node {node}", format_bytes(size))
            for node, size in sorted(use.bytes_by_node.items())[:8]
        ]
        if use.moves:
            rows.append(Evidence(f"Changes of NUMA node of rank {use.rank}", use.moves))
    return tuple(rows)


DIAGNOSIS = Diagnosis(
    id="numa_placement",
    title="Memory and CPUs of a rank lie on different NUMA nodes",
    description=(
        "Compares the NUMA nodes on which the pages of a rank lie with those of the CPUs that it "
        "may use, and tells ranks that move between NUMA nodes because nothing binds them."
    ),
    judge=judge,
    intact=RANK_BY_RANK,
    passed="The ranks' memory lies on the NUMA nodes of their CPUs",
    evidence="pages and CPUs by node, changes of node",
    counts_from=(
        f"{100 * REMOTE_WARN:g} % (fails from {100 * REMOTE_FAIL:g} % on) and "
        f"{format_bytes(REMOTE_LEAST_BYTES)}; {MOVES_LEAST} changes and {MOVES_PER_MINUTE:g} "
        "a minute"
    ),
    rank=260,
    references=(
        (
            "Linux, /proc/PID/numa_maps: "
            "https://man7.org/linux/man-pages/man5/proc_pid_numa_maps.5.html"
        ),
        "numactl(8): https://man7.org/linux/man-pages/man8/numactl.8.html",
    ),
)
