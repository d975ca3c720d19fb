"""Turns of loops that the program itself counts, where nothing is exchanged that could tell them.

Samples show the loops that a rank is in most of the time, one in the other. Of those whose turns a
variable counts, looks at it tell the turns, however short they are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from perfscope.arrays import Ints
from perfscope.attribution.call_loops import Place
from perfscope.attribution.cycles import MIN_PERIODS, NONE, outer_is_step
from perfscope.attribution.focus import Focus
from perfscope.judging import FEWEST_SAMPLES, MAIN
from perfscope.structures import dataclass
from perfscope.trace.loops import MOST_TURNS, counted_loops, last_values
from perfscope.trace.model import Rank, Table


@dataclass(frozen=True)
class _Counted:
    """When turns of a loop ended, and how many it has each time that it is entered."""

    ends: Ints  # empty where looks are too rare to tell
    each: float


def turns_counted(rank: Rank, nested: Sequence[tuple[Place, ...]], focus: Focus) -> Ints:
    """When those turns ended, but the last, that are steps of a rank; empty where none are known.

    Args:
        rank: the rank.
        nested: for each stack the loops that it is in, outermost first.
        focus: where to look.
    """
    chain = _main_chain(rank, nested, focus)
    lasts, looks = last_values(rank), dict[Place, tuple[Table, int | None]]()
    for number, place in enumerate(counted_loops(rank)):
        rows = rank.loop_turns[rank.loop_turns["loop"] == number]
        steps = np.diff(rows["value"])
        if place is not None and np.any(steps > 0) and np.abs(steps).sum(dtype=float) < MOST_TURNS:
            looks[place] = rows, lasts[number]
    found, inner = NONE, 1.0
    for loop, begin, end in reversed(chain):
        if loop not in looks:
            if not len(found):
                return NONE  # nobody knows how often the inner loop turns
            continue
        known = _counted(*looks[loop], begin, end)
        times = len(known.ends) + 1
        if not len(known.ends):
            inner = max(inner, known.each)
        elif outer_is_step(times, inner if not len(found) else (len(found) + 1) / times):
            found = known.ends
        elif not len(found):
            return NONE  # the inner loop has the steps, of which no look tells enough
    return found if len(found) + 1 >= MIN_PERIODS else NONE


def _main_chain(
    rank: Rank, nested: Sequence[tuple[Place, ...]], focus: Focus
) -> list[tuple[Place, int, int]]:
    """The loops in which most samples are, of those in the loop around; and when they were.

    From the last sample before the first in a loop, to the last one in it.
    """
    rows = rank.main_stacks
    rows = rows[(rows["t"] >= focus.start_ns) & (rows["t"] <= focus.end_ns)]
    times, paths = rows["t"].tolist(), [nested[stack] for stack in rows["stack"].tolist()]
    found: list[tuple[Place, int, int]] = []
    while True:
        level = len(found)
        inside = [(t, path) for t, path in zip(times, paths, strict=True) if len(path) > level]
        seen = Counter(path[level] for _, path in inside)
        loop, count = max(seen.items(), key=lambda one: one[1], default=(None, 0))
        if loop is None or (level and count < MAIN * len(times)) or count < FEWEST_SAMPLES:
            return found
        own = [(t, path) for t, path in inside if path[level] == loop]
        times, paths = [t for t, _ in own], [path for _, path in own]
        before = rows["t"][rows["t"] < times[0]]
        found.append((loop, int(before.max(initial=focus.start_ns)), times[-1]))


def _counted(rows: Table, last: int | None, begin: int, end: int) -> _Counted:
    """What looks at a variable tell of the turns of its loop, in which samples were meanwhile.

    Behind the last look there are as many turns as it was at the end of the program, else as many
    as are usual in that time.
    """
    at, value = rows["t"].astype(np.int64), rows["value"].astype(np.int64)
    steps = np.diff(value)
    entries, is_on = np.flatnonzero(steps < 0) + 1, steps > 0
    by = int(np.gcd.reduce(steps[is_on])) if np.count_nonzero(is_on) >= MIN_PERIODS else 1
    turn, most = value // by, int(value.max()) // by
    if len(at) < FEWEST_SAMPLES * (len(entries) + 1):
        return _Counted(NONE, float(most - int(turn.min()) + 1))
    pace = max(1.0, float(np.diff(at)[is_on].sum() / np.diff(turn)[is_on].sum()))
    before = min(begin, int(at[0]))
    first = int(turn.min()) if len(entries) else 0  # what it counts from
    begun = min(int(turn[0]) - first, (int(at[0]) - before) / pace)
    ends = [_evenly(before, int(at[0]), begun)]
    for place, over in enumerate(np.diff(turn).tolist()):
        since, until = int(at[place]), int(at[place + 1])
        if over < 0:  # the end of one time that the loop was entered, and the beginning of the next
            usual = (until - since) / pace
            anew = min(int(turn[place + 1]) - first + 1, 2.0 * usual + 1.0)
            left = min(most - int(turn[place]), max(0.0, usual - anew))
            ends.append(_evenly(since, until, anew + left))
        else:
            ends.append(_evenly(since, until, over))
    final = max(end, int(at[-1]))
    usual = min((final - int(at[-1])) / pace, MOST_TURNS)
    rest = usual if last is None else last / by - int(turn[-1])
    # where it is far more, the variable has been used for something else
    ends.append(_evenly(int(at[-1]), final, rest if rest <= 2.0 * usual + 1.0 else usual))
    return _Counted(np.concatenate(ends), float(most - int(turn.min()) + 1))


def _evenly(since: int, until: int, count: float) -> Ints:
    """So many ends of turns in some time, each turn as long as the others."""
    whole = round(min(count, MOST_TURNS))
    part = (np.arange(whole) + 0.5) / max(1, whole)
    ends: Ints = since + ((until - since) * part).astype(np.int64)
    return ends
