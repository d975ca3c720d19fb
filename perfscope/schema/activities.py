"""What ranks were doing outside communication, as their stacks tell."""

from perfscope.schema.enums import Activity
from perfscope.structures import dataclass


@dataclass(frozen=True)
class ActivityTotal:
    """One activity: seconds of all ranks, and those of them in training steps."""

    activity: Activity
    label: str
    seconds: float
    in_steps_s: float  # in training work where no step is known


@dataclass(frozen=True)
class SecondsOfRank:
    """Seconds of one rank."""

    rank: int
    seconds: float


@dataclass(frozen=True)
class ActivityPlace:
    """One activity at one line of the program, of all ranks together; `function` "" unknown."""

    activity: Activity
    phase: str | None  # null outside of any
    function: str  # the user's innermost function
    file: str  # the user's innermost function
    line: int  # the user's innermost function
    calls: str | None  # the function of a library or of C seen there most, null none
    is_in_step: bool
    seconds: float
    most: tuple[SecondsOfRank, ...]  # at most 8 ranks


@dataclass(frozen=True)
class GarbageOfRank:
    """What Python's garbage collector took on one rank in the focus of analysis.

    Seconds are null where only a part of the collections was listened to.
    """

    rank: int
    collections: int | None  # of the whole life, null not known
    long_s: float | None
    shorter_s: float | None  # below 1 ms each, or more than 200 a second


@dataclass(frozen=True)
class Activities:
    """What ranks were doing outside communication, or why it is not known."""

    reason: str | None  # why nothing is known, else null
    totals: tuple[ActivityTotal, ...]  # most first
    places: tuple[ActivityPlace, ...]  # at most 100, most seconds first, none below 0.1 %
    places_left_out: int  # the others
    left_out_s: float  # of the others
    untold_s: float  # time of which no sample speaks
    garbage: tuple[GarbageOfRank, ...]  # of ranks that were listened to
