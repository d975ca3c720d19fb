"""study.json."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from perfscope.schema.findings import Outcome


@dataclass(frozen=True)
class StudyFindingRow(Outcome):
    """The outcome of one diagnosis of several runs, and the labels of those that show it."""

    scope: Literal["study"]
    runs: tuple[str, ...]
