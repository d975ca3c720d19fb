"""What ranks do at one moment, and what they wait for together."""

from perfscope.structures import dataclass

COMPUTING, ASLEEP = "computing", "asleep"


@dataclass(frozen=True)
class RankNow:
    """One rank at the moment of the picture."""

    number: int  # of the rank
    host: str  # where it runs
    pid: int  # its process
    doing: str  # the call it is in, else `COMPUTING` or `ASLEEP`; how it ended, where it did
    since_s: float  # how long it has been in that call, or since its last call, step or phase
    place: str  # the user's innermost function with file and line, "" unknown
    stack: tuple[str, ...]  # the whole Python stack as last sampled, outermost first
    sampled_s: float | None  # how long ago that was, None without a sample
    step: int | None  # the last step that it finished, None without one
    memory_bytes: int | None  # resident, None where it is not sampled
    silent_s: float  # since its last sign of life
    has_ended: bool = False  # whether it is over
    lacks_detail: bool = False  # single calls are no longer recorded, so that it may be in one
    phase: str = ""  # the innermost phase that it is in, "" without a name
    awaits: tuple[int, ...] = ()  # the ranks whose messages, or receipt of its own, it waits for


@dataclass(frozen=True)
class Pending:
    """What ends only when all its members have called it, and some ranks are in."""

    operation: str  # its name
    communicator: str  # what it is on
    # the how many-th collective on that communicator it is, from 0; None of MPI's start and end
    ordinal: int | None
    inside: tuple[int, ...]  # ranks that wait in it
    missing: tuple[int, ...]  # members that have not come to it
    since_s: float  # how long the first of them has waited
    # operations with the ranks that called them, where these are different ones: that never ends
    mismatch: tuple[tuple[str, tuple[int, ...]], ...] = ()

    @property
    def name(self) -> str:
        """The operation with its ordinal."""
        return self.operation if self.ordinal is None else f"{self.operation} #{self.ordinal}"
