"""Moving data takes more and more of the time: the job is too large for its work."""

from perfscope.findings.core.finding import Evidence, Quiet, not_applicable, not_measured, passed
from perfscope.schema.enums import Account, Confidence, Status
from perfscope.studies.common.run import StudyRun
from perfscope.studies.findings import thresholds
from perfscope.studies.findings.catalog import StudyDiagnosis, StudyFinding
from perfscope.studies.scaling.scaling import Scaling
from perfscope.studies.scaling.series import Point
from perfscope.units import format_share

MOVING, UNSPLIT = Account.COMMUNICATION_TRANSFER.value, Account.COMMUNICATION_OTHER.value


def judge(study: Scaling) -> StudyFinding | Quiet:
    """Whether the largest size that has enough CPUs spends too much time on moving data.

    Where threads share CPUs, a transfer takes long because its other end is not running.
    """
    if len(study.points) < 2 or all(point.ranks == 1 for point in study.points):
        return not_applicable("It needs runs of two sizes, one with several ranks.")
    several = [point for place in study.fitting if (point := study.points[place]).ranks > 1]
    if not several:
        return not_measured("Threads share CPUs at all sizes of several ranks.")
    shares = [moving_share(point.representative) for point in several]
    last, first = shares[-1], shares[0]
    if last < thresholds.TRANSFER_SHARE_WARN:
        return passed(
            f"Moving data takes {format_share(last)} of the ranks' time with "
            f"{study.axis.count(several[-1].size)}."
        )
    if len(several) > 1 and last < thresholds.TRANSFER_GROWTH * first:
        return passed(
            f"Moving data takes {format_share(last)} of the time, but no more than with fewer "
            "ranks: it is not a matter of scale."
        )
    return _finding(study, several, shares)


def moving_share(run: StudyRun) -> float:
    """Share of the focus of analysis that a rank spends moving data, mean of the ranks."""
    # where partners are not known, waiting cannot be told apart
    spent = run.spent_s(MOVING) + run.spent_s(UNSPLIT)
    whole = run.focus_s * max(run.result.run.recorded_ranks, 1)
    return spent / whole if whole > 0 else 0.0


def _finding(study: Scaling, several: list[Point], shares: list[float]) -> StudyFinding:
    last = several[-1]
    size = study.axis.count(last.size)
    fine = [
        point
        for point, share in zip(several, shares, strict=True)
        if share < thresholds.TRANSFER_SHARE_WARN
    ]
    until = (
        f" Up to {study.axis.count(fine[-1].size)} it takes less than "
        f"{format_share(thresholds.TRANSFER_SHARE_WARN)}."
        if fine
        else ""
    )
    return StudyFinding(
        status=Status.FAIL if shares[-1] >= thresholds.TRANSFER_SHARE_FAIL else Status.WARN,
        title=f"With {size} moving data takes {format_share(shares[-1])} of the time",
        summary=f"Waiting for late ranks is not counted.{until} {_means(study)}",
        confidence=Confidence.MEDIUM if _has_unmatched(last.representative) else Confidence.HIGH,
        evidence=tuple(
            Evidence(
                f"Share with {study.axis.count(point.size)}",
                share,
                "share",
                f"below {format_share(thresholds.TRANSFER_SHARE_WARN)}",
            )
            for point, share in zip(several, shares, strict=True)
        ),
        actions=(
            "Give each rank more work between exchanges: larger batches, or gradient accumulation.",
            "Send less, or hide it: overlap with the backward pass, fusion, narrower gradients.",
            "perfscope analyze tells whether the largest run reaches its network's bandwidth.",
        ),
        runs=(last.representative.label,),
    )


def _means(study: Scaling) -> str:
    if not (study.growth.is_strong or study.growth.is_weak):
        return "The data that each rank exchanges does not shrink with more ranks."
    work = "is divided over" if study.growth.is_strong else "grows with"
    return f"The work {work} the ranks; the data that each exchanges does not shrink."


def _has_unmatched(run: StudyRun) -> bool:
    return run.spent_s(UNSPLIT) > run.spent_s(MOVING)


DIAGNOSIS = StudyDiagnosis(
    "communication_at_scale",
    "scaling",
    "Communication limits scaling",
    (
        "Looks at the share of the ranks' time that moving data takes (waiting for late ranks is "
        "not counted) and whether it grows with the size of the job."
    ),
    judge,
    passed="Communication does not limit this scale",
)
