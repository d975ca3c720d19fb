"""What ranks were doing outside communication, as their stacks tell."""

from dataclasses import dataclass

from perfscope.schema.enums import Activity


@dataclass(frozen=True)
class ActivityTotal:
    """One activity: seconds of all ranks, and those of them in training steps."""

    activity: Activity
    label: str
    seconds: float
    in_steps_s: float


@dataclass(frozen=True)
class SecondsOfRank:
    """Seconds of one rank."""

    rank: int
    seconds: float


@dataclass(frozen=True)
class ActivityPlace:
    """One activity at one line of the program, of all ranks together; `function` "" unknown."""

    activity: Activity
    phase: str | None
    function: str
    file: str
    line: int
    calls: str | None
    is_in_step: bool
    seconds: float
    most: tuple[SecondsOfRank, ...]


@dataclass(frozen=True)
class GarbageOfRank:
    """What Python's garbage collector took on one rank in the focus of analysis.

    Seconds are null where only a part of the collections was listened to.
    """

    rank: int
    collections: int | None
    long_s: float | None
    shorter_s: float | None


@dataclass(frozen=True)
class Activities:
    """What ranks were doing outside communication, or why it is not known."""

    reason: str | None
    totals: tuple[ActivityTotal, ...]
    places: tuple[ActivityPlace, ...]
    places_left_out: int
    left_out_s: float
    untold_s: float
    garbage: tuple[GarbageOfRank, ...]
