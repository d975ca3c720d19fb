"""What rows are laid out from, in the engine, against the same in numpy and plain Python."""

import numpy as np
import pytest

from perfscope import _core
from perfscope.arrays import Bools, Int32s, Ints
from perfscope.replay.dependencies import Dependencies
from perfscope.replay.meetings import Kind, Meetings

CALLS = 200


def some_meetings(random: np.random.Generator, *, kinds: list[Kind]) -> Meetings:
    """Of calls that each are in one meeting at most, some without a known root, end or arrival."""
    rows = random.permutation(CALLS)[: int(random.integers(2, CALLS))].astype(np.int64)
    cuts = np.unique(random.integers(1, len(rows), int(random.integers(0, 40))))
    starts = np.concatenate([[0], cuts, [len(rows)]]).astype(np.int64)
    count = len(starts) - 1
    kind = random.choice([int(one) for one in kinds], count).astype(np.int64)
    root = rows[random.integers(starts[:-1], starts[1:])]
    root[random.random(count) < 0.2] = -1
    ends = np.where(random.random(len(rows)) < 0.2, random.integers(-1, CALLS, len(rows)), rows)
    silent = random.random(len(rows)) < random.choice([0.1, 0.6])
    return Meetings(rows, starts, kind, root, random.random(count) < 0.7, silent, ends)


def expected(meetings: Meetings, row: Ints, on: Ints) -> Dependencies:
    """One hub for a meeting, in a scan one for each rank; none where all wait for the root."""
    kind, sizes = meetings.kind, np.diff(meetings.starts)
    is_scan = kind == Kind.SCAN
    per_meeting = np.where(kind == Kind.FROM_ROOT, 0, np.where(is_scan, sizes, 1))
    first_hub = np.concatenate([[0], np.cumsum(per_meeting)])[:-1]
    instance = meetings.instance
    place = np.arange(len(instance)) - np.repeat(meetings.starts[:-1], sizes)
    hub = first_hub[instance] + np.where(is_scan[instance], place, 0)
    has_hub = kind[instance] != Kind.FROM_ROOT
    member = has_hub & ~meetings.silent
    counts = np.bincount(hub[member], minlength=int(per_meeting.sum()))
    parent = np.full(int(per_meeting.sum()), -1, np.int64)
    chained = is_scan[instance] & (place > 0)
    parent[hub[chained]] = hub[chained] - 1
    root = meetings.root[instance]
    root_only = (kind[instance] == Kind.TO_ROOT) & (meetings.rows != root)
    needed = np.where(has_hub, ~hub, root)
    waits = np.where(has_hub, ~root_only, (root >= 0) & (meetings.rows != root))
    waits &= meetings.ends >= 0
    return Dependencies(
        np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
        meetings.rows[member],
        parent,
        np.concatenate([meetings.ends[waits], row]),
        np.concatenate([needed[waits], on]),
    )


def needs(found: Dependencies, enter: list[int]) -> list[int]:
    """Before which time each row cannot complete."""
    hubs: list[int] = []
    for first, behind, parent in zip(
        found.hub_starts[:-1], found.hub_starts[1:], found.hub_parent, strict=True
    ):
        came = [enter[row] for row in found.hub_rows[first:behind]]
        hubs.append(max([*came, *([hubs[parent]] if parent >= 0 else [])], default=-(2**63)))
    result = list(enter)
    for row, on in zip(found.row.tolist(), found.on.tolist(), strict=True):
        result[row] = max(result[row], hubs[~on] if on < 0 else enter[on])
    return result


@pytest.mark.parametrize("kinds", [[Kind.ALL], [Kind.SCAN], list(Kind)])
@pytest.mark.parametrize("seed", range(40))
def test_who_waits_for_whom_in_meetings(seed: int, kinds: list[Kind]) -> None:
    random = np.random.default_rng(seed)
    meetings = some_meetings(random, kinds=kinds)
    row, on = random.integers(0, CALLS, (2, int(random.integers(0, 30))))
    found, wanted = Dependencies.of(meetings, row, on), expected(meetings, row, on)
    for name in ("hub_starts", "hub_rows", "hub_parent", "row", "on"):
        assert getattr(found, name).tolist() == getattr(wanted, name).tolist(), name
    enter = random.integers(0, 1000, CALLS)
    assert found.needs(enter).tolist() == needs(wanted, enter.tolist())


