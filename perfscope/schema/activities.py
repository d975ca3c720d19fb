"""What ranks were doing outside communication, as their stacks tell."""

from perfscope.schema.enums import Activity
from perfscope.structures import dataclass


@dataclass(frozen=True)
class ActivityTotal:
    """One activity: seconds of all ranks, and those of them in training steps.

    Attributes:
        in_steps_s: in training work where no step is known.
    """

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
    """One activity at one line of the program, of all ranks together; `function` "" unknown.

    Attributes:
        phase: null outside of any.
        function, file, line: the user's innermost function.
        calls: the function of a library or of C seen there most, null none.
        most: at most 8 ranks.
    """

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

    Attributes:
        collections: of the whole life, null not known.
        shorter_s: below 1 ms each, or more than 200 a second.
    """

    rank: int
    collections: int | None
    long_s: float | None
    shorter_s: float | None


@dataclass(frozen=True)
class Activities:
    """What ranks were doing outside communication, or why it is not known.

    Attributes:
        reason: why nothing is known, else null.
        totals: most first.
        places: at most 100, most seconds first, none below 0.1 %.
        places_left_out, left_out_s: the others, and their time.
        untold_s: time of which no sample speaks.
        garbage: of ranks that were listened to.
    """

    reason: str | None
    totals: tuple[ActivityTotal, ...]
    places: tuple[ActivityPlace, ...]
    places_left_out: int
    left_out_s: float
    untold_s: float
    garbage: tuple[GarbageOfRank, ...]
