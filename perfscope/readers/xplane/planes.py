"""XSpace, a message of protocol buffers, as planes, lines and events.

The numbers of fields are those of tsl/profiler/protobuf/xplane.proto. A field that is not known is
passed over, as newer releases add some.
"""

from dataclasses import field

from perfscope.readers.common.protobuf import Part
from perfscope.structures import dataclass

MOST_EVENTS = 3_000_000
"""Of a file: each becomes an object of Python."""
MOST_STATISTICS = 1000
"""Of an event."""


class TooLongError(ValueError):
    """What has more events than can be kept."""


@dataclass
class Event:
    """An event of a line; times in ps from the line's begin on, -1 for what has none."""

    metadata: int = 0
    offset_ps: int = -1
    duration_ps: int = 0
    stats: list[Part] = field(default_factory=list)


@dataclass
class Line:
    """A thread of the host, or a stream or a summary of a device."""

    number: int = 0
    name: str = ""
    timestamp_ns: int = 0
    events: list[Part] = field(default_factory=list)


@dataclass
class Plane:
    """A host or device: its lines, the names of its events, and what is told of it."""

    name: str = ""
    lines: list[Line] = field(default_factory=list)
    events: dict[int, str] = field(default_factory=dict)
    stats: dict[int, str] = field(default_factory=dict)
    told: list[Part] = field(default_factory=list)

    def values(self, stats: list[Part]) -> dict[str, int | str]:
        """Whole numbers and texts of statistics, by name."""
        found: dict[str, int | str] = {}
        for stat in stats:
            name = ""
            value: int | str | None = None
            for number, held in stat.fields():
                if number == 1 and isinstance(held, int):
                    name = self.stats.get(held, "")
                elif number in (3, 4) and isinstance(held, int):
                    value = held
                elif number == 5 and isinstance(held, Part):
                    value = held.text
                elif number == 7 and isinstance(held, int):
                    value = self.stats.get(held, "")
            if name and value is not None:
                found[name] = value
        return found


def space_of(data: bytes) -> tuple[list[Plane], list[str]]:
    """The planes of a file, and the hosts that it names.

    Raises:
        DamagedError: it is no XSpace.
        TooLongError: it has too many events or names.
    """
    planes, hosts, left = [], [], MOST_EVENTS
    for number, held in Part(memoryview(data), 0).fields():
        if isinstance(held, Part) and number in (1, 4):
            if number == 1:
                plane, left = _plane(held, left)
                planes.append(plane)
            else:
                hosts.append(held.text)
                left -= 1
        if left < 0:
            raise TooLongError(f"It has more than {MOST_EVENTS:,} events and names")
    return planes, hosts


def _plane(part: Part, left: int) -> tuple[Plane, int]:
    """A plane, and how many events and names there may be behind it; less than 0: too many."""
    plane = Plane()
    for number, held in part.fields():
        if left < 0:
            break
        if not isinstance(held, Part):
            continue
        left -= 1
        if number == 2:
            plane.name = held.text
        elif number == 3:
            line = _line(held, left)
            left -= len(line.events)
            plane.lines.append(line)
        elif number in (4, 5):
            place, name = _named(held)
            (plane.events if number == 4 else plane.stats)[place] = name
        elif number == 6:
            plane.told.append(held)
    return plane, left


def _named(entry: Part) -> tuple[int, str]:
    """Key and name of an entry of a map of metadata."""
    place, name = 0, ""
    for number, held in entry.fields():
        if number == 1 and isinstance(held, int):
            place = held
        elif number == 2 and isinstance(held, Part):
            fields = (field for field in held.fields() if field[0] in (2, 4))
            names = {key: one.text for key, one in fields if isinstance(one, Part)}
            name = names.get(4) or names.get(2, "")
    return place, name


def _line(part: Part, most: int) -> Line:
    """A line with its events, at most one more than there may be."""
    line, shown = Line(), ""
    for number, held in part.fields():
        if isinstance(held, int):
            if number == 1:
                line.number = held
            elif number == 3:
                line.timestamp_ns = held
        elif number == 2:
            line.name = held.text
        elif number == 11:
            shown = held.text
        elif number == 4:
            line.events.append(held)
            if len(line.events) > most:
                break
    line.name = shown or line.name
    return line


def event_of(part: Part) -> Event:
    """One event.

    Raises:
        DamagedError: it is none.
    """
    event = Event()
    for number, held in part.fields():
        if isinstance(held, Part):
            if number == 4 and len(event.stats) < MOST_STATISTICS:
                event.stats.append(held)
        elif number == 1:
            event.metadata = held
        elif number == 2:
            event.offset_ps = held
        elif number == 3:
            event.duration_ps = held
    return event
