"""How much memory of a node is left, and how many more ranks would fit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from perfscope.findings import thresholds, wording
from perfscope.findings.finding import Confidence, Diagnosis, Evidence, Finding, Status
from perfscope.trace.model import EndKind
from perfscope.units import format_bytes, format_share

if TYPE_CHECKING:
    from perfscope.metrics.resources import NodeMemory, RankMemory
    from perfscope.metrics.results import Results
    from perfscope.replay.model import Replay

ID = "memory_headroom"
TITLE = "Memory of the nodes"
PASSED = "The nodes have memory left"
DESCRIPTION = (
    "Compares the least memory that was available on each node, and each rank's peak with the "
    "limit of its control group; counts processes that the kernel killed for memory."
)
REFERENCES = ("Linux, /proc/meminfo, MemAvailable: https://docs.kernel.org/filesystems/proc.html",)
SIGKILL = 9


def judge(results: Results, replay: Replay) -> Finding:  # noqa: ARG001
    """Whether a node runs out of memory, and how many ranks fit it at their peak."""
    nodes = [
        node for node in results.resources.node_memory if _share_left(results, node) is not None
    ]
    if not nodes:
        reason = results.trace.not_recorded.get("memory") or (
            "No memory was sampled: record with --sample-hz 10 (the default)."
        )
        return Finding(ID, Status.NOT_MEASURED, TITLE, reason, confidence=Confidence.HIGH)
    killed = [node for node in nodes if _killed(results, node)]
    worst = min(killed or nodes, key=lambda node: _share_left(results, node) or 0.0)
    status = Status.FAIL if killed else _status(_share_left(results, worst) or 0.0)
    return Finding(
        id=ID,
        status=status,
        title=_title(results, worst, status, killed=bool(killed)),
        summary=_summary(results, worst),
        confidence=Confidence.HIGH,
        ranks=worst.ranks if status is not Status.PASS else (),
        evidence=_evidence(results, worst),
        actions=_actions(results, worst) if status is not Status.PASS else (),
        references=REFERENCES,
        overlaps=("memory_growth",),
    )


def _ranks(results: Results, node: NodeMemory) -> list[RankMemory]:
    return [memory for memory in results.resources.memory if memory.rank in node.ranks]


def _share_left(results: Results, node: NodeMemory) -> float | None:
    """Share of the memory left at the least moment: of the node, or below the ranks' own limits."""
    shares = []
    if node.total_bytes and node.least_available_bytes is not None:
        shares.append(node.least_available_bytes / node.total_bytes)
    shares += [
        max(0.0, 1.0 - memory.peak_bytes / memory.limit_bytes)
        for memory in _ranks(results, node)
        if memory.limit_bytes
    ]
    return min(shares, default=None)


def _killed(results: Results, node: NodeMemory) -> list[int]:
    """Ranks of a node that were killed while the kernel killed processes for memory."""
    if not node.oom_kills:
        return []
    return [
        rank.number
        for rank in results.trace.ranks
        if rank.number in node.ranks
        and (rank.ending.kind, rank.ending.code)
        in {(EndKind.KILLED, SIGKILL), (EndKind.UNKNOWN, None)}
    ]


def _status(share: float) -> Status:
    if share < thresholds.SCARCE_FAIL:
        return Status.FAIL
    return Status.WARN if share < thresholds.SCARCE_WARN else Status.PASS


def _title(results: Results, node: NodeMemory, status: Status, *, killed: bool) -> str:
    if killed:
        ranks = wording.capitalised(wording.ranks(_killed(results, node)))
        return f"{ranks} ended when {node.host} was out of memory"
    if status is Status.PASS:
        return PASSED
    return f"{format_share(_share_left(results, node))} of the memory of {node.host} is left"


def _more_ranks(results: Results, node: NodeMemory) -> int | None:
    """Ranks more that would fit the node when all are at their peak; None where unknown."""
    peaks = [memory.peak_bytes for memory in _ranks(results, node)]
    if node.least_available_bytes is None or not peaks or max(peaks) <= 0:
        return None
    return int(node.least_available_bytes // max(peaks))


def _summary(results: Results, node: NodeMemory) -> str:
    peaks = _ranks(results, node)
    largest = max(peaks, key=lambda memory: memory.peak_bytes, default=None)
    left = format_bytes(node.least_available_bytes)
    text = (
        f"At the least moment {left} of {format_bytes(node.total_bytes)} were available on "
        f"{node.host}."
    )
    if largest is not None:
        phase = _peak_phase(results, largest.rank)
        during = f", in {phase}" if phase else ""
        text += f" Rank {largest.rank} needs most, {format_bytes(largest.peak_bytes)}{during}."
    more = _more_ranks(results, node)
    if more is not None:
        here = len(node.ranks)
        text += f" {here + more} ranks like it would fit the node; {here} ran there."
    return text


def _peak_phase(results: Results, rank: int) -> str:
    labels = {phase.id: phase.label for phase in results.phases}
    for growth in results.memory_growth:
        if growth.rank == rank and growth.peak_phase:
            return f"the phase {labels.get(growth.peak_phase, growth.peak_phase)}"
    return ""


def _largest_phase(results: Results, node: NodeMemory) -> str:
    """The phase in which the rank that needs most memory needs it; "" where unknown."""
    largest = max(_ranks(results, node), key=lambda memory: memory.peak_bytes, default=None)
    return _peak_phase(results, largest.rank) if largest else ""


def _evidence(results: Results, node: NodeMemory) -> tuple[Evidence, ...]:
    rows = [
        Evidence("Memory of the node", format_bytes(node.total_bytes)),
        Evidence(
            "Least available", format_bytes(node.least_available_bytes), "", "10 % of it or more"
        ),
        Evidence("Processes killed by the kernel for memory", node.oom_kills, "", "0"),
    ]
    for memory in sorted(_ranks(results, node), key=lambda m: -m.peak_bytes)[:4]:
        limit = f"at most {format_bytes(memory.limit_bytes)}" if memory.limit_bytes else ""
        rows.append(
            Evidence(f"Peak of rank {memory.rank}", format_bytes(memory.peak_bytes), "", limit)
        )
    return tuple(rows)


def _actions(results: Results, node: NodeMemory) -> tuple[str, ...]:
    fewer = max(1, len(node.ranks) - 1)
    actions = []
    if len(node.ranks) > 1:
        actions.append(
            f"Start {fewer} {'rank' if fewer == 1 else 'ranks'} instead of {len(node.ranks)} on "
            f"{node.host}, or use nodes with more memory."
        )
    phase = _largest_phase(results, node)
    actions.append(f"Use smaller batches where memory is largest{f': {phase}' if phase else ''}.")
    return tuple(actions)


DIAGNOSIS = Diagnosis(id=ID, title=TITLE, description=DESCRIPTION, judge=judge)
