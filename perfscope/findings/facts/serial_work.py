"""Work that one rank does alone now and then, while the others wait for it."""

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from statistics import median

import numpy as np

from perfscope.arrays import Ints
from perfscope.attribution.activities import ACTIVITIES, stack_activities
from perfscope.attribution.not_training import IS_TRAINING
from perfscope.attribution.stack_rules import EVALUATION_LIKE
from perfscope.findings.core import thresholds, wording
from perfscope.findings.facts.only_here import is_only_here, shared_frames
from perfscope.judging import ALONE, MAIN
from perfscope.metrics.communication.operations import LateArrival
from perfscope.metrics.efficiency.phases import PhaseResult
from perfscope.metrics.results import Results
from perfscope.replay.model import Edit, Level
from perfscope.schema.enums import Account, Activity, PhaseKind
from perfscope.schema.time import FunctionShare
from perfscope.structures import dataclass
from perfscope.trace.model import Frame, Function, Rank


def usual_activity(results: Results, number: int, function: Function) -> Activity | None:
    """The activity of most of a rank's time in a function, outside phases; None where none is.

    What the function calls counts, as far as it is not the user's.
    """
    labels, trace = results.labels, results.trace
    if labels is None:
        return None
    position = next(place for place, rank in enumerate(trace.ranks) if rank.number == number)
    timeline = results.timelines[position]
    is_one = np.array([frame.key == function for frame in trace.frames], np.bool_)
    here = timeline.inside(results.focus) & IS_TRAINING[timeline.accounts] & (timeline.stacks >= 0)
    here[here] = is_one[labels.user_frame[timeline.stacks[here]]]
    told = stack_activities(trace)[timeline.stacks[here]]
    spent = np.bincount(told, timeline.lengths[here], len(ACTIVITIES))
    most = int(spent.argmax())
    return ACTIVITIES[most] if spent[most] > MAIN * spent.sum() else None


SERIAL_FUNCTION_LEAST_S = 0.3  # three samples: in a function that names no phase, fewer are chance
LABELED = {
    PhaseKind.EVALUATE: ("evaluates alone", Account.EVALUATION),
    PhaseKind.PREDICT: ("predicts alone", Account.EVALUATION),
    PhaseKind.CHECKPOINT: ("saves a checkpoint alone", Account.CHECKPOINT),
    PhaseKind.IO: ("reads or writes files alone", Account.IO),
}
WORKS = "works alone"
DOES = {
    Activity.DATA_PREPARATION: "prepares data alone",
    Activity.FILES: "reads or writes files alone",
    Activity.NETWORK: "waits for a remote service",
    Activity.LOCK: "waits for a thread",
    Activity.SLEEP: "sleeps",
    Activity.SUBPROCESS: "waits for another process",
    Activity.WORKERS: "waits for its worker processes",
    Activity.GARBAGE_COLLECTION: "collects garbage alone",
    Activity.SERIALIZATION: "serializes objects alone",
    Activity.COMPILING: "compiles code alone",
    Activity.LOGGING: "writes output alone",
}
"""What an activity is called that a rank is mostly seen in."""

RESTS = (
    Activity.FILES,
    Activity.NETWORK,
    Activity.LOCK,
    Activity.SLEEP,
    Activity.SUBPROCESS,
    Activity.WORKERS,
)
"""In which a rank waits for something else, be it for the disk."""

PROGRESS = "user:progress"
LIKE = ("runs what looks like an evaluation alone", Account.EVALUATION)
OUTPUT = ("computes its progress output alone", Account.USER_PHASES)


@dataclass(frozen=True)
class SerialWork:
    """What one rank does alone.

    `seconds` is its own work there, `stall_s` what the job lost to it by the waiting of the others
    (an upper bound of the gain), `each_s` and `every_steps` how long and how often, where known.
    `source` is the id of the phase, or the function and its file.
    """

    rank: int
    verb: str
    label: str
    seconds: float
    waiting_s: float
    stall_s: float
    count: int | None
    each_s: float | None
    every_steps: int | None
    where: tuple[Frame, ...]
    window_s: tuple[float, float] | None
    account: Account
    edit: Edit
    source: str | Function
    activity: Activity | None = None  # what a function that names no phase mostly does
    longest_s: float | None = None  # of the times, where one alone is most of all of them

    @property
    def rests(self) -> bool:
        """Whether the rank does nothing there itself: it waits, and there is no work to share."""
        return self.activity in RESTS

    @property
    def narrow_edit(self) -> Edit:
        """The change, of unlabeled work only where samples saw its function."""
        if isinstance(self.source, str):
            return self.edit
        return replace(self.edit, function=self.source)


