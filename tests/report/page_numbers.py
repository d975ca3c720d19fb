"""Every number that a page or a summary says, and every form of the numbers of its document."""

import functools
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime, timezone
from html.parser import HTMLParser
from itertools import combinations
from typing import Any

from perfscope import units
from perfscope.report import formats

Writer = Callable[[float], str]
UNITS = "ns|µs|ms|s|min|h|%|B|[KMGT]iB|[KMGT]iB/s|[kMGT]?B/s|times"
NUMBER = re.compile(
    r"(?<![\w.,/:#=\[-])\d+ (?:min \d\d s|h \d\d min)\b|"
    rf"(?<![\w.,/:#=()\[\]-])[−+-]?\d(?:[\d,]*\d)?(?:\.\d+)?(?:\s(?:{UNITS})(?![\w/]))?"
    r"(?![\w.:(=/-]*[\w(=])"
)
NOT_SAID = {"script", "style", "code", "template", "text", "head"}
"""Code, what is packed, and the labels inside of drawings, whose axes have round numbers."""
MOST_TOGETHER = 16
"""Numbers of a column that are added up; longer ones are curves over time."""


def _decimal_rate(value: float) -> str:
    for factor, unit in ((1e9, "GB/s"), (1e6, "MB/s"), (1e3, "kB/s")):
        if value >= factor:
            return f"{value / factor:.3g} {unit}"
    return f"{value:.3g} B/s"


SECONDS: tuple[Writer, ...] = (units.format_seconds, "{:g} s".format, "{:.1f} s".format)
SHARES: tuple[Writer, ...] = (
    units.format_share,
    units.format_ratio,
    units.format_change,
    formats.whole_percent,
    *(
        "{:.2f}".format,
        "{:.2g}".format,
        "{:.4f}".format,
        "{:.2f} times".format,
        "{:.3g} times".format,
    ),
)
COUNTS: tuple[Writer, ...] = (
    units.format_count,
    formats.decimal,
    *("{:g}".format, "{:.1f}".format, "{:.3g}".format, "{:.0f}".format),
)
BYTES: tuple[Writer, ...] = (units.format_bytes, formats.bytes_rate, _decimal_rate, "{:g}".format)
KEYS: tuple[tuple[str, float, tuple[Writer, ...]], ...] = (
    (r"bytes", 1.0, BYTES),
    (r"(^|_)ns(_|$)", 1e-9, SECONDS),
    (r"queue_share", 1e3, ("{:.0f} ms".format,)),
    (r"speed_interval", 1.0, COUNTS),
    (r"interval|bounds", 1.0, (*SHARES, *SECONDS)),
    (r"per_s$", 1.0, COUNTS),
    (r"(^|_)(s|seconds|delay)(_by_\w+)?$|_s_", 1.0, SECONDS),
    (r"share|efficien|balance|ratio|relative|error|speedup|chance|^p$", 1.0, SHARES),
)
"""By the unit that the key of a number ends with: its factor, and how it is written."""


class _Words(HTMLParser):
    """What a page says, the text of each element apart."""

    def __init__(self) -> None:
        super().__init__()
        self.words: list[str] = []
        self.hidden = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.hidden += tag in NOT_SAID

    def handle_endtag(self, tag: str) -> None:
        self.hidden -= tag in NOT_SAID

    def handle_data(self, data: str) -> None:
        if not self.hidden and data.strip():
            self.words.append(plain(data))


def plain(text: str) -> str:
    """A text with plain spaces and signs."""
    return " ".join(text.replace("\u00a0", " ").replace("−", "-").split())


def said(html: str) -> list[str]:
    """What a page says, element by element."""
    parser = _Words()
    parser.feed(html)
    return parser.words


def numbers(text: str) -> Iterator[str]:
    """The numbers of a text with their units, without signs."""
    yield from _numbers(plain(text))


def _numbers(text: str) -> Iterator[str]:
    for found in NUMBER.findall(text):
        yield found.lstrip("+-")


def unknown(texts: Iterable[str], document: Any, *more: str) -> list[tuple[str, str]]:
    """Numbers of some texts that are none of the document's, each with its text.

    Args:
        texts: what is said.
        document: as written.
        more: texts that are made from the document in one place, and count as a part of it.
    """
    told = known([document, *more])
    return [(one, text) for text in texts for one in numbers(text) if one not in told]


