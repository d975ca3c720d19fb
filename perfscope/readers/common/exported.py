"""What an export of perfscope says beside its events, so that it tells no more and no less.

A format of another tool has no place for the reason why a figure is missing, nor for a rank that
lived longer than it did anything. Without them what was null would come back as a number.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from perfscope.readers.common import texts
from perfscope.structures import dataclass
from perfscope.trace.model import Trace

KEY = "perfscope"
LONGEST_REASON = 500
MOST_REASONS = 50
MOST_RANKS = 1 << 20
LATEST_NS = 1 << 61


@dataclass(frozen=True)
class Life:
    """When a rank began and ended, on the clock of the events, and its main thread."""

    start_ns: int
    end_ns: int
    main_tid: int


def facts(trace: Trace) -> dict[str, Any]:
    """What is to stand beside the events of a trace; times are those of the trace."""
    return {
        "origin_ns": trace.origin_unix_ns,
        "not_recorded": dict(trace.not_recorded),
        "lives": [[rank.number, rank.start_ns, rank.end_ns, rank.main_tid] for rank in trace.ranks],
    }


def reasons(told: Mapping[str, Any], own: Mapping[str, str]) -> dict[str, str]:
    """Why parts are missing: for reasons of the format, else for those of what was exported."""
    found = list(texts.mapping(told.get("not_recorded")).items())[:MOST_REASONS]
    kept = {str(part): why[:LONGEST_REASON] for part, why in found if isinstance(why, str)}
    return {**kept, **own}


def lives(told: Mapping[str, Any], numbers: Iterable[int]) -> dict[int, Life]:
    """The lives of ranks, of those that are asked for."""
    rows, origin = told.get("lives"), told.get("origin_ns")
    if not isinstance(rows, list) or not _are_times(origin):
        return {}
    wanted, found = set(numbers), {}
    for row in rows[:MOST_RANKS]:
        if isinstance(row, list) and len(row) == 4 and _are_times(*row) and row[0] in wanted:
            number, start, end, main_tid = row
            found[number] = Life(start + origin, end + origin, main_tid)
    return found


def _are_times(*values: object) -> bool:
    return all(type(one) is int and -LATEST_NS < one < LATEST_NS for one in values)