def test_nobody_waits_for_a_root_that_is_not_known_or_for_who_comes_silently() -> None:
    starts, rows, kinds = np.array([0, 2, 4]), np.arange(4), np.array([Kind.ALL, Kind.FROM_ROOT])
    silent, unknown = np.zeros(4, np.bool_), np.full(2, -1)
    enter, none = np.array([5, 6, 1, 2]), np.empty(0, np.int64)

    def needed(silent: Bools) -> list[int]:
        meetings = Meetings(rows, starts, kinds, unknown, np.ones(2, np.bool_), silent, rows)
        found: list[int] = Dependencies.of(meetings, none, none).needs(enter).tolist()
        return found

    assert needed(silent) == [6, 6, 1, 2]
    assert needed(~silent) == enter.tolist()


def test_needs_that_do_not_fit_are_refused() -> None:
    none, enter = np.empty(0, np.int64), np.arange(3)
    hubs = np.zeros(1, np.int64), none, none
    for row, on in ((3, 0), (0, 3), (0, -1), (-1, 0)):
        with pytest.raises(ValueError, match="do not fit"):
            _core.needed_before(enter, hubs, np.array([row]), np.array([on]))


@pytest.mark.parametrize("seed", range(20))
def test_needs_stand_row_after_row_in_their_order(seed: int) -> None:
    random = np.random.default_rng(seed)
    rows, hubs, pairs = CALLS + 5, 4, int(random.integers(0, 60))
    row_of = random.permutation(rows)[:CALLS].astype(np.int32)
    call, on = random.integers(0, CALLS, pairs), random.integers(-hubs, CALLS, pairs)
    starts, needs = _core.needs_of_rows(call, on, row_of, rows)
    for row in range(rows):
        mine = on[row_of[call] == row]
        wanted = [need if need < 0 else int(row_of[need]) for need in mine.tolist()]
        assert needs[starts[row] : starts[row + 1]].tolist() == wanted


def test_pairs_that_do_not_fit_are_refused() -> None:
    row_of = np.arange(3, dtype=np.int32)
    for call, on, rows in ((3, 0, 3), (-1, 0, 3), (0, 3, 3), (0, 0, 2), (0, -(2**40), 3)):
        with pytest.raises(ValueError, match="do not fit"):
            _core.needs_of_rows(np.array([call]), np.array([on]), row_of, rows)


def plain_choice(
    chosen: Bools, enter: Ints, leave: Ints, rank: Int32s, ranks: int
) -> list[list[int]]:
    rows = np.flatnonzero(chosen)
    place = np.full(len(chosen) + 1, -1, np.int64)
    place[rows] = np.arange(len(rows))
    starts = np.searchsorted(rank[rows], np.arange(ranks + 1))
    times = (np.clip(column[rows], 100, 600).tolist() for column in (enter, leave))
    return [rows.tolist(), *times, rank[rows].tolist(), starts.tolist(), place.tolist()]


@pytest.mark.parametrize("seed", range(20))
def test_calls_that_are_chosen(seed: int) -> None:
    random = np.random.default_rng(seed)
    count, ranks = int(random.integers(0, 80)), 1 + int(random.integers(0, 5))
    chosen = random.random(count) < random.choice([0.0, 0.5, 1.0])
    enter = random.integers(0, 700, count)
    leave = enter + random.integers(0, 90, count)
    rank = np.sort(random.integers(0, ranks, count)).astype(np.int32)
    op = random.integers(0, 99, count).astype(np.uint16)
    found = _core.chosen_calls((enter, leave, rank, op), chosen.view(np.uint8), ranks, 100, 600)
    row, begin, end, rank_of, op_of, starts, place = (column.tolist() for column in found)
    wanted = plain_choice(chosen, enter, leave, rank, ranks)
    assert [row, begin, end, rank_of, starts, place] == wanted
    assert op_of == op[chosen].tolist()
