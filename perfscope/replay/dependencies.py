"""From collectives and messages to what each row of a program needs."""

from __future__ import annotations

import numpy as np

from perfscope.arrays import Ints
from perfscope.replay.meetings import Kind, Meetings
from perfscope.replay.program import Needs
from perfscope.structures import dataclass

MOST_NEEDS = int(np.iinfo(np.int32).max)


@dataclass(frozen=True)
class Dependencies:
    """Hubs and pairs (row, what it needs): a row, or ~hub; the unsorted form of `Needs`."""

    hub_starts: Ints
    hub_rows: Ints
    hub_parent: Ints
    row: Ints
    on: Ints

    @classmethod
    def of(cls, meetings: Meetings, row: Ints, on: Ints) -> Dependencies:
        """Those of collectives and of the messages (row, on).

        Each of `row` waits for the arrival of that in `on`.
        """
        if not len(meetings):
            empty = np.empty(0, np.int64)
            return cls(np.zeros(1, np.int64), empty, empty, row, on)
        hubs = _Hubs.of(meetings)
        ends, own_hub = meetings.ends, hubs.of_row
        root = meetings.root[meetings.instance]
        from_root = meetings.kind[meetings.instance] == Kind.FROM_ROOT
        needed = np.where(from_root, root, ~own_hub)
        waits = np.where(from_root, meetings.rows != root, own_hub >= 0) & (ends >= 0)
        return cls(
            hubs.starts,
            hubs.rows,
            hubs.parent,
            np.concatenate([ends[waits], row]),
            np.concatenate([needed[waits], on]),
        )

    def needs(self, enter: Ints) -> Ints:
        """Before which time each row cannot complete, shape (rows,), for given arrivals."""
        result = enter.copy()
        if not len(self.row):
            return result
        hubs = np.empty(0, np.int64)
        if len(self.hub_parent):
            hubs = np.maximum.reduceat(enter[self.hub_rows], self.hub_starts[:-1])
            for hub in np.flatnonzero(self.hub_parent >= 0).tolist():
                hubs[hub] = max(hubs[hub], hubs[hub - 1])
        is_hub = self.on < 0
        np.maximum.at(result, self.row[is_hub], hubs[~self.on[is_hub]])
        np.maximum.at(result, self.row[~is_hub], enter[self.on[~is_hub]])
        return result

    def renumbered(self, row_of: Ints) -> Dependencies:
        """The same with `row_of[row]` in place of each row."""
        on = np.where(self.on >= 0, row_of[np.maximum(self.on, 0)], self.on)
        return Dependencies(
            self.hub_starts, row_of[self.hub_rows], self.hub_parent, row_of[self.row], on
        )

    def laid_out(self, row_count: int) -> Needs:
        """The same, row after row.

        Raises:
            ValueError: rows wait for more than can be numbered.
        """
        if len(self.on) > MOST_NEEDS:
            raise ValueError(f"its calls wait for more than {MOST_NEEDS:,} others")
        order = np.argsort(self.row, kind="stable")
        starts = np.zeros(row_count + 1, np.int32)
        np.cumsum(np.bincount(self.row, minlength=row_count), out=starts[1:])
        return Needs(
            self.hub_starts,
            self.hub_rows,
            self.hub_parent,
            starts,
            self.on[order].astype(np.int32),
        )


@dataclass(frozen=True)
class _Hubs:
    starts: Ints
    rows: Ints
    parent: Ints
    of_row: Ints  # which hub each row of the meetings waits for, -1 none

    @classmethod
    def of(cls, meetings: Meetings) -> _Hubs:
        """One hub for a meeting, in a scan one for each rank; none where all wait for the root.

        Who is silent waits for the hub and is no member of it.
        """
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
        root_only = (kind[instance] == Kind.TO_ROOT) & (meetings.rows != meetings.root[instance])
        return cls(
            np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
            meetings.rows[member],
            parent,
            np.where(has_hub & ~root_only, hub, -1),
        )
