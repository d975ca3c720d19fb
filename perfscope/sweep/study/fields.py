"""Reads documents that others may have written: what is missing or of another kind is None."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

Json = dict[str, Any]


def follow(document: Any, *path: str) -> Any:
    """What stands at a path of keys; None where the path ends early."""
    for key in path:
        if not isinstance(document, Mapping):
            return None
        document = document.get(key)
    return document


def number(document: Any, *path: str) -> float | None:
    """The finite number at the path."""
    found = follow(document, *path)
    if isinstance(found, bool) or not isinstance(found, int | float):
        return None
    try:
        value = float(found)
    except OverflowError:  # a whole number of hundreds of digits
        return None
    return value if math.isfinite(value) else None


def integer(document: Any, *path: str) -> int | None:
    """The whole number at the path."""
    found = follow(document, *path)
    return found if isinstance(found, int) and not isinstance(found, bool) else None


def text(document: Any, *path: str) -> str:
    """The text at the path; "" when there is none."""
    found = follow(document, *path)
    return found if isinstance(found, str) else ""


def numbers(document: Any, *path: str) -> tuple[float, ...]:
    """The array of numbers at the path; empty unless every element is one."""
    found = follow(document, *path)
    if not isinstance(found, list):
        return ()
    known = [value for item in found if (value := number(item)) is not None]
    return tuple(known) if len(known) == len(found) else ()


def rows(document: Any, *path: str) -> tuple[Json, ...]:
    """The objects of the array at the path."""
    found = follow(document, *path)
    return tuple(row for row in found if isinstance(row, dict)) if isinstance(found, list) else ()


def texts(document: Any, *path: str) -> dict[str, str]:
    """The table of names and texts at the path."""
    found = follow(document, *path)
    if not isinstance(found, Mapping):
        return {}
    return {str(key): value for key, value in found.items() if isinstance(value, str)}
