"""Evaluation or output that is done more often with more ranks, while the others wait for it."""

import math

from perfscope.findings.core.finding import Evidence, Gain, Quiet, not_applicable, passed
from perfscope.schema.enums import Confidence, Status
from perfscope.schema.time import Phase
from perfscope.structures import dataclass
from perfscope.studies.common.run import StudyRun
from perfscope.studies.findings import thresholds
from perfscope.studies.findings.catalog import StudyDiagnosis, StudyFinding
from perfscope.studies.scaling.growth import UNEVEN, trained_samples
from perfscope.studies.scaling.scaling import Scaling
from perfscope.trace.model import Frame
from perfscope.units import format_seconds, format_share

KINDS = {"evaluate": "evaluates", "checkpoint": "writes checkpoints", "io": "writes output"}
DOINGS = {"evaluate": "Evaluate", "checkpoint": "Save", "io": "Write"}


@dataclass(frozen=True)
class _Growth:
    """A phase that happens `times` as often for the same training, and what that costs."""

    phase: Phase  # at the largest size
    first: float
    last: float
    times: float
    seconds: float  # at the largest size, of the rank that spends most
    excess_s: float  # of these, what the growth added
    share: float


def judge(study: Scaling) -> StudyFinding | Quiet:
    """Whether a phase of these kinds happens more often with more ranks."""
    if len(study.points) < 2:
        return not_applicable("Runs of a single size cannot show growth.")
    first, last = study.points[0].representative, study.points[-1].representative
    phases = [phase for phase in last.result.phases if phase.kind in KINDS]
    if not phases:
        return passed("The largest run neither evaluates nor writes output.")
    found = [growth for phase in phases if (growth := _growth(study, phase)) is not None]
    if not found:
        return passed(
            "Evaluation and output happen equally often for the same training at every size."
        )
    worst = max(found, key=lambda growth: growth.excess_s)
    return _finding(study, worst, (first, last))


def _growth(study: Scaling, phase: Phase) -> _Growth | None:
    """How much more often a phase happens at the largest size; None when it does not."""
    before = study.points[0].representative
    after = study.points[-1].representative
    old = before.phase(phase.id)
    if old is None or not old.count or phase.count < thresholds.LEAST_COUNT:
        return None
    first, last = (
        occurrences(found) / _training(run, study) for found, run in ((old, before), (phase, after))
    )
    times, ratio = last / first, study.ratio(len(study.points) - 1)
    is_rule = math.log(times) >= thresholds.FREQUENCY_OF_SIZE * math.log(ratio)
    seconds = max(phase.seconds_by_rank, default=0.0)
    share = seconds / after.focus_s
    if times < thresholds.FREQUENCY_WARN or not is_rule or share < thresholds.PHASE_SHARE_WARN:
        return None
    excess = seconds * (1 - 1 / times)
    return _Growth(phase, occurrences(old), occurrences(phase), times, seconds, excess, share)


def occurrences(phase: Phase) -> float:
    """How often a rank that enters a phase does so."""
    return phase.count / max(len(phase.ranks), 1)


def _training(run: StudyRun, study: Scaling) -> float:
    """How much a run trained: samples where all runs do the same work, else steps; 1 if unknown."""
    runs = (study.points[0].representative, study.points[-1].representative)
    if study.growth.word == UNEVEN:
        return study.growth.factors[0 if run is runs[0] else -1]
    if study.growth.is_weak:
        return float(run.throughput.steps) if all(other.throughput.steps for other in runs) else 1.0
    known = all(trained_samples(other) for other in runs)
    return trained_samples(run) or 1.0 if known else 1.0


def _finding(study: Scaling, worst: _Growth, runs: tuple[StudyRun, StudyRun]) -> StudyFinding:
    phase, last = worst.phase, runs[1]
    alone = len(phase.ranks) == 1 and last.ranks > 1
    sizes = [study.axis.count(point.size) for point in (study.points[0], study.points[-1])]
    who = f"Rank {phase.ranks[0]}" if alone else "The job"
    per = "step" if study.growth.is_weak else "sample"
    is_fault = worst.times >= thresholds.FREQUENCY_FAIL and worst.share >= (
        thresholds.PHASE_SHARE_FAIL
    )
    waiting = " while all others wait" if alone else ""
    return StudyFinding(
        status=Status.FAIL if is_fault else Status.WARN,
        title=f"{who} {KINDS[phase.kind]} {worst.times:.3g} times as often with {sizes[1]} "
        f"as with {sizes[0]}{waiting}",
        summary=(
            f"For each {per} trained, “{phase.label}” happens {worst.times:.3g} times as often "
            f"with {sizes[1]}. It takes {format_seconds(worst.seconds)} there, "
            f"{format_share(worst.share)} of the {format_seconds(last.focus_s)} run; "
            f"{format_seconds(worst.excess_s)} of that is due to doing it more often."
        ),
        gain=Gain(worst.excess_s, share=worst.excess_s / last.focus_s),
        confidence=Confidence.MEDIUM if phase.source == "sampled" else Confidence.HIGH,
        ranks=phase.ranks,
        where=tuple(Frame(place.function, place.file, place.line) for place in phase.where),
        evidence=(
            Evidence(f"Occurrences with {sizes[0]}", worst.first, ""),
            Evidence(f"Occurrences with {sizes[1]}", worst.last, "", "as often for each " + per),
            Evidence(f"Time with {sizes[1]}", worst.seconds, "s"),
            Evidence("Share of the run", worst.share, "share"),
        ),
        actions=(
            (
                f"{DOINGS[phase.kind]} after a fixed number of {per}s trained, not after "
                "something that shrinks as the job grows, such as an epoch divided by the ranks."
            ),
            "Share the work among all ranks, or run it alongside training.",
        ),
        runs=(last.label,),
    )


DIAGNOSIS = StudyDiagnosis(
    "evaluation_frequency",
    "scaling",
    "Evaluation or output grows with the size of the job",
    (
        "Counts how often evaluation, checkpoints and output happen in a run of the same training "
        "(strong scaling: for each sample; weak scaling: for each step), and looks for counts that "
        "grow with the size of the job."
    ),
    judge,
    passed="Evaluation and output do not grow with the job",
)
