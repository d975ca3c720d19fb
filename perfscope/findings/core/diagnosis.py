"""What a diagnosis declares."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from perfscope.findings.core.finding import Finding
from perfscope.findings.facts.facts import Facts
from perfscope.metrics.results import Results
from perfscope.trace.damage import Need

EVERY_RANK = frozenset({Need.EVERY_RANK})
RANK_BY_RANK: frozenset[Need] = frozenset()


def always(_: Results) -> bool:
    """That a diagnosis is for every run."""
    return True


@dataclass(frozen=True)
class Diagnosis:
    """One diagnosis: its identity, and the pure function that judges the facts of a run.

    `title` is the sentence shown when it passes or fails generally; `description` says what is
    looked for and how. A run that it does not apply to (one without accelerators, if it is about
    them) does not list it. `needs` is what must be whole of the recording: where it is not, the
    diagnosis is not made. One that looks at each rank by itself needs nothing.
    """

    id: str
    title: str
    description: str
    judge: Callable[[Facts], Finding]
    applies: Callable[[Results], bool] = always
    needs: frozenset[Need] = EVERY_RANK
