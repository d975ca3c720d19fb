"""How much memory of a node is left, and how many more ranks would fit."""

import re

from perfscope.findings.core import wording
from perfscope.findings.core.diagnosis import RANK_BY_RANK, Diagnosis, Outcome
from perfscope.findings.core.finding import Evidence, Finding, not_measured
from perfscope.findings.facts.facts import Facts
from perfscope.findings.facts.memory_limits import Room, rooms, usable_bytes
from perfscope.foreign import mentions
from perfscope.metrics.host.resource_use import kills_with, memory_ran_out
from perfscope.metrics.host.resources import RankMemory
from perfscope.metrics.results import Results
from perfscope.schema.enums import Confidence, EndKind, Status
from perfscope.trace.model import Frame, Rank, Trace
from perfscope.units import capitalized, counted, format_bytes, format_share

SCARCE_FAIL = 0.05  # of the memory of a node or control group left at the least moment
SCARCE_WARN = 0.10
PASSED = "The nodes have memory left"
KILLED = {(EndKind.KILLED, 9), (EndKind.UNKNOWN, None)}
"""How a rank ends that the kernel kills: by SIGKILL, as far as anybody saw it."""

REFUSED = {"MemoryError", "_ArrayMemoryError", "ResourceExhaustedError"}
REFUSED_WORDS = ("can't allocate memory", "cannot allocate memory", "bad_alloc", "enough memory")
OF_DEVICE = re.compile(
    r"(?<![a-z])(?:cuda|gpu|tpu|xpu|hip(?:(?![a-z])|error|malloc))|device:gpu", re.IGNORECASE
)
"""Of memory that is an accelerator's; TensorFlow names the device of the node's as well."""


def judge(run: Facts) -> Outcome:
    """Whether memory runs out on a node or in a control group, and how many ranks fit."""
    results = run.results
    found = rooms(results)
    if not found:
        return not_measured(
            wording.not_recorded(
                results.trace,
                "memory",
                "No memory was sampled: record with --sample-hz 10 (the default).",
            )
        )
    killed = [room for room in found if _killed(results, room)]
    worst = min(killed or found, key=lambda room: room.share_left)
    status = Status.FAIL if killed else _status(worst.share_left)
    where, errors = _errors(results, worst)
    return Finding(
        status=status,
        title=_title(results, worst, status, killed=bool(killed)),
        summary=_summary(results, worst),
        confidence=Confidence.MEDIUM if _counted(results, worst) else Confidence.HIGH,
        ranks=worst.ranks if status is not Status.PASS else (),
        where=where,
        evidence=(*errors, *_evidence(results, worst)),
        actions=_actions(results, worst) if status is not Status.PASS else (),
        overlaps=("memory_growth",),
    )


def _ranks(results: Results, room: Room) -> list[RankMemory]:
    here = frozenset(room.ranks)
    return [memory for memory in results.resources.memory if memory.rank in here]


def _there(results: Results, room: Room) -> list[Rank]:
    here = frozenset(room.ranks)
    return [rank for rank in results.trace.ranks if rank.number in here]


def _killed(results: Results, room: Room) -> list[int]:
    """Ranks that ended for want of memory: killed by the kernel, or by an error that says so."""
    return [
        rank.number
        for rank in _there(results, room)
        if _is_killed(results.trace, rank) or _is_refused(rank)
    ]


def _is_killed(trace: Trace, rank: Rank) -> bool:
    """Whether it was killed while the kernel killed processes for memory."""
    return _is_seen_killed(rank) or kills_with(trace, rank) > 0


def _is_seen_killed(rank: Rank) -> bool:
    """Whether its own samples tell of it, which count in its control group."""
    return (rank.ending.kind, rank.ending.code) in KILLED and memory_ran_out(rank)


def _counted(results: Results, room: Room) -> int:
    """Processes that the kernel ended on the host, where nothing else tells of these ranks."""
    killed = frozenset(_killed(results, room))
    ranks = [rank for rank in results.trace.ranks if rank.number in killed]
    if any(_is_seen_killed(rank) or _is_refused(rank) for rank in ranks):
        return 0
    return max((kills_with(results.trace, rank) for rank in ranks), default=0)


def _is_refused(rank: Rank) -> bool:
    """Whether it ended by an exception that host memory was not to be had."""
    raised = rank.ending.raised
    if raised is None or OF_DEVICE.search(raised.message):
        return False
    kind = raised.type.rpartition(".")[2]
    told = mentions(raised.message.lower(), *REFUSED_WORDS)
    return kind in REFUSED or (kind in {"RuntimeError", "OSError"} and told)


def _refused(results: Results, room: Room) -> list[Rank]:
    """Ranks of a room that ended by such an exception."""
    return [rank for rank in _there(results, room) if _is_refused(rank)]


