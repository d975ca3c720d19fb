"""What an export of perfscope says beside its events, so that it tells no more and no less.

A format of another tool has no place for the reason why a figure is missing, for the time over
which a run is judged, for what is wrong with its recording, nor for a rank that lived longer than
it did anything or was killed. Without them what was null would come back as a number, and every
efficiency as that of another time.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import Any

import numpy as np

from perfscope.readers.common import texts
from perfscope.schema.enums import EndKind
from perfscope.structures import dataclass
from perfscope.trace.damage import Damage, Need
from perfscope.trace.exported import Judged
from perfscope.trace.hardware import ComputeTotals
from perfscope.trace.model import Ending, Table, Trace

KEY = "perfscope"
PARTNERS = "partners"
"""Whether calls that are events have partners, tags and requests; those of older exports do not."""
LONGEST_REASON = 500
MOST_REASONS = 50
MOST_RANKS = 1 << 20
MOST_WORDS = 10_000
MOST_RUNS = 100_000
LATEST_NS = 1 << 61
_OF_STEPS = ("epoch", "samples", "global_batch")
ENDED = "as the recording says that was exported"


@dataclass(frozen=True)
class Life:
    """When a rank began and ended, on the clock of the events, and its main thread."""

    start_ns: int
    end_ns: int
    main_tid: int


def facts(trace: Trace, judged: Judged) -> dict[str, Any]:
    """What is to stand beside the events of a trace; times are those of the trace."""
    return {
        "origin_ns": trace.origin_unix_ns,
        "not_recorded": dict(trace.not_recorded),
        "lives": [[rank.number, rank.start_ns, rank.end_ns, rank.main_tid] for rank in trace.ranks],
        "endings": [
            [rank.number, rank.ending.kind.value, rank.ending.code, rank.ending.is_after_work]
            for rank in trace.ranks
        ],
        "focus": [judged.start_ns, judged.end_ns, judged.kind, judged.reason],
        "damage": [
            [one.id, one.text, sorted(need.value for need in one.spoils)] for one in judged.damage
        ],
        "command": list(trace.command),
        "exit_code": trace.exit_code,
        "wall_ns": trace.wall_ns,
        "steps": _steps(trace),
        "threads": _threads(trace),
        "is_size_told": trace.environment.get("is_size_told", True),
    }


def _threads(trace: Trace) -> list[Any]:
    """What each thread of each rank computed, where any rank has several."""
    if not any(rank.team for rank in trace.ranks):
        return []
    return [
        [rank.number, _sums(rank.compute), [_sums(one) for one in rank.team]]
        for rank in trace.ranks
    ]


def _sums(one: ComputeTotals | None) -> list[int | None] | None:
    """What a thread computed."""
    return None if one is None else [one.useful_ns, one.outside_ns, one.instructions, one.cycles]


def _steps(trace: Trace) -> list[Any]:
    """What steps say beside their times, by rank; nothing where it fills more than they do."""
    found: list[Any] = [[rank.number, _runs(rank.steps)] for rank in trace.ranks if len(rank.steps)]
    return found if sum(len(runs) for _, runs in found) <= MOST_RUNS else []


def _runs(steps: Table) -> list[list[int]]:
    """How many steps after each other have which epoch, samples and global batch."""
    rows = zip(*(steps[name].tolist() for name in _OF_STEPS), strict=True)
    return [[len(list(alike)), *told] for told, alike in groupby(rows)]


def reasons(told: Mapping[str, Any], own: Mapping[str, str]) -> dict[str, str]:
    """Why parts are missing: for reasons of the format, else for those of what was exported."""
    found = list(texts.mapping(told.get("not_recorded")).items())[:MOST_REASONS]
    kept = {str(part): why[:LONGEST_REASON] for part, why in found if isinstance(why, str)}
    return {**kept, **own}


def lives(told: Mapping[str, Any], numbers: Iterable[int]) -> dict[int, Life]:
    """The lives of ranks, of those that are asked for."""
    origin = told.get("origin_ns")
    if not _are_times(origin):
        return {}
    wanted, found = set(numbers), {}
    for row in _rows(told.get("lives"), 4):
        if _are_times(*row) and row[0] in wanted:
            number, start, end, main_tid = row
            found[number] = Life(start + origin, end + origin, main_tid)
    return found


def as_judged(trace: Trace, told: Mapping[str, Any]) -> Trace:
    """The trace, judged over the time, ended and damaged as what it was exported from.

    The clock of the export may count from another moment: the beginnings of its ranks tell it.
    """
    _set_endings(trace, told)
    _set_steps(trace, told)
    _set_threads(trace, told)
    if told.get("is_size_told") is False:
        trace.environment = {**trace.environment, "is_size_told": False}
    command, code, wall = (told.get(name) for name in ("command", "exit_code", "wall_ns"))
    if isinstance(command, list) and all(isinstance(word, str) for word in command):
        trace.command = tuple(command[:MOST_WORDS])
    if isinstance(code, int) and _are_times(code):
        trace.exit_code = code
    if isinstance(wall, int) and _are_times(wall):
        trace.wall_ns = max(wall, trace.wall_ns)
    known = lives(told, (rank.number for rank in trace.ranks))
    moved = Counter(
        rank.start_ns - (known[rank.number].start_ns - told["origin_ns"])
        for rank in trace.ranks
        if rank.number in known
    )
    if moved:
        trace.judged = _judged(trace, told, moved.most_common(1)[0][0])
    return trace


def _judged(trace: Trace, told: Mapping[str, Any], moved_ns: int) -> Judged | None:
    """How the recording was judged; None where the export tells none, or not of this trace."""
    focus = told.get("focus")
    if not (isinstance(focus, list) and len(focus) == 4 and _are_times(*focus[:2])):
        return None
    start, end = (moment + moved_ns for moment in focus[:2])
    first = min(rank.start_ns for rank in trace.ranks)
    last = max(rank.end_ns for rank in trace.ranks)
    if not (first <= start < end <= last and all(isinstance(text, str) for text in focus[2:])):
        return None
    kind, reason = (text[:LONGEST_REASON] for text in focus[2:])
    return Judged(start, end, kind, reason, tuple(_damage(told.get("damage"))))


def _damage(told: object) -> list[Damage]:
    needs = {need.value: need for need in Need}
    return [
        Damage(row[0], row[1][:LONGEST_REASON], frozenset(needs[one] for one in row[2]))
        for row in _rows(told, 3)[:MOST_REASONS]
        if isinstance(row[0], str)
        and isinstance(row[1], str)
        and isinstance(row[2], list)
        and all(isinstance(one, str) and one in needs for one in row[2])
    ]


def _set_endings(trace: Trace, told: Mapping[str, Any]) -> None:
    kinds = {kind.value: kind for kind in EndKind}
    ended = {
        row[0]: Ending(kinds[row[1]], row[2], ENDED, is_after_work=row[3] is True)
        for row in _rows(told.get("endings"), 4)
        if _are_times(row[0])
        and isinstance(row[1], str)
        and row[1] in kinds
        and (row[2] is None or _are_times(row[2]))
    }
    for rank in trace.ranks:
        rank.ending = ended.get(rank.number, rank.ending)


def _set_threads(trace: Trace, told: Mapping[str, Any]) -> None:
    """What each thread computed; a rank whose row makes no sense has threads of unknown work."""
    by_rank = {rank.number: rank for rank in trace.ranks}
    for number, main, team in _rows(told.get("threads"), 3):
        rank = by_rank.get(number) if _are_times(number) else None
        if rank is not None:
            rank.compute = _computed(main)
            rank.team = tuple(map(_computed, team)) if isinstance(team, list) else (None,)


def _computed(row: object) -> ComputeTotals | None:
    """What a thread computed, where that can be."""
    if not isinstance(row, list) or len(row) != 4:
        return None
    useful, outside, *counted = row
    is_known = _are_times(useful, outside) and 0 <= useful <= outside
    if not is_known or not all(one is None or (_are_times(one) and one >= 0) for one in counted):
        return None
    return ComputeTotals(useful, outside, *counted)


def _set_steps(trace: Trace, told: Mapping[str, Any]) -> None:
    """What a format has no place for; passed over where it is told of other steps."""
    by_rank = {rank.number: rank.steps for rank in trace.ranks}
    for row in _rows(told.get("steps"), 2):
        runs = [run for run in _rows(row[1], 4) if _are_times(*run) and run[0] > 0]
        steps = by_rank.get(row[0]) if _are_times(row[0]) else None
        if steps is None or not runs or sum(run[0] for run in runs) != len(steps):
            continue
        bounds = (1 << 31) - 1
        told_of = np.repeat([run[1:] for run in runs], [run[0] for run in runs], axis=0)
        steps["epoch"] = np.clip(told_of[:, 0], -1, bounds)
        steps["samples"] = np.maximum(told_of[:, 1], 0)
        steps["global_batch"] = np.maximum(told_of[:, 2], 0)


def _rows(told: object, length: int) -> Sequence[list[Any]]:
    rows = told[:MOST_RANKS] if isinstance(told, list) else []
    return [row for row in rows if isinstance(row, list) and len(row) == length]


def _are_times(*values: object) -> bool:
    return all(type(one) is int and -LATEST_NS < one < LATEST_NS for one in values)
