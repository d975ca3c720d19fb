"""All diagnoses of a kind of study. One more is one more file with a DIAGNOSIS in it."""

from collections.abc import Callable, Sequence
from typing import Any

from perfscope import registry
from perfscope.findings.core.finding import Finding, Quiet, broken, settled
from perfscope.schema.study import Study, StudyFindingRow, StudyKind, StudyRunRow
from perfscope.structures import dataclass
from perfscope.studies.common import document
from perfscope.studies.common.document import Body
from perfscope.studies.common.run import StudyRun


@dataclass(frozen=True)
class StudyFinding(Finding):
    """A finding about several runs; `gain_s` is None unless seconds of a named run are meant."""

    runs: tuple[str, ...] = ()  # labels of the runs that show it

    @property
    def row(self) -> StudyFindingRow:
        """What study.json holds of it."""
        return StudyFindingRow(**vars(super().row), scope="study", runs=self.runs)


@dataclass(frozen=True)
class StudyDiagnosis:
    """One diagnosis: its identity, and the pure function that judges a study of its kind.

    `kind` is `scaling`, `sweep`, `compare` or `history`; `judge` gets what that study's own module
    makes (for scaling: `perfscope.studies.scaling.scaling.Scaling`). `passed` and `subject` are its
    titles where it passes and where it cannot be made; `title` stands for those not given.
    """

    id: str
    kind: str
    title: str
    description: str
    judge: Callable[[Any], StudyFinding | Quiet]
    passed: str = ""
    subject: str = ""
    references: tuple[str, ...] = ()


def diagnoses(kind: str) -> list[StudyDiagnosis]:
    """Every diagnosis of a kind of study, by name."""
    found: list[StudyDiagnosis] = registry.members("perfscope.studies.findings", "DIAGNOSIS")
    return [diagnosis for diagnosis in found if diagnosis.kind == kind]


def judge_study(
    kind: str, study: Any, *, catalog: Sequence[StudyDiagnosis] | None = None
) -> tuple[StudyFinding, ...]:
    """The outcome of every diagnosis of this kind; one that throws becomes an error row."""
    chosen = diagnoses(kind) if catalog is None else catalog
    return tuple(_judge(diagnosis, study) for diagnosis in chosen)


def _judge(diagnosis: StudyDiagnosis, study: Any) -> StudyFinding:
    try:
        return settled(diagnosis.judge(study), diagnosis, StudyFinding)
    except Exception as error:  # noqa: BLE001 - one broken diagnosis must not cost the study
        return broken(diagnosis, error, StudyFinding)


def study_of(
    kind: StudyKind,
    judged: Any,
    runs: Sequence[StudyRun | StudyRunRow],
    *,
    body: Body,
    verdict: Callable[[Sequence[StudyFinding]], tuple[str, str]],
    how_measured: Sequence[tuple[str, str]] = (),
) -> Study:
    """A study, with what the diagnoses of its kind find in it.

    `verdict` makes status and sentence of the first screen from the findings.
    """
    findings = judge_study(kind, judged)
    return document.build(
        kind,
        runs,
        verdict=verdict(findings),
        body=body,
        findings=findings,
        how_measured=how_measured,
    )
