"""What a section of the report declares."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from perfscope.report.access import Document

Context = dict[str, Any]


@dataclass(frozen=True)
class Section:
    """One section: its anchor, its heading, its template, and the pure function that fills it."""

    id: str
    title: str
    template: str
    context: Callable[[Document], Context]
