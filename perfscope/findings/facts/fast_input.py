"""Input that is fast enough although getting a batch takes long: what it takes long for."""

from collections.abc import Mapping
from dataclasses import replace

from perfscope.findings.core import thresholds
from perfscope.findings.core.finding import Evidence
from perfscope.findings.facts.cpu_contention import waited_longer
from perfscope.findings.facts.queue_evidence import queue_pace
from perfscope.judging import ALONE
from perfscope.metrics.results import Results
from perfscope.structures import dataclass
from perfscope.trace.model import Rank
from perfscope.units import NS, format_seconds

BATCHES_LEAST = 10  # asked for: fewer do not tell whether the workers keep up


@dataclass(frozen=True)
class OtherCause:
    """Why no faster input would help, and what would."""

    title: str
    summary: str
    action: str
    overlaps: tuple[str, ...]
    is_loss: bool  # time that the program can do something about, and not chance


NO_CPUS = OtherCause(
    title="Batches may have come late for want of CPUs, not of input",
    summary=(
        "Batches are made far faster than the training uses them, and threads waited longer than "
        "that for CPUs: rather the CPUs are short than the input."
    ),
    action="Give the rank CPUs that nobody else uses, before anything is done about its input.",
    overlaps=("threads_over_cores", "worker_cores"),
    is_loss=False,
)
READY = replace(
    NO_CPUS,
    summary=(
        "Nearly all of that is for batches that the workers had ready when they were asked for, "
        "and threads waited longer than that for CPUs: rather the CPUs are short than the input."
    ),
)
TAKEN_OVER = OtherCause(
    title="Batches are there in time, and taking them over takes long",
    summary=(
        "Nearly all of that is for batches that the workers had ready when they were asked for: "
        "they are taken over from another process, and more workers would not help."
    ),
    action=(
        "Make batches cheaper to transfer: few large tensors instead of many small ones, and no "
        "Python objects beside them; on a GPU, pin_memory=True."
    ),
    overlaps=("load_imbalance", "idle_devices"),
    is_loss=True,
)


def other_cause(
    results: Results, rank: Rank, *, waited_s: float, gain_s: float
) -> OtherCause | None:
    """What makes a rank wait for its batches although they are made in time; None: they are not.

    `gain_s` is what the run would be shorter by with every batch there in time.
    """
    counts = _counts(rank)
    taken_ns = counts["ready_ns"] + counts["late_ns"]
    if counts["asked"] >= BATCHES_LEAST and taken_ns > 0:
        late_s = gain_s * counts["late_ns"] / taken_ns
        least_s = thresholds.FAIL_SHARE * results.focus.length_ns * NS
        if late_s >= least_s:
            return None
        return READY if waited_longer(results, rank.number, gain_s) else TAKEN_OVER
    pace = queue_pace(rank)
    if pace is None or not pace.keeps_up or pace.got_s < waited_s / 2:
        return None
    return NO_CPUS if waited_longer(results, rank.number, gain_s) else None


def ready_evidence(rank: Rank) -> list[Evidence]:
    """Batches of a DataLoader's workers that were there in time; nothing where none was counted."""
    counts = _counts(rank)
    if not counts["asked"]:
        return []
    ready = f"{counts['ready']:,} of {counts['asked']:,}"
    late = format_seconds(counts["late_ns"] * NS)
    return [
        Evidence("Batches that were there when asked for", ready),
        Evidence("Waited for those that were not, in the whole run", late),
    ]


def are_in_time(rank: Rank) -> bool:
    """Whether nearly all batches of workers are there when asked for, but those that come first."""
    counts = _counts(rank)
    return counts["asked"] >= BATCHES_LEAST and counts["ready"] >= ALONE * counts["asked"]


def _counts(rank: Rank) -> Mapping[str, int]:
    """Training batches that were asked for and those that were there, and the time of both."""
    noted = rank.framework("torch").get("batches")
    names = ("asked", "ready", "ready_ns", "late_ns")
    found = {name: noted.get(name) if isinstance(noted, dict) else None for name in names}
    counts = {name: n for name, n in found.items() if isinstance(n, int) and n >= 0}
    is_told = len(counts) == len(names) and counts["ready"] <= counts["asked"]
    return counts if is_told else dict.fromkeys(names, 0)