def find_serial_work(results: Results) -> tuple[SerialWork, ...]:
    """All such work in the focus of analysis, most seconds first."""
    if len(results.trace.ranks) < 2:
        return ()
    least_s = thresholds.SERIAL_LEAST_SHARE * results.focus.length_ns * 1e-9
    labeled = (_from_phase(results, phase) for phase in results.phases if _named(phase))
    unlabeled = (_from_function(results, share) for share in results.ledger.functions)
    found = [work for work in (*labeled, *unlabeled) if work and work.seconds >= least_s]
    return tuple(sorted(found, key=lambda work: -work.seconds))


def edits_of(alone: Sequence[SerialWork]) -> tuple[Edit, ...]:
    """The changes that take such work away."""
    return tuple(dict.fromkeys(work.edit for work in alone))


def _named(phase: PhaseResult) -> tuple[str, Account] | None:
    """What a rank does in a phase that is not for all to do, and the account of its time."""
    own = {PROGRESS: OUTPUT, EVALUATION_LIKE: LIKE}
    return own.get(phase.id) or LABELED.get(phase.kind)


def own_seconds(phase: PhaseResult) -> list[float]:
    """Seconds of work in a phase, communication excluded, in the order of its ranks."""
    return [
        total - communication
        for total, communication in zip(
            phase.seconds_by_rank, phase.communication_s_by_rank, strict=True
        )
    ]


def _alone(values: list[float]) -> int | None:
    """Position of the rank that does nearly all of it."""
    total = sum(values)
    if total <= 0 or max(values) < ALONE * total:
        return None
    return values.index(max(values))


def _from_phase(results: Results, phase: PhaseResult) -> SerialWork | None:
    work, named = own_seconds(phase), _named(phase)
    position = _alone(work)
    if position is None or named is None:
        return None
    rank = phase.ranks[position]
    verb, account = named
    late = [a for a in results.communication.late_arrivals if (a.rank, a.phase) == (rank, phase.id)]
    windows = [(start, end) for number, start, end in phase.windows_s if number == rank]
    count = phase.count if phase.entering_ranks == (rank,) else (len(windows) or None)
    spent_s = [end - start for start, end in windows]
    each_s = median(spent_s) if windows else None
    if count and count < len(windows):  # told call by call
        each_s = work[position] / count
    frames = phase.where or tuple(a.frame for a in late if a.frame is not None)
    return SerialWork(
        rank=rank,
        verb=verb,
        label=phase.label,
        seconds=work[position],
        waiting_s=sum(a.waiting_s for a in late),
        stall_s=sum(a.stall_s for a in late),
        count=count,
        each_s=each_s,
        every_steps=_every(results, count),
        where=frames,
        window_s=(windows[0][0], windows[-1][1]) if windows else None,
        account=account,
        edit=Edit(phase=phase.id, ranks=(rank,))
        if account is Account.USER_PHASES
        else Edit(account=account, ranks=(rank,)),
        source=phase.id,
        longest_s=_main_one(spent_s) if count == len(windows) else None,
    )


def _main_one(spent_s: Sequence[float]) -> float | None:
    """The longest of several times, where it is most of them: what is usual says little then."""
    most = max(spent_s, default=0.0)
    return most if len(spent_s) > 2 and most > MAIN * sum(spent_s) else None


def _from_function(results: Results, share: FunctionShare) -> SerialWork | None:
    if share.account is not Account.COMPUTATION or _is_mostly_elsewhere(results, share):
        return None
    position = _alone(list(share.seconds_by_rank))
    if position is None or share.seconds_by_rank[position] < SERIAL_FUNCTION_LEAST_S:
        return None
    rank = results.ledger.ranks[position]
    shared = shared_frames(results, rank)
    if not is_only_here(results, rank, share.key, shared):
        return None
    seen = _seen_in(results, results.trace.ranks[position], share, shared)
    late = _occasional(results, position, share, shared, seen)
    if not late:
        return None
    activity = usual_activity(results, rank, share.key)
    count = sum(arrival.instances for arrival in late) if _is_counted(seen) else None
    named = (frame for arrival in late for frame in (arrival.caller, arrival.frame))
    own = Frame(share.function, share.file, share.line)
    frames = dict.fromkeys((own, *(frame for frame in named if frame is not None)))
    return SerialWork(
        rank=rank,
        verb=DOES.get(activity, WORKS) if activity else WORKS,
        label=wording.called(own),
        seconds=share.seconds_by_rank[position],
        waiting_s=sum(a.waiting_s for a in late),
        stall_s=sum(a.stall_s for a in late),
        count=count,
        each_s=share.seconds_by_rank[position] / count if count else None,
        every_steps=_every(results, count),
        where=tuple(frames),
        window_s=(min(a.first_s for a in late), max(a.last_s for a in late)),
        account=Account.COMPUTATION,
        # the rank's ordinary work stays: only what it does beyond the others is taken away
        edit=Edit(account=Account.COMPUTATION, ranks=(rank,), level=Level.AS_OTHERS),
        source=share.key,
        activity=activity,
    )


