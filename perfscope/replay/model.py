"""What a replay answers."""

from enum import Enum

from perfscope.schema.common import DelayCause
from perfscope.schema.enums import Account, Activity
from perfscope.schema.replay import CriticalPath, ReplayedSteps, WaitPair
from perfscope.structures import dataclass
from perfscope.trace.model import Function


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
    and leaves out the others, of a phase with the calls in it; `background` moves it to a location
    of its own, where it begins as before. `phase` narrows the work to that of a phase, `function`
    to what stack samples saw in a function of the user's (name and file), `activity` to training
    work in which they saw something else, `until_ns` to what begins before a moment of each rank,
    in their order, `waits_for_cpu` to the waiting for a CPU in it; `network` divides transfer
    times, of one `operation` or all. `is_cpu_time` says that what is left out was measured as CPU
    time, which is a larger share of work that waits for no CPU.

    Of communication: `bytes` scales what collectives move, those of one `operation` or all;
    `fuse_bytes` makes one of allreduces in quick succession that carry no more than that together;
    `overlap` hides that share of each allreduce behind the backward pass before it. `producers`
    make the batches of each rank instead of as many as did; `keeps_workers` has those of loaders
    stay from epoch to epoch, with first batches that take `factor` usual steps longer than others.
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
    keeps_workers: bool = False
    until_ns: tuple[int, ...] | None = None
    function: Function | None = None
    activity: Activity | None = None
    waits_for_cpu: bool = False
    is_cpu_time: bool = False


class RefusedEditError(Exception):
    """This run does not hold what an edit needs; the message says what, as a clause."""


@dataclass(frozen=True)
class Early:
    """What edits save in the first steps of a run, from which the later ones differ most."""

    steps: int  # how many first ones; what is before them counts with the first one
    of: int  # steps of the run
    gain_s: float  # saved in the first ones
    rest_s: float  # saved in all others
    rest_length_s: float  # how long these were


@dataclass(frozen=True)
class Prediction:
    """Seconds that edits save over the focus of analysis, with a 95 % interval.

    `interval_s` is None where the run is too short for one.

    `reach` is the share of the time of the edited run that lies in segments which became shorter:
    near 1 the edits matter in every step, near 0 only now and then.

    `once_s` are those of the seconds that lie before the first and behind the last step by which a
    thinned run is known: they come once, and all else as often as kept steps stand for others.

    `early` is None where steps are not known, or save no more at the beginning than later.
    """

    gain_s: float
    interval_s: tuple[float, float] | None
    gain_share: float
    reach: float
    assumptions: tuple[str, ...]
    once_s: float = 0.0
    early: Early | None = None


@dataclass(frozen=True)
class Persistence:
    """How far being late lasts from step to step: an autocorrelation and its standard error.

    Near 0 where each step deals out work anew, near 1 where a CPU is slow for many steps. The error
    is that of steps that know nothing of each other.
    """

    value: float
    error: float


@dataclass(frozen=True)
class Causes:
    """Who made whom wait, by what, and what the length of the run is made of."""

    path: CriticalPath  # all of its parts
    waiting_s: float  # of all ranks; delays and what is unattributed add up to it
    unattributed_s: float
    delays: tuple[DelayCause, ...]  # most first
    pairs: tuple[WaitPair, ...]  # most first, without those that are left out
    block: tuple[tuple[float, ...], ...]  # waiting by blocks of ranks: waiters down, causes across
    ranks_per_block: int
    steps: tuple[ReplayedSteps, ...] = ()  # in order; empty where no steps are told apart
    pairs_left_out: int = 0  # of which each waited less
    left_out_s: float = 0.0  # what those waited