def _errors(results: Results, room: Room) -> tuple[tuple[Frame, ...], list[Evidence]]:
    """Where such exceptions were raised, and what they say."""
    where, rows = [], []
    for rank in _refused(results, room):
        if (raised := rank.ending.raised) is not None:
            where.append(Frame("", raised.file, raised.line))
            told = f"{raised.type.rpartition('.')[2]}: {raised.message}"
            rows.append(Evidence(f"Error of rank {rank.number}", told))
    return tuple(dict.fromkeys(where)), rows[:4]


def _status(share: float) -> Status:
    if share < SCARCE_FAIL:
        return Status.FAIL
    return Status.WARN if share < SCARCE_WARN else Status.PASS


def _title(results: Results, room: Room, status: Status, *, killed: bool) -> str:
    if killed:
        ranks = capitalized(wording.ranks(_killed(results, room)))
        if _refused(results, room):
            return f"{ranks} asked for memory that {room.host} did not have, and ended"
        if count := _counted(results, room):
            verb = "was" if len(_killed(results, room)) == 1 else "were"
            meanwhile = f"the kernel ended {wording.processes(count)} for want of memory"
            return f"{ranks} {verb} killed by signal 9 while {meanwhile} on host {room.host}"
        return f"{ranks} ended when {room.host} was out of memory"
    if status is Status.PASS:
        return PASSED
    return f"{format_share(room.share_left)} of {room.name} is left"


def _summary(results: Results, room: Room) -> str:
    text = f"At the lowest point, {format_bytes(room.left_bytes)} of {room.name} was left."
    largest = _largest(results, room)
    if largest is None or largest.needed_bytes <= 0:
        return text
    phase = _peak_phase(results, largest)
    during = f", in {phase}" if phase else ""
    here = len(room.ranks)
    fits = usable_bytes(results, room) // largest.needed_bytes
    with_them = " with its processes" if largest.descendants else ""
    return (
        f"{text} Rank {largest.rank} needs most, {format_bytes(largest.needed_bytes)}{with_them}"
        " (shared pages counted in part)"
        f"{during}. {counted(fits, 'rank')} like it would fit; {here} ran there."
    )


def _largest(results: Results, room: Room) -> RankMemory | None:
    return max(_ranks(results, room), key=lambda memory: memory.needed_bytes, default=None)


def _peak_phase(results: Results, memory: RankMemory) -> str:
    labels = {phase.id: phase.label for phase in results.phases}
    if not memory.peak_phase:
        return ""
    return f"the phase {labels.get(memory.peak_phase, memory.peak_phase)}"


def _evidence(results: Results, room: Room) -> tuple[Evidence, ...]:
    rows = [
        Evidence("Memory that these ranks may use", format_bytes(room.total_bytes)),
        Evidence("Least left", format_bytes(room.left_bytes), "", "10 % of it or more"),
    ]
    kills = [n.oom_kills for n in results.resources.node_memory if n.host == room.host]
    rows.append(Evidence("Processes killed for memory meanwhile", max(kills, default=0), "", "0"))
    if count := _counted(results, room):
        label = f"Processes that the kernel ended on host {room.host}, of other jobs included"
        rows.append(Evidence(label, count, "", "0"))
    largest = sorted(_ranks(results, room), key=lambda memory: -memory.needed_bytes)
    for memory in largest[:4]:
        rows.append(Evidence(f"Peak of rank {memory.rank}", format_bytes(memory.peak_bytes)))
        if memory.tree_bytes is not None:
            whose = f"{memory.descendants} descendants" if memory.descendants else "no descendants"
            label = f"Proportional memory of rank {memory.rank} then, with {whose}"
            rows.append(Evidence(label, format_bytes(memory.tree_bytes)))
    return tuple(rows)


def _actions(results: Results, room: Room) -> tuple[str, ...]:
    fewer = max(1, len(room.ranks) - 1)
    actions = []
    if len(room.ranks) > 1:
        actions.append(
            f"Start {counted(fewer, 'rank')} instead of {len(room.ranks)} on "
            f"host {room.host}, or ask for more memory."
        )
    largest = _largest(results, room)
    phase = _peak_phase(results, largest) if largest else ""
    actions.append(f"Use smaller batches where memory is largest{f': {phase}' if phase else ''}.")
    return tuple(actions)


DIAGNOSIS = Diagnosis(
    id="memory_headroom",
    title="Memory of the nodes",
    description=(
        "Compares the least memory that was available on each node, and each rank's peak with the "
        "limit of its control group; counts processes that the kernel killed for memory, and "
        "ranks that ended by an error for want of it. How many ranks fit is told by the "
        "proportional memory of a rank and its descendants."
    ),
    judge=judge,
    intact=RANK_BY_RANK,
    passed=PASSED,
    evidence=(
        "least available, peaks and their phase, proportional memory with descendants, ranks "
        "that would fit"
    ),
    counts_from=f"{100 * SCARCE_WARN:g} % left warns, {100 * SCARCE_FAIL:g} % fails",
    rank=300,
    references=(
        "Linux, /proc/meminfo, MemAvailable: https://docs.kernel.org/filesystems/proc.html",
    ),
)
