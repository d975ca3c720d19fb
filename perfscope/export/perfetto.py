"""Perfetto's native protocol buffers: the events of the Chrome export, smaller and exact.

Ranks are processes, numbered from 1 on, because Perfetto takes 0 for the kernel's idle process.
Times are the wall clock's, in nanoseconds.
"""

import json
from pathlib import Path
from typing import IO, Any

from perfscope.dataframes.source import Source
from perfscope.export import _perfetto_packets as proto
from perfscope.export._chrome_rank import FIRST_LANE
from perfscope.export._source import with_exposed_source
from perfscope.export.chrome import beside, events_of
from perfscope.export.target import Target, opened

FACTS = "perfscope.export"
"""The instant that holds what a Chrome file has beside its events."""
NS = 1000
Event = dict[str, Any]


def write(source: Source, output: Path) -> list[str]:
    """Writes a trace as packets, compressed where the output's name ends in .gz."""
    dropped: list[str] = []
    source = with_exposed_source(source)
    with opened(output) as stream:
        tracks = _Tracks(stream, source.trace.origin_unix_ns)
        facts = {k: v for k, v in beside(source).items() if k != "baseTimeNanoseconds"}
        tracks.begin(json.dumps(facts))
        for text in events_of(source, dropped):
            tracks.take(json.loads(text))
        tracks.close()
    return dropped


class _Tracks:
    """Writes events on the tracks of processes, threads and counters.

    Attributes:
        _open: by track, when the slices end that have begun and what ends them, outermost first.
    """

    def __init__(self, stream: IO[bytes], origin_ns: int) -> None:
        self._stream, self._origin_ns = stream, origin_ns
        self._uuids: dict[tuple[Any, ...], int] = {}
        self._open: dict[int, list[int]] = {}

    def begin(self, facts: str) -> None:
        """Says which clock is meant, and what is known of the run."""
        self._stream.write(proto.clocks(self._origin_ns))
        uuid = self._uuid("facts")
        self._stream.write(proto.track(uuid, proto.text(2, FACTS)))
        told = proto.text(23, FACTS) + proto.annotation("facts", facts)
        self._stream.write(proto.event(proto.INSTANT, uuid, self._origin_ns, told))

    def _uuid(self, *key: Any) -> int:
        return self._uuids.setdefault(key, len(self._uuids) + 1)

    def take(self, event: Event) -> None:
        """Writes one event of the Chrome format."""
        kind, pid, tid = event["ph"], event["pid"], event["tid"]
        if kind == "M":
            self._describe(event)
            return
        at_ns = self._origin_ns + round(event["ts"] * NS)
        if kind == "C":
            self._count(event, at_ns)
            return
        uuid = self._uuid("thread", pid, tid)
        told = proto.text(22, event.get("cat", "")) + proto.text(23, event.get("name", ""))
        told += b"".join(proto.annotation(*pair) for pair in event.get("args", {}).items())
        if kind == "X":
            self._slice(uuid, at_ns, at_ns + round(event["dur"] * NS), told)
            return
        if kind in ("s", "f"):
            told += proto.fixed(47 if kind == "s" else 48, event["id"] + 1)
        self._stream.write(proto.event(proto.INSTANT, uuid, at_ns, told))

    def _describe(self, event: Event) -> None:
        """A process, its labels, or a thread; lanes and streams are no threads of a system."""
        name, pid, tid = event["name"], event["pid"], event["tid"]
        process = self._uuid("process", pid)
        value = next(iter(event["args"].values()))
        number = proto.whole(1, pid + 1)
        if name == "process_name":
            told = proto.held(3, number + proto.text(6, value))
            self._stream.write(proto.track(process, told))
        elif name == "process_labels":
            told = proto.held(3, number + proto.text(8, value))
            self._stream.write(proto.track(process, told))
        elif name == "thread_name":
            told = proto.text(2, value)
            if 0 < tid < min(FIRST_LANE, 1 << 31):
                told = proto.held(4, number + proto.whole(2, tid) + proto.text(5, value))
            uuid = self._uuid("thread", pid, tid)
            self._stream.write(proto.track(uuid, told, parent=process))

    def _slice(self, uuid: int, begin_ns: int, end_ns: int, told: bytes) -> None:
        self._end(uuid, begin_ns)
        self._stream.write(proto.event(proto.BEGIN, uuid, begin_ns, told))
        self._open.setdefault(uuid, []).append(end_ns)

    def _end(self, uuid: int, until_ns: int) -> None:
        """Ends the slices of a track that are over by then, innermost first."""
        waiting = self._open.get(uuid, [])
        while waiting and waiting[-1] <= until_ns:
            self._stream.write(proto.event(proto.END, uuid, waiting.pop()))

    def _count(self, event: Event, at_ns: int) -> None:
        name, pid = event["name"], event["pid"]
        for key, value in event["args"].items():
            is_new = ("counter", pid, name, key) not in self._uuids
            uuid = self._uuid("counter", pid, name, key)
            if is_new:
                unit = proto.held(8, proto.text(6, key))
                parent = self._uuid("process", pid)
                self._stream.write(proto.track(uuid, proto.text(2, name) + unit, parent=parent))
            number = proto.real(44, value) if isinstance(value, float) else proto.whole(30, value)
            self._stream.write(proto.event(proto.COUNTER, uuid, at_ns, number))

    def close(self) -> None:
        """Ends what is still open."""
        for uuid in self._open:
            self._end(uuid, 1 << 63)


TARGET = Target(
    "perfetto",
    "Perfetto's native format for ui.perfetto.dev",
    ".perfetto-trace",
    write,
    needs_events=True,
)
