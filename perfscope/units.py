"""Numbers as people read them: one way to write seconds, bytes, shares and counts everywhere."""

import re
from collections.abc import Iterable, Sequence
from itertools import groupby
from math import isnan

NS = 1e-9
"""A nanosecond in seconds."""

NS_PER_S = 1e9
"""Nanoseconds in a second."""

MISSING = "–"
_BYTE_UNITS = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")
_BYTE_FACTORS = {"": 1, "K": 1024, "M": 1024**2, "G": 1024**3, "T": 1024**4}
_SECOND_UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))
_MINUTES_FROM_S = 120.0
_HOURS_FROM_S = 7200.0
LEAST_TENTH = 0.05
"""What is less is no tenth."""

NAMES = {"Horovod", "Keras", "Python", "Dask", "Gloo", "Linux", "Slurm"}
"""Proper names that no letter tells from a noun at the beginning of a sentence."""

TIMES_FROM = 2.0
"""Larger ratios are told as they are, and not as changes."""


def format_seconds(seconds: float | None) -> str:
    """A duration with three significant digits: `1.23 s`, `45.0 ms`, `3 min 20 s`, `2 h 05 min`.

    Clocks count whole nanoseconds: what is less is what floating-point sums leave, and is `0 s`.
    """
    if seconds is None or isnan(seconds):
        return MISSING
    if abs(seconds) >= _HOURS_FROM_S:
        hours, minutes = divmod(round(seconds / 60), 60)
        return f"{hours} h {minutes:02d} min"
    if abs(seconds) >= _MINUTES_FROM_S:
        minutes, rest = divmod(round(seconds), 60)
        return f"{minutes} min {rest:02d} s"
    for factor, unit in _SECOND_UNITS:
        if abs(seconds) >= factor * 0.9995:
            return f"{_three_digits(seconds / factor)} {unit}"
    return "0 s"


def format_bytes(size_bytes: float | None) -> str:
    """A size in powers of 1024 with three significant digits: `512 B`, `1.50 GiB`."""
    if size_bytes is None or isnan(size_bytes):
        return MISSING
    value, unit = float(size_bytes), 0
    while abs(value) >= 999.5 and unit < len(_BYTE_UNITS) - 1:
        value, unit = value / 1024, unit + 1
    return f"{value:.0f} B" if unit == 0 else f"{_three_digits(value)} {_BYTE_UNITS[unit]}"


def format_bandwidth(bytes_per_s: float | None) -> str:
    """A rate in powers of 1000, as bandwidths of links are told: `2.38 GB/s`."""
    if bytes_per_s is None or isnan(bytes_per_s):
        return MISSING
    for factor, unit in ((1e9, "GB/s"), (1e6, "MB/s"), (1e3, "kB/s")):
        if bytes_per_s >= factor:
            return f"{bytes_per_s / factor:.3g} {unit}"
    return f"{bytes_per_s:.3g} B/s"


def format_cpus(busy: float, cpus: int) -> str:
    """How much of some CPUs is used, on average: `0.9 of the 2 CPUs`, `2.1 % of the one CPU`."""
    if cpus == 1:
        return f"{format_share(busy)} of the one CPU"
    used = f"{busy:.1f}" if busy >= LEAST_TENTH else "less than 0.1"
    return f"{used} of the {cpus} CPUs"


def format_share(share: float | None) -> str:
    """A share of a whole as a percentage: `31.2 %`, `< 0.1 %` for little, `0 %` for nothing."""
    if share is None or isnan(share):
        return MISSING
    percent = 100 * share
    if percent == 0:
        return "0 %"
    return f"{percent:.1f} %" if abs(percent) >= 0.05 else "< 0.1 %"


def format_count(count: float | None) -> str:
    """A number of things, thousands apart: `12,345`."""
    return MISSING if count is None or isnan(count) else f"{count:,.0f}"


def counted(number: float, noun: str, several: str = "") -> str:
    """A number with its noun, which is one of one only: `1 rank`, `2 ranks`, `3 processes`.

    `several` is for any other number, where it is not the noun with an "s".
    """
    return f"{format_count(number)} {noun if number == 1 else several or f'{noun}s'}"


def of_all(what: str, ranks: int, several: str = "") -> str:
    """What is of all ranks together, in the words for one of them: `the process's time`."""
    return f"the process's {what}" if ranks == 1 else f"the ranks' {several or what}"


def singular(nouns: str) -> str:
    """What one of some is called: `thread` for threads, `process` for processes."""
    return re.sub(r"(?<=\w\w)(?:(?<=ss)e)?s\b", "", nouns)


def were(number: float, noun: str) -> str:
    """A number with its noun and verb: `1 rank was`, `2 ranks were`; see `counted`."""
    return f"{counted(number, noun)} {'was' if number == 1 else 'were'}"


def listed(parts: Sequence[str]) -> str:
    """One part or more inside a sentence: `a`, `a and b`, `a, b and c`."""
    return f"{', '.join(parts[:-1])} and {parts[-1]}" if len(parts) > 1 else parts[0]


def capitalized(text: str) -> str:
    """A text as a sentence begins."""
    return text[:1].upper() + text[1:]


def inside(label: str) -> str:
    """A label or sentence as it stands inside another one: names keep their letters.

    A name is told by what stands in it (`PyTorch`, `I/O`, `DataLoader`, `MPI_Bcast`); those that
    are written like any noun are known.
    """
    first = re.split(r"[\s:;,']", label, maxsplit=1)[0]
    is_name = first in NAMES or not first[1:].replace("-", "").islower()
    return label if len(first) > 1 and is_name else label[:1].lower() + label[1:]


def format_ratio(ratio: float | None) -> str:
    """An efficiency or other ratio around one: `0.625`."""
    return MISSING if ratio is None or isnan(ratio) else f"{ratio:.3f}"


def format_change(ratio: float | None) -> str:
    """A ratio as a change: `+4.9 %`, `2.50 times`."""
    if ratio is None or isnan(ratio):
        return MISSING
    change = round(100 * (ratio - 1), 1) + 0.0  # a zero has no minus
    return f"{change:+.1f} %" if ratio < TIMES_FROM else f"{ratio:.3g} times"


def format_changes(bounds: Sequence[float]) -> str:
    """An interval of ratios as changes, both its ends in one form: `0.91 to 2.5 times`."""
    if max(bounds) < TIMES_FROM:
        return " to ".join(map(format_change, bounds)).replace(" %", "", len(bounds) - 1)
    return f"{' to '.join(f'{bound:.3g}' for bound in bounds)} times"


def rows_of(numbers: Iterable[int]) -> list[tuple[int, int]]:
    """The first and the last of those that follow each other, of numbers in order."""
    rows = []
    for _, group in groupby(enumerate(numbers), key=lambda place: place[1] - place[0]):
        row = [number for _, number in group]
        rows.append((row[0], row[-1]))
    return rows


def parse_bytes(text: str) -> int:
    """The size that a user wrote, in bytes: `256M`, `1.5 GiB`, `1048576`; units are powers of 1024.

    Raises:
        ValueError: the text is not a size.
    """
    match = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([KMGT]?)(?:i?B)?\s*", text, re.IGNORECASE)
    if match is None:
        raise ValueError(f"not a size: {text!r}")
    return int(float(match[1]) * _BYTE_FACTORS[match[2].upper()])


def _three_digits(value: float) -> str:
    magnitude = abs(value)
    if magnitude >= 99.95:
        return f"{value:.0f}"
    return f"{value:.1f}" if magnitude >= 9.995 else f"{value:.2f}"
