"""Findings and checks of quality."""

from dataclasses import dataclass

from perfscope.schema.common import Place
from perfscope.schema.enums import Basis, Confidence, Status


@dataclass(frozen=True)
class FindingEvidence:
    """One measured fact, and what it should be."""

    label: str
    value: str | float
    unit: str
    expected: str


@dataclass(frozen=True)
class FirstAction:
    """What the first action saves: what a headline promises."""

    gain_s: float
    gain_interval_s: tuple[float, float] | None
    gain_share: float | None
    gain_run_share: float | None
    gain_basis: Basis | None


@dataclass(frozen=True)
class PlannedRun:
    """What a run of so many steps would save."""

    steps: int
    gain_s: float | None
    runtime_s: float | None
    reason: str | None


@dataclass(frozen=True)
class Outcome:
    """The outcome of one diagnosis of a run or of a study."""

    id: str
    status: Status
    title: str
    summary: str
    gain_s: float | None
    gain_interval_s: tuple[float, float] | None
    gain_share: float | None
    gain_basis: Basis | None
    assumptions: tuple[str, ...]
    confidence: Confidence
    ranks: tuple[int, ...]
    window_s: tuple[float, float] | None
    where: tuple[Place, ...]
    evidence: tuple[FindingEvidence, ...]
    actions: tuple[str, ...]
    references: tuple[str, ...]
    overlaps: tuple[str, ...]


@dataclass(frozen=True)
class FindingRow(Outcome):
    """The outcome of one diagnosis of a run, and what its first action saves."""

    gain_run_share: float | None
    first_action: FirstAction | None
    planned: PlannedRun | None


@dataclass(frozen=True)
class QualityRow:
    """One check of whether the result can be trusted."""

    id: str
    status: Status
    title: str
    detail: str


@dataclass(frozen=True)
class HowMeasured:
    """What a number of this run means."""

    term: str
    text: str
