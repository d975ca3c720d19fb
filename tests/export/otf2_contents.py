"""What libotf2 reads from an archive, put together for comparison."""

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import otf2
from otf2 import events


@dataclass
class Contents:
    """The events of an archive by kind; times are those of the archive."""

    locations: dict[int, tuple[int, str, Any]] = field(default_factory=dict)
    intervals: Counter[tuple[int, str, int, int]] = field(default_factory=Counter)
    sends: Counter[tuple[int, int, int, int, int]] = field(default_factory=Counter)
    """Rank, time, receiver, tag, bytes; of nonblocking ones too."""
    receives: Counter[tuple[int, int, int, int, int]] = field(default_factory=Counter)
    """Rank, time, sender, tag, bytes; of posted ones when they completed."""
    collectives: Counter[tuple[int, int, str, int | None, int, int]] = field(
        default_factory=Counter
    )
    """Rank, time of the end, kind, root, bytes sent, bytes received."""
    metrics: Counter[tuple[int, int, str, float]] = field(default_factory=Counter)
    attributes: Counter[tuple[str, str, int]] = field(default_factory=Counter)
    communicators: list[list[int]] = field(default_factory=list)
    first: int = 0
    realtime: int = 0


def read(directory: Path) -> Contents:
    """Everything in an archive; fails where Enter and Leave do not nest."""
    found = Contents()
    with otf2.reader.open(str(directory / "traces.otf2")) as trace:
        clock = trace.definitions.clock_properties
        assert clock.timer_resolution == 1_000_000_000
        found.first, found.realtime = clock.global_offset, clock.realtime_timestamp
        for location in trace.definitions.locations:
            kind = str(location.type)
            found.locations[location._ref] = (location.group._ref, location.name, kind)
        found.communicators = [
            [member._ref for member in comm.group.members] for comm in trace.definitions.comms
        ]
        stacks: dict[int, list[tuple[int, str]]] = {}
        last: dict[int, int] = {}
        for location, event in trace.events:
            assert last.get(location._ref, 0) <= event.time
            last[location._ref] = event.time
            _take(found, location, event, stacks.setdefault(location._ref, []))
        assert not any(stacks.values())
    return found


def _take(found: Contents, location: Any, event: Any, stack: list[tuple[int, str]]) -> None:
    group = location.group.creating_location_group or location.group  # of a device: its rank's
    rank, time = group._ref, event.time
    if isinstance(event, events.Enter):
        stack.append((time, event.region.name))
        for attribute, value in (event.attributes or {}).items():
            found.attributes[event.region.name, attribute.name, value] += 1
    elif isinstance(event, events.Leave):
        start, name = stack.pop()
        assert name == event.region.name
        found.intervals[rank, name, start, time] += 1
    elif isinstance(event, events.MpiSend | events.MpiIsend):
        found.sends[rank, time, event.receiver, event.msg_tag, event.msg_length] += 1
        assert stack
    elif isinstance(event, events.MpiRecv | events.MpiIrecv):
        found.receives[rank, time, event.sender, event.msg_tag, event.msg_length] += 1
        assert stack
    elif isinstance(event, events.MpiCollectiveEnd | events.NonBlockingCollectiveComplete):
        root = None if event.root >= 1 << 31 else event.root
        kind = str(event.collective_op).rsplit(".", maxsplit=1)[-1]
        key = (rank, time, kind, root, event.size_sent, event.size_received)
        found.collectives[key] += 1
        assert stack
    elif isinstance(event, events.Metric):
        metric = getattr(event.metric, "metric_class", event.metric)
        for member, value in zip(metric.members, event.values, strict=True):
            found.metrics[rank, time, member.name, value] += 1
