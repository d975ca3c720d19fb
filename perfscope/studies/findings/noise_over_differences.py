"""The noise between repeats is larger than the differences between configurations."""

from perfscope.findings.core.finding import Evidence, Quiet, not_applicable
from perfscope.schema.enums import Confidence, Status
from perfscope.studies.findings.catalog import StudyDiagnosis, StudyFinding
from perfscope.sweep.study.model import Result, Sweep

TITLE = "The noise is larger than the differences"
MOST_NAMED = 5


def judge(study: Sweep) -> StudyFinding | Quiet:
    """Whether the repeats are far enough from each other to hide which configuration is best."""
    noise, measured = study.noise, study.measured
    if len(measured) < 2:
        return not_applicable("Fewer than two configurations were measured.", Confidence.MEDIUM)
    if study.no_best:
        return not_applicable(
            f"The configurations are not compared: {study.no_best}.", Confidence.MEDIUM
        )
    if noise.reason:
        return Quiet(
            Status.NOT_MEASURED,
            f"This is unknown, because {noise.reason}: run the sweep with --repeat 3.",
            Confidence.MEDIUM,
            actions=("`perfscope sweep --resume --repeat 3` adds the missing repeats.",),
        )
    evidence = (
        Evidence("Noise of one run (relative standard deviation)", noise.noise or 0.0, "share"),
        Evidence("Lead of the fastest configuration over the slowest", noise.span, "share"),
    )
    near = [study.result(number) for number in noise.numbers[1:]]
    if not near:
        return Quiet(
            Status.PASS,
            "Its lead over every other configuration is larger than noise explains.",
            evidence=evidence,
        )
    return _hidden(study, near, evidence)


def _hidden(study: Sweep, near: list[Result], evidence: tuple[Evidence, ...]) -> StudyFinding:
    """The finding when others may be the best as well."""
    noise = study.noise
    everyone = len(near) == len(study.measured) - 1
    names = "; ".join(result.configuration.label for result in near[:MOST_NAMED])
    more = f" and {len(near) - MOST_NAMED} more" if len(near) > MOST_NAMED else ""
    summary = (
        "No configuration is slower than the fastest by more than the noise between repeats "
        "explains: this sweep does not show which is best."
        if everyone
        else f"Within the noise of the fastest, and so perhaps the best: {names}{more}."
    )
    if noise.repeats_needed is not None:
        count = max(noise.repeats_needed, study.plan.repeat + 1)
        action = (
            f"perfscope sweep --resume --repeat {count}: about that many repeats would tell the "
        )
        action += "two fastest apart."
    else:
        action = "Choose among them by something else, such as memory: they are too close to call."
    return StudyFinding(
        Status.WARN if everyone else Status.INFO,
        title=TITLE if everyone else "Several configurations may be the best",
        summary=summary,
        confidence=Confidence.HIGH,
        evidence=evidence,
        actions=(action,),
        runs=tuple(run.stored.name for result in near for run in result.runs if run.is_measured),
    )


DIAGNOSIS = StudyDiagnosis(
    "noise_over_differences",
    "sweep",
    TITLE,
    "Hsu's multiple comparisons with the best over the repeats: which configurations are slower "
    "than the fastest by more than noise explains.",
    judge,
    passed="The best configuration stands out from the noise",
    subject="Whether differences are larger than the noise",
)