def known(document: Any) -> set[str]:
    """What a page may say of a document: its numbers, sums and shares of a few, and its texts'."""
    found: set[str] = set()
    for key, value in set(_values("", document)):
        found |= _shown(key, value)
    return found


@functools.lru_cache(None)
def _shown(key: str, value: str | float) -> frozenset[str]:
    """What a page may say of one value of a document."""
    if isinstance(value, str):
        return frozenset(numbers(value))
    found: set[str] = set()
    factor, writers = _form(key)
    for write in writers:
        shown = plain(write(value * factor)).lstrip("+-")
        found |= {shown, shown.split(" ")[0], *_numbers(shown)}  # its unit may be apart
    if key.endswith("unix_s"):
        moment = datetime.fromtimestamp(value, timezone.utc)
        found.update(numbers(moment.strftime("%Y %m %d %H %M")))
    return frozenset(found)


@functools.lru_cache(None)
def _form(key: str) -> tuple[float, tuple[Writer, ...]]:
    for pattern, factor, writers in KEYS:
        if re.search(pattern, key):
            return factor, writers
    return 1.0, (*COUNTS, *SECONDS, *SHARES, *BYTES)


def _values(key: str, found: Any) -> Iterator[tuple[str, Any]]:
    """Every number and text with its key; what belongs together also in sum and as shares."""
    if isinstance(found, dict):
        unit = str(found.get("unit", ""))
        for name, value in found.items():
            is_metric = name in {"value", "interval"} and unit in {"s", "ratio"}
            if name != "levels":
                yield from _values(f"{key}_{unit}" if is_metric else name, value)
            elif value:
                yield "bin_s", value[-1]["bin_s"]
        yield from (("_s", a + b) for a, b in combinations(_times(found)[:4], 2))
        yield from _of_their_whole(found)
    elif isinstance(found, list | tuple):
        yield from (("count", number) for number in _counts(list(found)))
        for value in found:
            yield from _values(key, value)
        for name, column in _columns(key, list(found)):
            values = [value for value in column if _is_number(value)]
            if 0 < len(values) <= MOST_TOGETHER:
                yield from _together(name, values)
    elif _is_number(found) or isinstance(found, str):
        yield key, found


def _counts(found: list[Any]) -> list[int]:
    """How many there are, with notes and without, and how many of each status."""
    states = Counter(row["status"] for row in found if isinstance(row, dict) and "status" in row)
    return [len(found), len(found) - states["info"], *states.values()]


def _columns(key: str, found: list[Any]) -> Iterator[tuple[str, list[Any]]]:
    """The list itself, and the columns of a list of objects or of lists that are equally long."""
    yield key, found
    rows = [one for one in found if isinstance(one, dict)]
    for name in rows[0] if rows else ():
        yield name, [row.get(name) for row in rows]
    if found and all(isinstance(one, list) and len(one) == len(found[0]) for one in found):
        yield from ((key, list(column)) for column in zip(*found, strict=True))


def _of_their_whole(found: dict[str, Any]) -> Iterator[tuple[str, float]]:
    """Seconds of rows as shares of the seconds of the object that holds them.

    Of a saving also how far its interval reaches to either side.
    """
    ends, saved = found.get("gain_interval_s"), found.get("gain_s")
    if ends and saved:
        yield "share", (ends[1] - ends[0]) / 2 / saved
    whole: Any = found.get("seconds")
    for rows in found.values() if isinstance(whole, float) and whole else ():
        parts = [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []
        for row in parts[:MOST_TOGETHER]:
            times = _times(row)
            yield from (("share", one / whole) for one in (*times, sum(times)))


def _times(row: dict[str, Any]) -> list[float]:
    """What of an object is seconds."""
    keys = [name for name, value in row.items() if _is_number(value)]
    return [row[name] for name in keys if name.endswith(("_s", "seconds"))]


def _together(key: str, values: list[float]) -> Iterator[tuple[str, float]]:
    """The sum of a column, the largest difference in it, and each value as a share of the sum."""
    yield key, sum(values)
    yield key, max(values) - min(values)
    yield from (("share", value / sum(values)) for value in values if sum(values))


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
