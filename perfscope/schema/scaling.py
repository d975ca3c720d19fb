"""What a scaling study found: parts of `scaling` in study.json."""

from __future__ import annotations

from dataclasses import dataclass

from perfscope.schema.common import Metric


@dataclass(frozen=True)
class PopRow:
    """One factor of the POP table: its value at each size, and its range over the repeats."""

    id: str
    label: str
    level: int
    values: tuple[Metric, ...]
    spreads: tuple[tuple[float, float] | None, ...]


@dataclass(frozen=True)
class PopTable:
    """The efficiencies at each size; without counters the reason why."""

    sizes: tuple[float, ...]
    formula: str
    rows: tuple[PopRow, ...]
    counters_reason: str | None
