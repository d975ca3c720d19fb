"""What follows from starting processes again and again is told with that, and by nothing else."""

from collections.abc import Sequence
from dataclasses import replace

from perfscope.findings.core.finding import Evidence, Finding
from perfscope.findings.core.gain import saved
from perfscope.findings.facts.facts import Facts
from perfscope.findings.losses.groups import lost_to
from perfscope.findings.losses.told import told_only
from perfscope.losses.entry import Saving
from perfscope.schema.enums import Activity, Confidence
from perfscope.trace.started import forks_in_steps
from perfscope.units import format_seconds

STARTING = lost_to(Activity.SUBPROCESS)
FAULTS, ON_CPUS = "page_faults", "worker_cores"


def told_by_forks(run: Facts, findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """The findings; where ranks lose time by starting processes, that claims what comes of it.

    A rank that forks shares its memory, and copies each page when it writes it next: with the forks
    that is gone. Processes that live for a moment take CPUs from ranks, for which no more CPUs are
    needed where they are started once.
    """
    by_id = {one.id: one for one in findings if one.status.is_fault}
    starting = by_id.get(STARTING)
    if starting is None:
        return tuple(findings)
    joined: dict[str, Finding] = {}
    faults = by_id.get(FAULTS)
    if faults is not None and _follows_forks(run, faults, starting):
        joined[STARTING] = _with_faults(run, starting, faults)
        joined[FAULTS] = told_only(faults, STARTING, starting.title)
    beside = by_id.get(ON_CPUS)
    if beside is not None and set(beside.ranks) <= set(starting.ranks) and _forks(run, beside):
        joined[ON_CPUS] = told_only(beside, STARTING, starting.title)
    return tuple(joined.get(one.id, one) for one in findings)


def _forks(run: Facts, finding: Finding) -> bool:
    """Whether each rank of a finding forks more often than it has steps."""
    forking = {rank.number for rank in run.results.trace.ranks if forks_in_steps(rank)}
    known = {one.rank for one in run.results.fault_times}
    return forking & known >= set(finding.ranks)


def _follows_forks(run: Facts, faults: Finding, starting: Finding) -> bool:
    times = {one.rank: one for one in run.results.fault_times}
    ranks = set(faults.ranks)
    return ranks <= set(starting.ranks) and all(times[rank].follows_forks for rank in ranks)


def _with_faults(run: Facts, starting: Finding, faults: Finding) -> Finding:
    """The finding on starting processes, with the saving of both.

    What page faults took is fitted, and so less certain than what samples show.
    """
    together = (*starting.edits, *faults.edits)
    found = run.savings.replayed(together)
    if not isinstance(found, Saving) or found.seconds <= (starting.gain_s or 0.0):
        return starting
    gain = saved(
        run.results,
        found.seconds,
        interval_s=found.interval_s,
        basis=found.basis,
        edits=together,
    )
    added = format_seconds(found.seconds - (starting.gain_s or 0.0))
    said = (
        f"Page faults after forks, in which memory shared with the processes is copied, cost "
        f"{added} more, which the saving includes; what the processes take from the CPUs of ranks "
        "is not in it."
    )
    return replace(
        starting,
        gain=replace(gain, assumptions=starting.assumptions),
        confidence=Confidence.MEDIUM,
        summary=f"{starting.summary} {said}",
        evidence=(*starting.evidence, Evidence(faults.title, added)),
    )
