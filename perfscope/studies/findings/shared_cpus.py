"""The largest size has more threads that want to run than CPUs: it shows the node's limit."""

from perfscope.findings.core.finding import Evidence, Quiet, not_applicable, not_measured, passed
from perfscope.schema.enums import Confidence, Status
from perfscope.studies.findings.catalog import StudyDiagnosis, StudyFinding
from perfscope.studies.scaling.scaling import Scaling


def judge(study: Scaling) -> StudyFinding | Quiet:
    """Whether the threads of the largest size had to share CPUs."""
    if len(study.points) < 2:
        return not_applicable("It needs runs of two sizes.")
    last, shared = study.points[-1], study.oversubscribed[-1]
    if not shared:
        if not last.representative.result.threads.nodes:
            return not_measured("No run of the largest size recorded the CPUs of its nodes.")
        return passed("Every thread of the largest size had a CPU of its own.")
    size = study.axis.count(last.size)
    fitting = [study.points[place] for place in study.fitting]
    enough = (
        f" The largest size with enough CPUs is {study.axis.count(fitting[-1].size)}."
        if fitting
        else ""
    )
    return StudyFinding(
        status=Status.WARN,
        title=f"With {size}, threads share CPUs: {shared}",
        summary="What this size loses tells how crowded the node is, not how the program scales: "
        f"no law is fitted to it.{enough}",
        confidence=Confidence.HIGH,
        evidence=tuple(
            Evidence(f"Ranks and CPUs with {study.axis.count(point.size)}", told, "")
            for point, told in zip(study.points, study.oversubscribed, strict=True)
            if told
        ),
        actions=(
            (
                f"Measure {size} again where each thread has a CPU of its own: on more nodes, or "
                "with fewer ranks or threads on each."
            ),
        ),
        runs=(last.representative.label,),
    )


DIAGNOSIS = StudyDiagnosis(
    "shared_cpus",
    "scaling",
    "Threads share CPUs at the largest size",
    (
        "Compares the ranks on each node, times their threads, with the CPUs that they may use, "
        "and with how many threads wanted to run."
    ),
    judge,
    passed="Every thread has a CPU of its own",
)
