"""Input that is fast enough although getting a batch takes long: what it takes long for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from perfscope.findings import thresholds
from perfscope.findings.finding import Evidence
from perfscope.findings.queue_evidence import queue_pace
from perfscope.findings.waiting_for_cpus import waited_longer

if TYPE_CHECKING:
    from perfscope.metrics.results import Results
    from perfscope.trace.model import Rank


@dataclass(frozen=True)
class OtherCause:
    """Why no faster input would help, and what would."""

    title: str
    summary: str
    action: str
    overlaps: tuple[str, ...] = ()


NO_CPUS = OtherCause(
    title="Batches came late for want of CPUs, not of input",
    summary=(
        "Batches are made far faster than the training uses them, and threads waited longer than "
        "that for CPUs: the CPUs are short, not the input."
    ),
    action="Give the rank CPUs that nobody else uses: no faster input would help.",
    overlaps=("threads_over_cores", "worker_cores"),
)
TAKEN_OVER = OtherCause(
    title="Batches are there in time, and taking them over takes long",
    summary=(
        "The workers had nearly every batch ready when it was asked for: the time goes into taking "
        "it over from another process, and more workers would not help."
    ),
    action=(
        "Make a batch cheaper to take over: few large tensors instead of many small ones, and no "
        "Python objects beside them; on a GPU, pin_memory=True."
    ),
)


def other_cause(results: Results, rank: Rank, gain_s: float) -> OtherCause | None:
    """What makes a rank wait for its batches although they are made in time; None: they are not.

    Args:
        results: the run.
        rank: who waits longest.
        gain_s: what the run would be shorter by with every batch there in time.
    """
    asked, ready = _batches(rank)
    if asked >= thresholds.BATCHES_LEAST and ready >= thresholds.BATCHES_READY_SHARE * asked:
        return TAKEN_OVER
    pace = queue_pace(rank)
    if pace is not None and pace.keeps_up and waited_longer(results, rank.number, gain_s):
        return NO_CPUS
    return None


def ready_evidence(rank: Rank) -> list[Evidence]:
    """Batches of a DataLoader's workers that were there in time; nothing where none was counted."""
    asked, ready = _batches(rank)
    if not asked:
        return []
    return [Evidence("Batches that were there when asked for", f"{ready:,} of {asked:,}")]


def _batches(rank: Rank) -> tuple[int, int]:
    """Training batches that were asked for, and of them those that were there."""
    counts = rank.framework("torch").get("batches")
    if not isinstance(counts, dict):
        return 0, 0
    asked, ready = counts.get("asked"), counts.get("ready")
    if not isinstance(asked, int) or not isinstance(ready, int) or not 0 <= ready <= asked:
        return 0, 0
    return asked, ready
