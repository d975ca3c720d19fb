"""Pieces that several sections show: rank lists, places in the code, bars by rank."""

from collections.abc import Sequence
from urllib.parse import urlsplit

from perfscope.places import MODULE
from perfscope.report.charts import Segment
from perfscope.schema import common
from perfscope.schema.communication import LateArrival
from perfscope.schema.replay import PathOfLine
from perfscope.schema.resources import MemoryLine, StackNode, TopFunction
from perfscope.schema.time import FunctionShare
from perfscope.structures import dataclass
from perfscope.units import rows_of

MOST_RANKS_SHOWN = 64
MOST_GROUPS = 25
MOST_RUNS = 12
_LINK_CHARACTERS = frozenset(
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~:/?#[]@!$&'()*+,;=%"
)


@dataclass(frozen=True)
class Place:
    """A function in the user's code."""

    function: str
    location: str  # file:line, or the file when the line is unknown, or ""

    @property
    def is_in_no_function(self) -> bool:
        """Whether it is code of a file itself, of which the line alone is known to people."""
        return self.function == MODULE and bool(self.location)

    @property
    def short_location(self) -> str:
        """The location without the directories above the last one."""
        parts = self.location.split("/")
        return self.location if len(parts) <= 2 else f"…/{'/'.join(parts[-2:])}"


@dataclass(frozen=True)
class Shown:
    """What the page shows in a color: its color and pattern, and its name."""

    role: str
    label: str
    key: str = ""  # the letter that a chart shows for it


@dataclass(frozen=True)
class Linked:
    """A name, and the file beside the page that it leads to, "" for none."""

    label: str
    link: str


InSource = (
    common.Place | FunctionShare | LateArrival | MemoryLine | PathOfLine | StackNode | TopFunction
)
"""What names a place in the source of the program."""


def place_of(found: InSource) -> Place:
    """The place in the source that a row names."""
    at = f"{found.file}:{found.line}" if found.file and found.line else found.file
    return Place(found.function or "", at or "")


def rank_list(ranks: Sequence[float]) -> str:
    """Rank numbers in words: `rank 0`, `ranks 0-3, 7`; many runs of numbers are counted."""
    if not ranks:
        return "no rank"
    ordered = sorted({int(rank) for rank in ranks})
    rows = rows_of(ordered)
    runs = [str(first) if first == last else f"{first}–{last}" for first, last in rows]
    shown = ", ".join(runs[:MOST_RUNS])
    left = len(runs) - MOST_RUNS
    if left > 0:
        shown += f" and others ({len(ordered):,} ranks)"
    return f"rank {shown}" if len(ordered) == 1 else f"ranks {shown}"


def safe_link(reference: str) -> str | None:
    """The reference when it is a plain http(s) address that may be followed; None otherwise."""
    if not set(reference) <= _LINK_CHARACTERS:
        return None
    try:
        parts = urlsplit(reference)
    except ValueError:
        return None
    is_plain = (
        parts.scheme in ("http", "https") and bool(parts.hostname) and "@" not in parts.netloc
    )
    return reference if is_plain else None


@dataclass(frozen=True)
class RankBars:
    """Stacked bars by rank; above `MOST_RANKS_SHOWN` ranks each bar is the mean of neighbors."""

    labels: tuple[str, ...]
    segments: tuple[Segment, ...]
    ranks_per_bar: int


def rank_bars(ranks: Sequence[int], parts: Sequence[Segment]) -> RankBars:
    """The segments by rank, averaged over runs of neighboring ranks when there are many."""
    count = len(ranks)
    size = 1 if count <= MOST_RANKS_SHOWN else -(-count // MOST_GROUPS)
    starts = range(0, count, size)
    labels = tuple(_bar_label(ranks[s : s + size]) for s in starts)
    segments = tuple(
        Segment(part.role, [_mean(part.values[s : s + size]) for s in starts]) for part in parts
    )
    return RankBars(labels, segments, size)


def _bar_label(ranks: Sequence[int]) -> str:
    return f"rank {ranks[0]}" if len(ranks) == 1 else f"ranks {ranks[0]}–{ranks[-1]}"


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0
