"""What processes outside the job cost it, as the verdict tells it beside the findings."""

from collections.abc import Sequence
from dataclasses import replace

from perfscope.document.quality_host import of_host
from perfscope.document.splits import as_measured, is_told_idle
from perfscope.findings.core import thresholds
from perfscope.findings.core.finding import Finding, Gain
from perfscope.findings.core.gain import bound_s
from perfscope.findings.core.wording import wholes_of_run
from perfscope.findings.facts.facts import Facts
from perfscope.metrics.results import Results
from perfscope.savings import Wholes, saves_more
from perfscope.schema.enums import Status
from perfscope.trace.model import Rank
from perfscope.trace.operations import IS_COLLECTIVE
from perfscope.units import format_seconds, inside

NOT_COUNTED = "That is not included in the saving."
"""What a saving is beside what other processes cost, of which it is told apart."""


IF_PROGRAM = ", if the program is the cause; otherwise nothing"
"""Under which condition a fix saves, where other work on the host may be the cause."""

BY_HOST = ("load_imbalance", "straggler", "transient_imbalance")
"""Findings that other work on the host may bring about, or change."""


def may_be_host(finding: Finding, others_s: float | None) -> bool:
    """Whether ranks differ by less than other processes cost, so that these may be the cause."""
    saving = finding.recommended
    if others_s is None or saving is None or finding.id not in BY_HOST:
        return False
    return finding.status.is_fault and as_measured(saving).seconds < others_s


def host_gain(run: Facts) -> Gain | None:
    """What a run would save without processes outside the job, where that is worth telling first.

    Of a window that was chosen nobody knows what the run is without them.
    """
    gain = run.other_processes_gain
    is_told = gain and thresholds.of_host(gain) is Status.FAIL
    return gain if is_told and run.results.options.focus is None else None


def wholes_beside(results: Results, others: Gain | None) -> Wholes:
    """What savings are shares of, with the run on an idle host where others cost that much."""
    meets_s = bound_s(results, [0.0] * len(results.trace.ranks))
    of = replace(wholes_of_run(results), meets_s=meets_s)
    left_s = of.run_s - others.seconds if of.run_s and others else 0.0
    return replace(of, idle_s=left_s) if left_s > 0 else of


def used_by_others(results: Results) -> str:
    """How many of the job's CPUs others used, on the host where that cost most; "" not known."""
    waits = results.resources.cpu_waits
    worst = max(waits, key=lambda one: one.part(is_of_others=True).lost_s, default=None)
    return of_host(results, worst) if worst and worst.others_cpus is not None else ""


def why_so_much(results: Results, gain: Gain | None) -> str:
    """Why other processes cost more than ranks wait for CPUs themselves, as a clause.

    "" where they do not, and where ranks do not meet.
    """
    if gain is None or gain.own_s is None or not saves_more(gain.seconds, gain.own_s):
        return ""
    calls = max((_collectives(one) for one in results.trace.ranks), default=0)
    if calls < 2 or len(results.trace.ranks) < 2:
        return ""
    return ", as a rank without a CPU holds up the others"


def _collectives(rank: Rank) -> int:
    """How many collective calls a rank made, which its rows no longer tell of a long run."""
    return sum(calls for code, (calls, *_) in rank.totals.items() if IS_COLLECTIVE[code])


def host_first(
    top: Sequence[Finding],
    gain: Gain | None,
    of: Wholes,
    *,
    used: str = "",
    why: str = "",
    ends: tuple[float, float] | None = None,
) -> str:
    """What other work on the host costs, in front of all else: what the run is without it.

    That has to be known to read a saving, and what was looked at where nothing is to be fixed.
    `used` is how many CPUs others used, `why` a clause about how much it costs, `ends` the seconds
    between which the run lies without it. "" where nobody knows what it costs.
    """
    if gain is None:
        return ""
    told = f"Processes outside the job {f'used {used}' if used else 'used its CPUs'}"
    longer = _between(of, gain, ends) or f"{gain.roughly}{format_seconds(gain.seconds)}"
    whole = f"this {format_seconds(of.run_s)} run" if of.run_s else "this run"
    told += f" and made {whole} {longer} longer{why}"
    saving = top[0].recommended if top else None
    return f"{told}. {NOT_COUNTED}" if saving and is_told_idle(saving, of) else f"{told}."


def _between(of: Wholes, gain: Gain, ends: tuple[float, float] | None) -> str:
    """Between what it costs, where that is known and what is told lies there; else ""."""
    if ends is None or not of.run_s:
        return ""
    ends_s = of.run_s - ends[1], of.run_s - ends[0]
    low, high = map(format_seconds, ends_s)
    is_between = 0.0 < ends_s[0] <= gain.seconds <= ends_s[1] and low != high
    return f"{low} to {high}" if is_between else ""


def beside_others(of_job: str, top: Sequence[Finding], host: str) -> str:
    """What is said of the job and of its host: what there is to fix comes first."""
    if top:
        return of_job
    if host:
        of_job = f"Apart from the busy host, {inside(of_job)}"
    return f"{host} {of_job}".strip()
