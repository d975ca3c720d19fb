"""Reads parts of a study that no structure declares: missing ones are empty or None."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from perfscope.report.formats import number

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
    found = _follow(document, path)
    held = [number(item) for item in found] if isinstance(found, list) else []
    known = [value for value in held if value is not None]
    return known if len(known) == len(held) else []


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


def _follow(document: Any, path: Sequence[str]) -> Any:
    for key in path:
        if not isinstance(document, Mapping):
            return None
        document = document.get(key)
    return document
