"""The phases that occur in a run, marked ones and sampled ones, under one numbering."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from perfscope.metrics.stack_rules import kind_of_id
from perfscope.trace.metadata import noted_frameworks
from perfscope.trace.model import PhaseKind, RowFlag, Table, Trace

TRAINING_FRAMEWORKS = frozenset({"keras", "tensorflow", "torch"})
_LABELS = {
    "train": "Training",
    "forward": "Forward",
    "backward": "Backward",
    "optimizer": "Optimizer",
    "input": "Input wait",
    "evaluate": "Evaluation",
    "predict": "Prediction",
    "checkpoint": "Checkpoint",
    "io": "I/O",
    "device_wait": "Device wait",
    "communication": "Communication",
}


@dataclass(frozen=True)
class PhaseCatalog:
    """Phase ids by index."""

    ids: tuple[str, ...]

    @classmethod
    def of(cls, trace: Trace, sampled_ids: tuple[str, ...]) -> PhaseCatalog:
        """All ids that the trace's phases and the samples' labels can have."""
        ids = dict.fromkeys(sampled_ids)
        for rank in trace.ranks:
            pairs = np.unique(rank.phases[["kind", "name"]]) if len(rank.phases) else ()
            for kind, name in pairs:
                ids.setdefault(phase_id(trace, int(kind), int(name)))
        return cls(tuple(ids))

    def index(self, name: str) -> int:
        """The index of an id."""
        return self.ids.index(name)

    def of_rows(self, trace: Trace, rows: Table) -> npt.NDArray[np.int64]:
        """The index of each row of a phase table."""
        if not len(rows):
            return np.empty(0, np.int64)
        span = len(trace.names) + 1
        pair, inverse = np.unique(
            rows["kind"].astype(np.int64) * span + rows["name"], return_inverse=True
        )
        table = np.array(
            [self.index(phase_id(trace, value // span, value % span)) for value in pair.tolist()],
            np.int64,
        )
        return table[inverse.reshape(-1)]

    def kind(self, index: int) -> PhaseKind:
        """The kind of a phase."""
        return kind_of_id(self.ids[index])

    def label(self, index: int) -> str:
        """What the report calls a phase."""
        name = self.ids[index]
        return _LABELS.get(name, name.removeprefix("user:"))


def phase_id(trace: Trace, kind: int, name: int) -> str:
    """The id of a marked phase: that of its kind, or `user:<name>`."""
    if kind != PhaseKind.USER:
        return PhaseKind(kind).name.lower()
    return f"user:{trace.names[name]}" if 0 <= name < len(trace.names) else "user:unnamed"


def is_hooked(metadata: Mapping[str, object]) -> bool:
    """Whether the agent hooked a training framework in this rank: not just MPI or BLAS."""
    return not TRAINING_FRAMEWORKS.isdisjoint(noted_frameworks(metadata))


def source_of(metadata: Mapping[str, object], rows: Table) -> str:
    """Where phases come from: `sampled`, a `framework` that the agent hooked, or a `marker`."""
    if len(rows) and bool(np.all(rows["flags"] & RowFlag.SAMPLED)):
        return "sampled"
    return "framework" if is_hooked(metadata) else "marker"
