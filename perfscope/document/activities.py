"""What ranks were doing, as an object of analysis.json."""

from collections import defaultdict
from collections.abc import Sequence

from perfscope.metrics.host.activities import ActivityRow
from perfscope.metrics.results import Results
from perfscope.schema.activities import (
    Activities,
    ActivityPlace,
    ActivityTotal,
    GarbageOfRank,
    SecondsOfRank,
)
from perfscope.schema.enums import Activity
from perfscope.trace.model import Frame

MOST_PLACES = 100
MOST_RANKS = 8
LEAST_SHARE = 0.001
"""Of all time outside communication; what is less is added up."""
NO_SAMPLES = "no stacks were sampled: --stack-hz was 0, or the program is not Python"

_NOWHERE = Frame("", "", 0)
_Key = tuple[Activity, str, str, str, int, bool]


def activities(results: Results) -> Activities:
    """Seconds by activity, and the lines of the program where they were spent."""
    found = results.activities
    places = _places(found.rows)
    total = sum(row.ns for row in found.rows)
    spent = {key: sum(row.ns for row in rows) for key, rows in places.items()}
    ordered = sorted(spent, key=lambda key: (-spent[key], key[0].value, *key[1:]))
    shown = [key for key in ordered if spent[key] >= LEAST_SHARE * total][:MOST_PLACES]
    return Activities(
        reason=None if found.rows or found.garbage else NO_SAMPLES,
        totals=_totals(found.rows),
        places=tuple(_place(key, places[key]) for key in shown),
        places_left_out=len(places) - len(shown),
        left_out_s=(total - sum(spent[key] for key in shown)) / 1e9,
        untold_s=found.untold_ns / 1e9,
        garbage=tuple(
            GarbageOfRank(one.rank, one.count, _seconds(one.long_ns), _seconds(one.shorter_ns))
            for one in found.garbage
        ),
    )


def _seconds(ns: int | None) -> float | None:
    return None if ns is None else ns / 1e9


def _places(rows: Sequence[ActivityRow]) -> dict[_Key, list[ActivityRow]]:
    """Rows by what they are of, over the ranks."""
    found: defaultdict[_Key, list[ActivityRow]] = defaultdict(list)
    for row in rows:
        where = row.where or _NOWHERE
        place = (where.function, where.file, where.line)
        found[(row.activity, row.phase, *place, row.is_in_step)].append(row)
    return dict(found)


def _totals(rows: Sequence[ActivityRow]) -> tuple[ActivityTotal, ...]:
    spent = dict.fromkeys(Activity, 0)
    in_steps = dict.fromkeys(Activity, 0)
    for row in rows:
        spent[row.activity] += row.ns
        in_steps[row.activity] += row.ns if row.is_in_step else 0
    return tuple(
        ActivityTotal(activity, activity.label, spent[activity] / 1e9, in_steps[activity] / 1e9)
        for activity in sorted(Activity, key=lambda one: -spent[one])
        if spent[activity]
    )


def _place(key: _Key, rows: Sequence[ActivityRow]) -> ActivityPlace:
    activity, phase, function, file, line, is_in_step = key
    most = sorted(rows, key=lambda row: (-row.ns, row.rank))
    by_rank: defaultdict[int, int] = defaultdict(int)
    for row in rows:
        by_rank[row.rank] += row.ns
    ranks = sorted(by_rank, key=lambda rank: (-by_rank[rank], rank))[:MOST_RANKS]
    return ActivityPlace(
        activity=activity,
        phase=phase or None,
        function=function,
        file=file,
        line=line,
        calls=next((row.calls for row in most if row.calls), None),
        is_in_step=is_in_step,
        seconds=sum(row.ns for row in rows) / 1e9,
        most=tuple(SecondsOfRank(rank, by_rank[rank] / 1e9) for rank in ranks),
    )
