"""What processes outside the job cost it, as the verdict tells it beside the findings."""

from collections.abc import Sequence

from perfscope.document.quality_host import of_host
from perfscope.findings.core.finding import Finding, Gain
from perfscope.metrics.results import Results
from perfscope.savings import Wholes
from perfscope.units import format_seconds, inside

OF_BOTH = "savings are told for an idle host, all other times for this run"
"""What the seconds that are told are of."""


def used_by_others(results: Results) -> str:
    """How many of the job's CPUs others used, on the host where that cost most; "" not known."""
    waits = results.resources.cpu_waits
    worst = max(waits, key=lambda one: one.part(is_of_others=True).lost_s, default=None)
    return of_host(results, worst) if worst and worst.others_cpus is not None else ""


def host_first(top: Sequence[Finding], gain: Gain | None, of: Wholes, *, used: str = "") -> str:
    """What other work on the host costs, where that is more than the first fix saves.

    It is the larger loss then, and what the run is without it has to be known to read the saving.
    `used` is how many CPUs others used. "" where the fix saves more, or nobody knows how much.
    """
    saving = top[0].recommended if top else None
    if gain is None or saving is None or saving.seconds >= gain.seconds:
        return ""
    told = f"Processes outside the job {f'used {used}' if used else 'used its CPUs'}"
    told += f" and made this run {gain.at_most}{format_seconds(gain.seconds)} longer."
    if not of.run_s or of.run_s <= gain.seconds:
        return told
    there = f"{format_seconds(of.run_s - gain.seconds)}{' or more' if gain.is_bound else ''}"
    return (
        f"{told} On an idle host it would take {there}, not {format_seconds(of.run_s)}: {OF_BOTH}."
    )


def beside_others(
    of_job: str, top: Sequence[Finding], gain: Gain | None, of: Wholes, *, used: str = ""
) -> str:
    """What is said of the job, and what other work on the host costs it where that is less.

    The latter is no fault of the job, and nothing in it can be changed for that: it stands behind a
    finding, whose figures are less sure for it. Where there is none, the host comes first. `used`
    is how many CPUs others used.
    """
    if gain is None or host_first(top, gain, of):
        return of_job
    if top:
        longer = f"{gain.at_most}{format_seconds(gain.seconds)} longer"
        return f"{of_job} Processes outside the job made this run {longer}: {OF_BOTH}.".lstrip()
    told = f"Processes outside the job {f'used {used}' if used else 'use its CPUs'}"
    saved = of.of_run.saving(gain.seconds, is_bound=gain.is_bound)
    others = f"{told}: with no other load on the host, the run would be {saved} shorter"
    return f"{others}. Apart from that, {inside(of_job)}"