def _occasional(
    results: Results,
    position: int,
    share: FunctionShare,
    shared: AbstractSet[Frame],
    seen: Ints,
) -> list[LateArrival]:
    """Where a rank came late now and then by what it does alone in a function, set-up aside.

    `seen` is the step of each sample of that.
    """
    seen_in_steps = _steps_with(results, seen)
    return [
        arrival
        for arrival in results.communication.late_arrivals
        if arrival.rank == results.ledger.ranks[position] and _is_in(arrival, share, shared)
        if _is_occasional(results, max(arrival.instances, seen_in_steps))
        if not _is_set_up(results, arrival)
    ]


def _is_mostly_elsewhere(results: Results, share: FunctionShare) -> bool:
    """Whether the function works more inside phases than outside: then it is part of those."""
    elsewhere = sum(
        other.seconds
        for other in results.ledger.functions
        if other.key == share.key and other is not share
    )
    return elsewhere > share.seconds


def _is_in(arrival: LateArrival, share: FunctionShare, shared: AbstractSet[Frame]) -> bool:
    """Whether the late rank was in the function, outside any phase of its own.

    In what it calls only where no other rank makes that call: what all call may be late, too.
    """
    frames = [arrival.frame] if arrival.frame else []
    if arrival.caller and arrival.caller not in shared:
        frames.append(arrival.caller)
    return arrival.phase == "" and any(frame.key == share.key for frame in frames)


def _is_occasional(results: Results, times: int) -> bool:
    """Whether it happens now and then; what is done at nearly every step is an imbalance."""
    steps = results.steps.count or results.communication.matched_calls
    return times < MAIN * steps


def _steps_with(results: Results, seen: Ints) -> int:
    """In how many steps a rank was seen in a function, at lines that it alone runs.

    It may be late in fewer, or seen in fewer.

    Of a rank that comes last now and then, samples tell what it does in all of its steps.
    """
    starts = len(results.steps.starts_ns)
    return len(np.unique(seen)) * results.steps.count // max(starts, 1)


def _is_counted(seen: Ints) -> bool:
    """Whether samples see each time that a function runs.

    What is over before the next sample may run in many steps in which no sample meets it: where a
    second one hardly ever does, nothing tells how often it runs.
    """
    return not len(seen) or len(np.unique(seen)) <= MAIN * len(seen)


def _seen_in(
    results: Results, rank: Rank, share: FunctionShare, shared: AbstractSet[Frame]
) -> Ints:
    """The step of each sample of a function at lines that one rank alone runs."""
    labels, starts = results.labels, np.asarray(results.steps.starts_ns)
    rows = rank.main_stacks
    if labels is None or not len(starts) or not len(rows):
        return np.empty(0, np.int64)
    named = [one.key == share.key and one not in shared for one in results.trace.frames]
    frame = labels.user_frame[rows["stack"].astype(np.int64)]
    seen = np.array([*named, False])[frame] & (rows["t"] >= starts[0])
    steps: Ints = np.searchsorted(starts, rows["t"][seen], side="right")
    return steps


def _is_set_up(results: Results, arrival: LateArrival) -> bool:
    """Whether the others waited before the training began: that happens once, and is judged so."""
    start_up = results.start_up
    if start_up.reason or arrival.rank not in start_up.ranks:
        return False
    until_ns = start_up.until_ns[start_up.ranks.index(arrival.rank)]
    return round(arrival.last_s * 1e9) <= until_ns > results.focus.start_ns


def _every(results: Results, count: int | None) -> int | None:
    """Steps between two occurrences, rounded; None when unknown."""
    if not count or results.steps.count < count:
        return None
    return round(results.steps.count / count)
