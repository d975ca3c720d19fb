"""The phases that occur in a run, marked ones and sampled ones, under one numbering."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cached_property

import numpy as np

from perfscope.arrays import Ints
from perfscope.attribution.stack_rules import EVALUATION_LIKE, kind_of_id
from perfscope.schema.enums import PhaseKind
from perfscope.structures import dataclass
from perfscope.trace.metadata import computes_no_gradients, noted_frameworks
from perfscope.trace.model import RowFlag, Table, Trace

TRAINING_FRAMEWORKS = frozenset({"jax", "keras", "lightgbm", "tensorflow", "torch", "xgboost"})
OF_TRAINING = (PhaseKind.FORWARD, PhaseKind.BACKWARD, PhaseKind.OPTIMIZER)
_LABELS = {
    "train": "Training",
    "forward": "Forward",
    "backward": "Backward",
    "optimizer": "Optimizer",
    "input": "Input wait",
    "evaluate": "Evaluation",
    EVALUATION_LIKE: "Probable evaluation",
    "predict": "Prediction",
    "checkpoint": "Checkpoint",
    "io": "I/O",
    "device_wait": "Device wait",
    "communication": "Communication",
}
MOST_OWN_PHASES = 100
"""Phases of the user's own that are told apart; a name for every batch is a phase for none."""
OTHER_PHASES = "user:other phases"
_NUMBER = re.compile(r"\d+")
_KINDS = max(PhaseKind) + 1


@dataclass(frozen=True)
class PhaseCatalog:
    """Phase ids by index.

    A run with more than `MOST_OWN_PHASES` names has one id for all names that differ in their
    numbers alone, and if these are too many still, one for all but the longest.
    """

    ids: tuple[str, ...]

    @classmethod
    def of(cls, trace: Trace, sampled_ids: tuple[str, ...]) -> PhaseCatalog:
        """All ids that the trace's phases and the samples' labels can have."""
        spent = dict.fromkeys(sampled_ids, 0)
        for rank in trace.ranks:
            lengths = rank.phases["t1"].astype(np.int64) - rank.phases["t0"].astype(np.int64)
            pair, inverse = _pairs(trace, rank.phases)
            sums = np.zeros(len(pair), np.int64)
            np.add.at(sums, inverse, lengths)
            for (kind, name), length in zip(pair, sums.tolist(), strict=True):
                found = phase_id(trace, kind, name)
                spent[found] = spent.get(found, 0) + length
        return cls(tuple(_told_apart(spent, frozenset(sampled_ids))))

    @cached_property
    def _places(self) -> Mapping[str, int]:
        return {name: place for place, name in enumerate(self.ids)}

    def index(self, name: str) -> int:
        """The index of an id, or of the one that stands for it among others.

        Raises:
            KeyError: no phase of the run has this id.
        """
        places = self._places
        for known in (name, _without_numbers(name), OTHER_PHASES):
            if known in places:
                return places[known]
        raise KeyError(name)

    def of_rows(self, trace: Trace, rows: Table) -> Ints:
        """The index of each row of a phase table."""
        if not len(rows):
            return np.empty(0, np.int64)
        # a name tells a phase of the user's from others, and says nothing of any other kind
        key = rows["kind"].astype(np.int64)
        is_own = key == PhaseKind.USER
        if is_own.any():
            name = np.where(rows["name"] < len(trace.names), rows["name"], -1).astype(np.int64)
            key = np.where(is_own, name + _KINDS + 1, key)
        known = self._index_of_key(trace)
        found = known[key]
        if (found < 0).any():
            for unknown in np.unique(key[found < 0]).tolist():
                own = unknown >= _KINDS
                kind, place = (PhaseKind.USER, unknown - _KINDS - 1) if own else (unknown, -1)
                known[unknown] = self.index(phase_id(trace, kind, place))
            found = known[key]
        return found

    def _index_of_key(self, trace: Trace) -> Ints:
        """What was looked up already, by kind and behind these by name; -1 what was not."""
        length = _KINDS + 1 + len(trace.names)
        table = self._looked_up.get(length)
        if table is None:
            table = self._looked_up[length] = np.full(length, -1, np.int64)
        return table

    @cached_property
    def _looked_up(self) -> dict[int, Ints]:
        return {}

    def kind(self, index: int) -> PhaseKind:
        """The kind of a phase."""
        return kind_of_id(self.ids[index])

    def label(self, index: int) -> str:
        """What the report calls a phase."""
        name = self.ids[index]
        return _LABELS.get(name, name.removeprefix("user:"))


