"""What processes outside the job cost it, as the verdict tells it beside the findings."""

from collections.abc import Sequence

from perfscope.document.quality_host import of_host
from perfscope.findings.core.finding import Finding, Gain
from perfscope.losses.entry import LossAccount
from perfscope.metrics.results import Results
from perfscope.savings import Wholes, is_more
from perfscope.schema.enums import LossKind
from perfscope.units import NS, format_seconds, inside


def used_by_others(results: Results) -> str:
    """How many of the job's CPUs others used, on the host where that cost most; "" not known."""
    waits = results.resources.cpu_waits
    worst = max(waits, key=lambda one: one.part(is_of_others=True).lost_s, default=None)
    return of_host(results, worst) if worst and worst.others_cpus is not None else ""


def without_cpu_s(results: Results, losses: LossAccount | None) -> float:
    """How long a rank, on average, waited for CPUs that others had; 0 where that is not known."""
    if losses is None or results.whole_run is not None:
        return 0.0
    taken = [one.own_ns for one in losses.entries if one.cause.kind is LossKind.OTHER_PROCESSES]
    return sum(taken) * NS / max(len(results.trace.ranks), 1)


def beside_others(
    of_job: str,
    top: Sequence[Finding],
    gain: Gain | None,
    of: Wholes,
    *,
    used: str = "",
    without_s: float = 0.0,
) -> str:
    """What is said of the job, and what other work on the host costs it.

    The latter is no fault of the job, and nothing in it can be changed for that: it stands behind a
    finding, whose figures are less sure for it. Where there is none, the host comes first. `used`
    is how many CPUs others used, `without_s` how long a rank, on average, had none for them: what
    others wait for it, and what it moves later, is beyond that.
    """
    if gain is None:
        return of_job
    if top:
        longer = f"{gain.at_most}{format_seconds(gain.seconds)} longer"
        if without_s > 0.0 and is_more(gain.seconds, without_s):
            longer += f": at work, each rank had no CPU for {format_seconds(without_s)} on average"
            longer += ", and all that it waited for took longer"
        return f"{of_job} Processes outside the job made this run {longer}.".lstrip()
    told = f"Processes outside the job {f'used {used}' if used else 'use its CPUs'}"
    saved = of.of_run.saving(gain.seconds, is_bound=gain.is_bound)
    others = f"{told}: with no other load on the host, the run would be {saved} shorter"
    return f"{others}. Apart from that, {inside(of_job)}"
