"""What other processes on the hosts took of the runs of a study."""

from perfscope.findings.core.thresholds import WARN_SHARE
from perfscope.schema.enums import LossKind
from perfscope.studies.common.run import StudyRun
from perfscope.studies.scaling.scaling import Scaling
from perfscope.units import format_share, listed


def disturbed(study: Scaling) -> list[str]:
    """Where processes outside the job took CPUs from it: its sizes differ in that as well."""
    most = {
        study.axis.count(point.size): max(map(_taken_by_others, point.runs))
        for point in study.points
    }
    if max(most.values()) < WARN_SHARE:
        return []
    told = listed([f"{format_share(share)} with {size}" for size, share in most.items()])
    return [
        (
            f"Processes outside the job used its CPUs, for up to {told} of the ranks' time in the "
            "analyzed window. Times, speed-ups and laws are those of this busy host: measure again "
            "on an idle one before acting on them."
        )
    ]


def _taken_by_others(run: StudyRun) -> float:
    """The share of the ranks' time in the analyzed window that other processes took."""
    lost = run.result.losses
    taken = [one.own_ns for one in lost.entries if one.kind is LossKind.OTHER_PROCESSES]
    return sum(taken) / max(lost.window_ns, 1)
