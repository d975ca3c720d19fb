"""Metrics of an OTF2 archive: what their values are, by the mode that each has."""

from collections.abc import Iterable

from perfscope.structures import dataclass
from perfscope.trace.counters import CounterKind

ACCUMULATED, ABSOLUTE, RELATIVE = range(3)
"""The lower half of a mode (OTF2_MetricValueProperty)."""


@dataclass(frozen=True)
class Member:
    """A metric as the archive defines it."""

    id: int
    name: str
    unit: str
    mode: int

    @property
    def kind(self) -> CounterKind:
        """What its values in the trace are; the engine has added up relative ones."""
        grows = self.mode & 0xF in {ACCUMULATED, RELATIVE}
        return CounterKind.GROWING if grows else CounterKind.VALUE


def counter_kinds(members: Iterable[Member]) -> dict[str, CounterKind]:
    """The kind by name; where metrics of one name differ, their values are only values."""
    found: dict[str, CounterKind] = {}
    for member in members:
        if found.setdefault(member.name, member.kind) is not member.kind:
            found[member.name] = CounterKind.VALUE
    return found
