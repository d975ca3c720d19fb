"""Whether processes outside the job used the host during the recording: a row of `quality`."""

from perfscope.findings.core import wording
from perfscope.findings.core.thresholds import WARN_SHARE
from perfscope.metrics.results import Results
from perfscope.schema.enums import Status
from perfscope.schema.findings import QualityRow
from perfscope.units import NS, capitalized, format_cpus, format_seconds


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
    if worst.others_cpus is None:
        title = "Other work on the host took CPUs from the job"
        detail = f"{waited} at least for CPUs on which the job did not run meanwhile."
    else:
        used = format_cpus(worst.others_cpus, worst.cpus)
        title = f"Other work on the host used {used}" if is_busy else "The host worked for the job"
        detail = f"Processes outside the job used {used} on average. {waited} for them."
    if not is_busy:
        return [QualityRow("other_work", Status.PASS, title, detail)]
    advice = " Record again on an idle host before acting on small differences."
    return [QualityRow("other_work", Status.WARN, title, detail + advice)]
