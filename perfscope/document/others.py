"""What processes outside the job cost it, as the verdict tells it beside the findings."""

from collections.abc import Sequence

from perfscope.document.quality_host import of_host
from perfscope.findings.core.finding import Finding, Gain
from perfscope.losses.entry import LossAccount
from perfscope.metrics.results import Results
from perfscope.savings import LEAST_OWN, Wholes, is_more
from perfscope.schema.enums import LossKind
from perfscope.units import NS, capitalized, format_seconds


def lost_to_others_s(results: Results, losses: LossAccount | None) -> float:
    """What work between calls lost to processes outside the job, mean of the ranks."""
    if losses is None or results.whole_run is not None:
        return 0.0
    lost = [one for one in losses.entries if one.cause.kind is LossKind.OTHER_PROCESSES]
    return sum(one.own_ns for one in lost) * NS / max(len(results.trace.ranks), 1)


def used_by_others(results: Results) -> str:
    """How many of the job's CPUs others used, on the host where that cost most; "" not known."""
    waits = results.resources.cpu_waits
    worst = max(waits, key=lambda one: one.part(is_of_others=True).lost_s, default=None)
    return of_host(results, worst) if worst and worst.others_cpus is not None else ""


def beside_others(
    of_job: str,
    top: Sequence[Finding],
    gain: Gain | None,
    of: Wholes,
    *,
    lost_s: float = 0.0,
    used: str = "",
) -> str:
    """What is said of the job, and what other work on the host costs it.

    The latter is no fault of the job, and nothing in it can be changed for that: a finding comes
    first, whatever it costs, and where there is none the host does. `lost_s` is the part that the
    breakdown and the loss account show, and `used` how many CPUs others used.
    """
    if gain is None:
        return of_job
    saved = of.of_run.saving(gain.seconds, is_bound=gain.is_bound)
    told = f"processes outside the job {f'used {used}' if used else 'use its CPUs'}"
    others = f"{told}: with no other load on the host, the run would be {saved} shorter"
    others += _where_it_is(gain, lost_s)
    if not top:
        return f"{capitalized(others)}. In the job itself: {of_job}"
    overlap = "; the two savings may overlap" if top[0].recommended is not None else ""
    return f"{of_job} In addition, {others}{overlap}."


def _where_it_is(gain: Gain, lost_s: float) -> str:
    """Where the page has those seconds, if its row for them has fewer.

    Work that has a cause of its own holds what others took from it: the row is of all other work,
    and communication takes longer for it.
    """
    if lost_s < LEAST_OWN * gain.seconds or not is_more(gain.seconds, lost_s):
        return ""
    return f"; {format_seconds(lost_s)} of that has a row of its own, other rows hold the rest"
