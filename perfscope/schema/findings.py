"""Findings and checks of quality."""

from __future__ import annotations

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
class FindingRow:
    """The outcome of one diagnosis."""

    id: str
    status: Status
    title: str
    summary: str
    gain_s: float | None
    gain_interval_s: tuple[float, float] | None
    gain_share: float | None
    gain_basis: Basis | None
    assumptions: list[str]
    confidence: Confidence
    ranks: list[int]
    window_s: tuple[float, float] | None
    where: list[Place]
    evidence: list[FindingEvidence]
    actions: list[str]
    references: list[str]
    overlaps: list[str]
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
