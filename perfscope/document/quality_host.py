"""Whether processes outside the job used the host during the recording: a row of `quality`."""

from perfscope.findings.core import wording
from perfscope.findings.core.thresholds import WARN_SHARE
from perfscope.metrics.host.run_queue import CpuWait
from perfscope.metrics.results import Results
from perfscope.schema.enums import Status
from perfscope.schema.findings import QualityRow
from perfscope.trace.host_cpus import cpu_set
from perfscope.units import LEAST_TENTH, NS, capitalized, format_cpus, format_seconds


def host_checks(results: Results) -> list[QualityRow]:
    """How much other processes used the CPUs of the rank that waited longest for them."""
    waits = results.resources.cpu_waits
    if not waits:
        return []
    worst = max(waits, key=lambda one: one.part(is_of_others=True).lost_s)
    lost_s = worst.part(is_of_others=True).lost_s
    is_busy = lost_s >= WARN_SHARE * results.focus.length_ns * NS
    if worst.others_cpus is None and not is_busy:
        return []
    waited = f"{capitalized(wording.ranks([worst.rank]))} waited {format_seconds(lost_s)}"
    told_used = ""
    if worst.others_cpus is None:
        title = "Processes outside the job took CPUs from it"
        detail = f"{waited} at least for CPUs on which the job did not run meanwhile."
    else:
        used = of_host(results, worst)
        told = told_used = f"Processes outside the job used {used}"
        busy = told if worst.others_cpus >= LEAST_TENTH else f"{waited} for other processes"
        title = busy if is_busy else "The host worked for the job"
        detail = f"{told} on average. {waited} for them."
    if not is_busy:
        return [QualityRow("other_work", Status.PASS, title, detail)]
    advice = " Record again on an idle host before acting on small differences."
    limit_s = WARN_SHARE * results.focus.length_ns * NS
    title = f"{title} (limit {format_seconds(limit_s)})" if title != told_used else title
    return [QualityRow("other_work", Status.WARN, title, detail + advice, lost_s=lost_s)]


def of_host(results: Results, worst: CpuWait) -> str:
    """What others used of the CPUs that the job may use on a rank's host: `0.3 of the 2 CPUs`.

    Ranks that are bound have CPUs of their own each, which count together. Where their masks
    overlap in part, or are not all known, those of this rank are told, as such.
    """
    ranks = {one.number: one for one in results.trace.ranks}
    host = ranks[worst.rank].host
    waits = [one for one in results.resources.cpu_waits if ranks[one.rank].host == host]
    by_mask: dict[frozenset[int], float] = {}
    for one in waits:
        mask = cpu_set(ranks[one.rank].cpus_allowed)
        by_mask[mask] = max(by_mask.get(mask, 0.0), one.others_cpus or 0.0)
    cpus = len(frozenset[int]().union(*by_mask))
    is_whole = len(waits) == sum(one.host == host for one in ranks.values())
    is_known = all(by_mask) and all(one.others_cpus is not None for one in waits)
    if is_whole and is_known and cpus == sum(map(len, by_mask)):
        return format_cpus(sum(by_mask.values()), cpus)
    own = format_cpus(worst.others_cpus or 0.0, worst.cpus)
    return f"{own} of {wording.ranks([worst.rank])}"
