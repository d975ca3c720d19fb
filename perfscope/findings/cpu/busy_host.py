"""Processes outside the job that use the CPUs of its ranks."""

from perfscope.findings.core import thresholds, wording
from perfscope.findings.core.diagnosis import Diagnosis, Outcome
from perfscope.findings.core.finding import Evidence, Finding, not_measured, passed
from perfscope.findings.facts.facts import Facts
from perfscope.metrics.host.run_queue import CpuWait
from perfscope.schema.enums import Confidence, Status
from perfscope.trace.model import Trace
from perfscope.units import capitalized, format_cpus, format_seconds, format_share


def judge(run: Facts) -> Outcome:
    """Whether ranks are slower because the host works for others as well."""
    trace, waits = run.results.trace, run.results.resources.cpu_waits
    if not waits:
        return not_measured(wording.threads_not_sampled(trace))
    worst = max(waits, key=lambda one: one.part(is_of_others=True).lost_s)
    gain = run.other_processes_gain
    if gain is None or not thresholds.of_host(gain).is_fault:
        if worst.others_cpus is None:
            return not_measured("The recording does not tell what its CPUs did for others.")
        return passed(_used(trace, worst))
    return Finding(
        status=Status.INFO,  # it is no fault of the job, and may be another one the next time
        title=f"Processes outside the job use CPUs of its ranks on host {_host(trace, worst)}",
        summary=(
            f"{_used(trace, worst)} {capitalized(wording.ranks([worst.rank]))} waited "
            f"{format_seconds(worst.part(is_of_others=True).lost_s)} for them in work and transfer."
            f" Without them the run would take {gain.roughly}{format_seconds(gain.seconds)} less."
        ),
        confidence=Confidence.LOW if worst.others_cpus is None else Confidence.HIGH,
        ranks=tuple(one.rank for one in waits if one.part(is_of_others=True).lost_s > 0),
        evidence=tuple(_evidence(one) for one in waits[:8]),
        actions=(
            (
                "Record again on CPUs that nothing else uses: an exclusive node "
                "(`sbatch --exclusive`), or a cpuset of its own for the job. Until then other "
                "savings hold for this busy host only."
            ),
        ),
        overlaps=("threads_over_cores", "shared_cores"),
    )


def _host(trace: Trace, waits: CpuWait) -> str:
    return next(rank.host for rank in trace.ranks if rank.number == waits.rank)


def _used(trace: Trace, waits: CpuWait) -> str:
    """What others used, a sentence."""
    who = f"that {wording.ranks([waits.rank])} may use on host {_host(trace, waits)}"
    if waits.others_cpus is None:
        which = f"{'one CPU' if waits.cpus == 1 else 'CPUs'} {who}"
        return f"The job itself used too little of the {which} to explain how long it waited."
    return f"Other processes used {format_cpus(waits.others_cpus, waits.cpus)} {who}."


def _evidence(waits: CpuWait) -> Evidence:
    used = "not measured"
    if waits.others_cpus is not None:
        used = format_cpus(waits.others_cpus, waits.cpus)
    return Evidence(
        f"Rank {waits.rank}: processes outside the job",
        f"{used}; {format_share(waits.others_share)} of its waiting for a CPU",
    )


DIAGNOSIS = Diagnosis(
    id="busy_host",
    title="Processes outside the job use its CPUs",
    description=(
        "Compares what the CPUs that ranks may use did for anyone with the CPU time of the job's "
        "own processes. The time in which a rank's main thread waited for a CPU is divided between "
        "the two in proportion, but the job's part is no more than its other threads ran, over the "
        "CPUs, and that of others no more than they ran. Where each rank could have a CPU, main "
        "threads of other ranks and a CPU for each do not count. Without that figure only what the "
        "job surely did not take is told."
    ),
    judge=judge,
    passed="Processes outside the job leave its CPUs alone",
    evidence="CPU time of the CPUs and of the job, run-queue delay",
    gain_from="replay of work and transfer without the time that others had the CPU",
    counts_from="of a cost of 1 % it is told (info): it is no fault of the job",
    rank=198,
    references=(
        "Linux, /proc/stat: https://docs.kernel.org/filesystems/proc.html",
        "Linux scheduler statistics: https://docs.kernel.org/scheduler/sched-stats.html",
    ),
)