def _pairs(trace: Trace, rows: Table) -> tuple[list[tuple[int, int]], Ints]:
    """The kinds and names that occur in a phase table, and which of them each row has."""
    span = len(trace.names) + 1
    names = rows["name"].astype(np.int64) + 1  # -1 where there is none
    pair, inverse = np.unique(rows["kind"].astype(np.int64) * span + names, return_inverse=True)
    found = [(value // span, value % span - 1) for value in pair.tolist()]
    return found, inverse.reshape(-1)


def _told_apart(spent: Mapping[str, int], sampled: frozenset[str]) -> Mapping[str, int]:
    """The ids to count by, from the nanoseconds of each."""

    def own() -> list[str]:
        return [name for name in spent if name not in sampled and name.startswith("user:")]

    if len(own()) > MOST_OWN_PHASES:
        spent = _joined(spent, {name: _without_numbers(name) for name in own()})
    if len(own()) > MOST_OWN_PHASES:
        shortest = sorted(own(), key=lambda name: -spent[name])[MOST_OWN_PHASES - 1 :]
        spent = _joined(spent, dict.fromkeys(shortest, OTHER_PHASES))
    return spent


def _joined(spent: Mapping[str, int], places: Mapping[str, str]) -> Mapping[str, int]:
    joined: dict[str, int] = {}
    for name, length in spent.items():
        place = places.get(name, name)
        joined[place] = joined.get(place, 0) + length
    return joined


def _without_numbers(name: str) -> str:
    """The id that a phase of the user's own shares with those that differ only in their numbers."""
    if not name.startswith("user:") or not _NUMBER.search(name):
        return name
    return f"{_NUMBER.sub('#', name)} (any number)"


def phase_id(trace: Trace, kind: int, name: int) -> str:
    """The id of a marked phase: that of its kind, or `user:<name>`."""
    if kind != PhaseKind.USER:
        return PhaseKind(kind).name.lower()
    return f"user:{trace.names[name]}" if 0 <= name < len(trace.names) else "user:unnamed"


def is_hooked(metadata: Mapping[str, object]) -> bool:
    """Whether the agent hooked a training framework in this rank: not just MPI or BLAS."""
    return not TRAINING_FRAMEWORKS.isdisjoint(noted_frameworks(metadata))


def trains_nothing(trace: Trace) -> bool:
    """Whether what a framework told as steps is of a program in which no gradients were seen.

    JAX compiles fields of solvers like models. Gradients are seen where jax.grad, value_and_grad,
    vjp or linearize make them, and not those of other functions or of the program's own. Where
    nothing tells it, steps train.
    """
    noted = [one.metadata for one in trace.ranks]
    others = {name for one in noted for name in noted_frameworks(one)} & TRAINING_FRAMEWORKS
    if others != {"jax"} or not all(map(computes_no_gradients, noted)):
        return False
    return not any(np.isin(one.phases["kind"], OF_TRAINING).any() for one in trace.ranks)


def source_of(metadata: Mapping[str, object], rows: Table) -> str:
    """Where phases come from: `sampled`, a `framework` that the agent hooked, or a `marker`."""
    if len(rows) and bool(np.all(rows["flags"] & RowFlag.SAMPLED)):
        return "sampled"
    return "framework" if is_hooked(metadata) else "marker"
