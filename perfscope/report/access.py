"""Reads the result document: missing parts are empty, what is no finite number is None."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from perfscope.report.formats import number
from perfscope.schema.common import NO_REASON

__all__ = ["number"]
Document = Mapping[str, Any]


def mapping(document: Any, *path: str) -> Mapping[str, Any]:
    """The object at the path; empty when there is none."""
    found = _follow(document, path)
    return found if isinstance(found, Mapping) else {}


def rows(document: Any, *path: str) -> list[Mapping[str, Any]]:
    """The objects of the array at the path; empty when there is none."""
    found = _follow(document, path)
    return [row for row in found if isinstance(row, Mapping)] if isinstance(found, list) else []


def numbers(document: Any, *path: str) -> list[float]:
    """The array of numbers at the path; empty unless every element is one."""
    known = [value for value in maybe_numbers(document, *path) if value is not None]
    return known if len(known) == len(maybe_numbers(document, *path)) else []


def maybe_numbers(document: Any, *path: str) -> list[float | None]:
    """The array of numbers at the path, None for each element that is none."""
    found = _follow(document, path)
    return [number(item) for item in found] if isinstance(found, list) else []


def texts(document: Any, *path: str) -> list[str]:
    """The array of texts at the path; empty when there is none."""
    found = _follow(document, path)
    return [str(item) for item in found] if isinstance(found, list) else []


def integers(document: Any, *path: str) -> list[int]:
    """The array of whole numbers at the path; empty when there is none."""
    return [int(value) for value in numbers(document, *path)]


def text(document: Any, *path: str) -> str:
    """The text at the path; "" when there is none."""
    found = _follow(document, path)
    return found if isinstance(found, str) else ""


def total(values: Iterable[float | None]) -> float | None:
    """The sum; None where a part is missing, as it would be too little."""
    known = list(values)
    found = [value for value in known if value is not None]
    return sum(found) if len(found) == len(known) else None


def _follow(document: Any, path: Sequence[str]) -> Any:
    for key in path:
        if not isinstance(document, Mapping):
            return None
        document = document.get(key)
    return document


@dataclass(frozen=True)
class Figure:
    """A metric object of the document: its value, or why there is none, and which variant it is."""

    value: float | None
    unit: str
    reason: str
    useful: str
    focus: str
    formula: str

    @property
    def is_measured(self) -> bool:
        """Whether there is a value."""
        return self.value is not None


def figure(document: Any, *path: str) -> Figure:
    """The metric object at the path; one without a value when there is none."""
    found = mapping(document, *path)
    value = number(found.get("value"))
    return Figure(
        value=value,
        unit=text(found, "unit"),
        reason="" if value is not None else text(found, "reason") or NO_REASON,
        useful=text(found, "useful"),
        focus=text(found, "foa"),
        formula=text(found, "formula"),
    )
