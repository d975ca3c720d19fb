"""Whole numbers that agents noted, read defensively."""

from collections.abc import Mapping

MOST = 1 << 62
"""What every number of the engine and of NumPy can hold."""


def whole(value: object) -> int:
    """A number from 0 to the most; 0 of what is none."""
    if isinstance(value, bool) or not isinstance(value, int):
        return 0
    return max(0, min(value, MOST))


def count_under(values: Mapping[str, object], name: str) -> int:
    """What is counted under a name, at most what 62 bits hold; 0 where that is no count."""
    told = values.get(name)
    if isinstance(told, bool) or not isinstance(told, int):
        return 0
    return told if 0 <= told < MOST else 0
