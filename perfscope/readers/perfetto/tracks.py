"""Tracks of a Perfetto trace: the processes and threads that its events belong to."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from typing import NamedTuple

from perfscope.readers.kineto.made import Event
from perfscope.structures import dataclass

FIRST_LANE = 1 << 40
MOST_DEPTH = 64


class Track(NamedTuple):
    """Where events stand: a thread, a process, a counter, or something below one of them."""

    uuid: int
    name: str = ""
    parent: int | None = None
    pid: int | None = None
    tid: int | None = None
    process_name: str = ""
    labels: Sequence[str] = ()
    unit: str | None = None  # of a counter


@dataclass
class Tracks:
    """All tracks that a trace describes, in that order."""

    by_uuid: Mapping[int, Track]  # each of them
    shift: int  # what process numbers in the file are more than ours
    _lanes: dict[tuple[int, str] | int, int] = field(default_factory=dict)

    def place(self, uuid: int) -> tuple[int, int]:
        """Process and thread of a track; what is no thread gets a number of its own.

        Tracks of one name below one other are one: Chrome has one for each slice that may overlap.
        """
        track = self[uuid]
        own_tid = track.tid
        lane = (track.parent, track.name) if track.parent is not None and track.name else uuid
        for _ in range(MOST_DEPTH):
            if track.pid is not None or track.parent is None:
                break
            track = self[track.parent]
        if own_tid is None:
            own_tid = self._lanes.setdefault(lane, FIRST_LANE + len(self._lanes))
        return (track.pid or 0) - self.shift, own_tid

    def __getitem__(self, uuid: int) -> Track:
        """A track, of which nothing is known where the trace does not describe it."""
        return self.by_uuid.get(uuid) or Track(uuid)

    def counter(self, uuid: int) -> tuple[str, str]:
        """What is counted on a track, and in what unit."""
        track = self[uuid]
        return track.name, track.unit or "value"

    def named(self, used: set[tuple[int, int]]) -> Iterator[Event]:
        """What processes and threads are called, those alone that are used."""
        order: dict[int, int] = {}
        for uuid, track in self.by_uuid.items():
            pid, tid = self.place(uuid)
            if track.process_name:
                yield _named("process_name", pid, 0, track.process_name)
                for label in track.labels:
                    yield _named("process_labels", pid, 0, label, key="labels")
            elif track.name and (pid, tid) in used:
                order[pid] = order.get(pid, -1) + 1
                yield _named("thread_name", pid, tid, track.name)
                yield _named("thread_sort_index", pid, tid, order[pid], key="sort_index")


def _named(name: str, pid: int, tid: int, value: str | int, key: str = "name") -> Event:
    return {"ph": "M", "name": name, "pid": pid, "tid": tid, "ts": 0, "args": {key: value}}
