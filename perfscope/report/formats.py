"""Numbers of the report as people read them; everything is written by `perfscope.units`."""

import math
from typing import Any

from perfscope import units
from perfscope.structures import dataclass

NBSP = "\u00a0"  # keeps a number and its unit on one line


def number(value: Any) -> float | None:
    """The value as a finite number, None when it is anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return value


def part_of(part: float | None, whole: float | None) -> float | None:
    """The part as a share of the whole; None where either is missing or the whole is nothing."""
    return part / whole if part is not None and whole else None


def seconds(value: float | None) -> str:
    """A duration."""
    return units.format_seconds(value).replace(" ", NBSP)


def bytes_(value: float | None) -> str:
    """A size in powers of 1024."""
    return units.format_bytes(value).replace(" ", NBSP)


def percent(value: float | None) -> str:
    """A share as a percentage."""
    return units.format_share(value).replace(" ", NBSP)


def ratio(value: float | None) -> str:
    """An efficiency: one is the best there can be."""
    return units.format_ratio(value)


def whole_percent(value: float) -> str:
    """A share as a percentage without decimals, for places with little room."""
    return f"{100 * value:.0f}{NBSP}%"


def count(value: float | None) -> str:
    """A number of things."""
    return units.format_count(value)


def decimal(value: float | None) -> str:
    """A plain number with three significant digits, thousands apart when it is large."""
    if value is None:
        return units.MISSING
    return units.format_count(value) if abs(value) >= 1000 else f"{value:.3g}"


def speedup(value: float | None) -> str:
    """How many times as fast: always two digits, so that one speed-up looks alike everywhere."""
    return units.MISSING if value is None else f"{value:.2f}"


def bytes_rate(bytes_per_s: float | None) -> str:
    """A growth of memory over time: `1.20 MiB/s`."""
    return units.MISSING if bytes_per_s is None else f"{bytes_(bytes_per_s)}/s"


def quantity(value: float | None, unit: str) -> str:
    """A value with its unit, written the way people write that unit."""
    writers = {
        "s": seconds,
        "B": bytes_,
        "bytes": bytes_,
        "bytes/s": bytes_rate,
        "B/s": bytes_rate,
        "ratio": ratio,
        "share": percent,
    }
    if value is None:
        return units.MISSING
    if unit in writers:
        return writers[unit](value)
    told = decimal(value)
    return f"{told}{NBSP}{units.singular(unit) if told == '1' else unit}".strip()


def evidence(value: object, unit: str) -> str:
    """A measured fact, a number with its unit or a text."""
    known = number(value)
    if known is not None:
        return quantity(known, unit)
    return f"{value} {unit}".strip() if isinstance(value, str) else units.MISSING


def signed(value: float | None) -> str:
    """A change of seconds with its sign."""
    if value is None:
        return seconds(value)
    return f"+{seconds(value)}" if value > 0 else seconds(value)


UNITS = {seconds: "s", signed: "s", bytes_: "B", bytes_rate: "B/s"}
"""In what the numbers are that these write."""


@dataclass(frozen=True)
class Scale:
    """The unit of an axis: values are divided by `factor` and written with `unit` behind them."""

    factor: float = 1.0
    unit: str = ""

    def tick(self, value: float) -> str:
        """A tick at a value that was already divided."""
        return f"{_plain(value)}{NBSP}{self.unit}".rstrip(NBSP)


PLAIN = Scale()


def time_scale(largest_s: float) -> Scale:
    """The unit of time in which an axis up to `largest_s` seconds gets round ticks."""
    for from_s, scale in _TIME_SCALES:
        if largest_s >= from_s:
            return scale
    return _TIME_SCALES[-1][1]


def byte_scale(largest_bytes: float) -> Scale:
    """The power of 1024 in which an axis up to `largest_bytes` gets round ticks."""
    factor, unit = 1.0, 0
    while largest_bytes >= factor * 2048 and unit < len(_BYTE_UNITS) - 1:
        factor, unit = factor * 1024, unit + 1
    return Scale(factor, _BYTE_UNITS[unit])


def _plain(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.6g}"


_BYTE_UNITS = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")
_TIME_SCALES = (
    (3 * 3600.0, Scale(3600.0, "h")),
    (240.0, Scale(60.0, "min")),
    (1.0, Scale(1.0, "s")),
    (1e-3, Scale(1e-3, "ms")),
    (0.0, Scale(1e-6, "µs")),
)
TIME_WORDS = {
    "h": "hours",
    "min": "minutes",
    "s": "seconds",
    "ms": "milliseconds",
    "µs": "microseconds",
}
