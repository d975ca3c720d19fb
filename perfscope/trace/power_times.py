"""What multiplications and a root take of what a power of an array takes, as a rank timed it."""

from collections.abc import Mapping
from math import isfinite

from perfscope.trace.counts import whole


def powers_of(told: object) -> Mapping[tuple[str, float], float]:
    """By type and exponent the share of the time of the power that the other form takes."""
    found = {}
    for one in told if isinstance(told, list) else ():
        exponent = number(one.get("exponent")) if isinstance(one, Mapping) else None
        if isinstance(one, Mapping) and exponent is not None:
            now, then = whole(one.get("pow_ns")), whole(one.get("then_ns"))
            if 0 < then < now:
                found[str(one.get("dtype")), exponent] = then / now
    return found


def number(value: object) -> float | None:
    """A finite number; None of what is none."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if isfinite(value) else None
