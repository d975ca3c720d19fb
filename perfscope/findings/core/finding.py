"""What a diagnosis returns: a finding, with its evidence and what fixing it saves."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any

from perfscope.replay.model import Edit
from perfscope.trace.model import Frame


class Status(Enum):
    """Outcome of a diagnosis; the set is closed."""

    FAIL = "fail"  # the fault is there and costs enough to act on
    WARN = "warn"  # the fault is there, small or uncertain
    PASS = "pass"
    INFO = "info"
    NOT_APPLICABLE = "not_applicable"
    NOT_MEASURED = "not_measured"  # summary names the flag that would measure it
    ERROR = "error"  # the diagnosis itself failed; the report still appears


class Confidence(Enum):
    """How sure the evidence makes us."""

    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"


@dataclass(frozen=True)
class Evidence:
    """One measured fact: what it is, its value and unit, and what it should be."""

    label: str
    value: float | str
    unit: str = ""
    expected: str = ""


@dataclass(frozen=True)
class Saving:
    """What one action saves of the run.

    `interval_s` is of 95 %, `basis` is `replay` or `upper_bound`, `edits` are what was replayed.
    """

    gain_s: float
    interval_s: tuple[float, float] | None = None
    basis: str | None = None
    edits: tuple[Edit, ...] = ()


@dataclass(frozen=True)
class Finding:
    """The outcome of one diagnosis.

    `gain_s` is what the job as a whole would save, in seconds of this run, with its interval
    and `gain_share` of the focus of analysis; `gain_basis` is `replay`, `upper_bound` or None when
    no seconds can be claimed; `assumptions` are what the replay takes for granted, in sentences.
    `first` is what the first action saves, where that is not all that the fault costs.
    `overlaps` are ids of findings whose gains are not additive with this
    one.
    """

    id: str
    status: Status
    title: str
    summary: str
    gain_s: float | None = None
    gain_interval_s: tuple[float, float] | None = None
    gain_share: float | None = None
    gain_basis: str | None = None
    confidence: Confidence = Confidence.MEDIUM
    ranks: tuple[int, ...] = ()
    window_s: tuple[float, float] | None = None
    where: tuple[Frame, ...] = ()
    evidence: tuple[Evidence, ...] = ()
    actions: tuple[str, ...] = ()
    references: tuple[str, ...] = ()
    overlaps: tuple[str, ...] = ()
    first: Saving | None = None
    edits: tuple[Edit, ...] = ()
    """What the gain replays, so that findings can be replayed together; not part of the JSON."""
    assumptions: tuple[str, ...] = ()
    is_once: bool = False
    """What it saves comes once a run, however long that is; not part of the JSON."""
    damage: str = ""
    """Id of the damage that it is about, which the verdict names first; not part of the JSON."""

    @property
    def recommended(self) -> Saving | None:
        """What the first action saves: this is what a headline may promise."""
        if self.first is not None or self.gain_s is None:
            return self.first
        return Saving(self.gain_s, self.gain_interval_s, self.gain_basis, self.edits)

    def as_json(self) -> dict[str, Any]:
        """The object of analysis.json's `findings`."""
        return {
            "id": self.id,
            "status": self.status.value,
            "title": self.title,
            "summary": self.summary,
            "gain_s": self.gain_s,
            "gain_interval_s": list(self.gain_interval_s) if self.gain_interval_s else None,
            "gain_share": self.gain_share,
            "gain_basis": self.gain_basis,
            "assumptions": list(self.assumptions),
            "confidence": self.confidence.value,
            "ranks": list(self.ranks),
            "window_s": list(self.window_s) if self.window_s else None,
            "where": [
                {"file": frame.file, "line": frame.line, "function": frame.function}
                for frame in self.where
            ],
            "evidence": [
                {"label": e.label, "value": e.value, "unit": e.unit, "expected": e.expected}
                for e in self.evidence
            ],
            "actions": list(self.actions),
            "references": list(self.references),
            "overlaps": list(self.overlaps),
        }
