"""What large collectives brought that was there already, or that all ranks gave."""

from __future__ import annotations

from . import given, metadata
from .library import types
from .recorder import Recorder


def note(rec: Recorder | None) -> None:
    """Writes down what was seen of both."""
    metadata.facts["received_again"] = _again(rec)
    metadata.facts["given"] = given.told(rec)


def _again(rec: Recorder | None) -> list[list[int]]:
    """By operation and size: its code, bytes, looks, those that saw no change, and all calls."""
    found: list[list[int]] = []
    if rec is None:
        return found
    row = (types["u64"] * 5)()
    while rec.received_again(len(found), row):
        found.append(list(row))
    return found
