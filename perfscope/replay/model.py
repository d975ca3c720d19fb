"""What a replay answers."""

from enum import Enum

from perfscope.schema.enums import Account, Activity
from perfscope.schema.replay import PathOfOperation, PathOfPhase, WaitPair
from perfscope.structures import dataclass
from perfscope.trace.model import Frame


class Level(Enum):
    """How work is leveled between ranks.

    The work of one segment, between two collectives of all ranks, is compared in `SHARED` and
    `MEDIAN`; the others compare ranks over all segments of a kind, so that the spread of the step
    times stays.
    """

    SHARED = "shared"  # each rank does an equal part of each segment's work: none is lost
    EVEN = "even"  # each rank works as long as the ranks do on average: none is lost
    AS_OTHERS = "as_others"  # the chosen ranks work as long as the usual one of the others
    USUAL = "usual"  # work far beyond the ordinary spread takes as long as that of the others
    MEDIAN = "median"  # nobody works longer in a segment than the usual rank (the lower median)


@dataclass(frozen=True)
class Edit:
    """A change to the run: scale the work of one kind on some ranks.

    `account` None means all work outside communication; `ranks` None means all ranks. `factor` 0
    removes it. The others replace `factor`: `level` levels the work between ranks, of which waiting
    for input or a device is no part; `keep_every` k keeps every k-th time that each rank does it
    and leaves out the others; `background` moves it to a location of its own, where it begins as
    before. `phase` narrows the work to that of a phase, `function` to what stack samples saw in a
    function of the user's (name and file), `activity` to training work in which they saw
    something else, `until_ns` to what begins before a moment of each rank,
    in their order; `network` divides all transfer times.

    Of communication: `bytes` scales what collectives move, those of one `operation` or all;
    `fuse_bytes` makes one of allreduces in quick succession that carry no more than that together;
    `overlap` hides that share of each allreduce behind the backward pass before it. `producers`
    make the batches of each rank instead of as many as did.
    """

    account: Account | None = None
    ranks: tuple[int, ...] | None = None
    factor: float = 0.0
    level: Level | None = None
    keep_every: int | None = None
    background: bool = False
    phase: str | None = None
    network: float = 1.0
    bytes: float = 1.0
    operation: str | None = None
    fuse_bytes: int | None = None
    overlap: float = 0.0
    producers: int | None = None
    until_ns: tuple[int, ...] | None = None
    function: tuple[str, str] | None = None
    activity: Activity | None = None


class RefusedEditError(Exception):
    """This run does not hold what an edit needs; the message says what, as a clause."""


@dataclass(frozen=True)
class Prediction:
    """Seconds that edits save over the focus of analysis, with a 95 % interval.

    `interval_s` is None where the run is too short for one.

    `reach` is the share of the time of the edited run that lies in segments which became shorter:
    near 1 the edits matter in every step, near 0 only now and then.
    """

    gain_s: float
    interval_s: tuple[float, float] | None
    gain_share: float
    reach: float
    assumptions: tuple[str, ...]


@dataclass(frozen=True)
class Persistence:
    """How far being late lasts from step to step: an autocorrelation and its standard error.

    Near 0 where each step deals out work anew, near 1 where a CPU is slow for many steps. The error
    is that of steps that know nothing of each other.
    """

    value: float
    error: float


@dataclass(frozen=True)
class LinePart:
    """Seconds of the critical path in a function of the user's, at the line that was executed."""

    frame: Frame
    seconds: float


@dataclass(frozen=True)
class CriticalPath:
    """The chain of work and transfer that is as long as the run; all compositions are of seconds.

    Work and transfer add up to the length exactly. Parts are sorted, most first; time in no phase
    has the name "", time of which no sample tells the line is in no line.
    """

    length_s: float
    work_s: float
    transfer_s: float
    by_rank: tuple[tuple[int, float, float], ...]  # rank, work and transfer
    by_phase: tuple[PathOfPhase, ...]  # of the work, all of it
    by_operation: tuple[PathOfOperation, ...]  # of the transfer
    by_line: tuple[LinePart, ...]  # of the work


@dataclass(frozen=True)
class Delay:
    """What one kind of work on one rank cost others in waiting (Scalasca's delay cost)."""

    rank: int
    phase: str | None  # "" outside any phase, None: in communication
    direct_s: float  # who waited for this rank itself
    indirect_s: float  # who waited for somebody who had waited for it

    @property
    def seconds(self) -> float:
        """Both together."""
        return self.direct_s + self.indirect_s


@dataclass(frozen=True)
class StepCauses:
    """What some successive steps add to the critical path, and what they cost in waiting."""

    first: int  # number of the first step
    count: int  # of steps
    work_s: float  # on the critical path
    transfer_s: float
    direct_s: float  # delay costs; with what is unattributed, all waiting
    indirect_s: float
    unattributed_s: float
    cause: Delay | None  # what cost most in these steps


@dataclass(frozen=True)
class Causes:
    """Who made whom wait, by what, and what the length of the run is made of."""

    path: CriticalPath
    waiting_s: float  # of all ranks; delays and what is unattributed add up to it
    unattributed_s: float
    delays: tuple[Delay, ...]  # most first
    pairs: tuple[WaitPair, ...]  # most first
    block: tuple[tuple[float, ...], ...]  # waiting by blocks of ranks: waiters down, causes across
    ranks_per_block: int
    steps: tuple[StepCauses, ...] = ()  # in order; empty where no steps are told apart
