"""What the shapes of analysis.json are made of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Maybe:
    """The shape, or null."""

    shape: Any


@dataclass(frozen=True)
class Map:
    """An object with names of its own, all values of one shape."""

    shape: Any


@dataclass(frozen=True)
class OneOf:
    """One of these texts."""

    texts: tuple[str, ...]


@dataclass(frozen=True)
class Fixed:
    """A list of exactly these shapes."""

    shapes: tuple[Any, ...]


@dataclass(frozen=True)
class Either:
    """The short object where the value has just its keys, else the long one."""

    short: dict[str, Any]
    long: dict[str, Any]


WAIT_KINDS = (
    "late_sender",
    "late_receiver",
    "barrier",
    "n_to_n",
    "late_broadcast",
    "early_reduce",
    "early_scan",
    "finalize",
    "polling",
)
