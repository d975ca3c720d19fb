"""Time in which a main thread waited for the interpreter's lock, which another thread kept."""

from __future__ import annotations

import numpy as np

from perfscope.arrays import Bools, Floats, counter_growth
from perfscope.attribution.activities import ACTIVITIES, stack_activities
from perfscope.attribution.focus import Focus
from perfscope.attribution.ledger import IS_COMMUNICATION
from perfscope.attribution.own_places import usual_place
from perfscope.attribution.own_threads import cpu_wanted
from perfscope.attribution.preparation import CALL, Prepared
from perfscope.attribution.sending import sends
from perfscope.attribution.stack_rules import NATIVE_FILES, SYSTEM_CALL, ends_in
from perfscope.attribution.timeline import Timeline
from perfscope.judging import CPU_WINDOW_NS, FEWEST_SAMPLES, MAIN
from perfscope.schema.enums import Activity
from perfscope.structures import dataclass
from perfscope.trace.model import Frame, Rank, Table, ThreadInfo, Trace

POLLING_LEAST = 0.05
"""Of the time: a rank that communicates less does not tell how it waits."""

RESTING = frozenset(
    {
        *(Activity.LOCK, Activity.SLEEP, Activity.FILES, Activity.NETWORK),
        *(Activity.SUBPROCESS, Activity.WORKERS, Activity.DEVICE_WAIT),
    }
)
"""What a thread does without a CPU and without the interpreter's lock."""


@dataclass(frozen=True)
class LockWait:
    """How long a rank's main thread waited for the interpreter's lock, and for which thread."""

    rank: int
    waited_s: float  # between calls, in the focus of analysis
    work_s: float  # all its time between calls
    cpu_s: float  # CPU time of the other threads that ran Python code, over their lives
    wanted_s: float  # the same with their waiting for CPUs
    thread: str  # name of the one that was seen most; "" unknown
    frame: Frame | None  # the user's function in which it was seen most, at the line seen most
    # between calls, waiting for a CPU that a thread of the job used, as far as these may have
    queued_s: float = 0.0
    polls: bool = False  # whether the thread looks again and again for what it waits for
    rests: float = 0.0  # share of the samples of such threads in which they wait and do not run

    @property
    def lost_s(self) -> float:
        """What the main thread lost to other threads: waiting for the lock, and for CPUs."""
        return self.waited_s + self.queued_s


def lock_waits(prepared: Prepared) -> tuple[LockWait, ...]:
    """Of the ranks in which another thread was seen to run Python code."""
    trace = prepared.trace
    if not any(len(rank.stacks) and len(rank.main_samples) for rank in trace.ranks):
        return ()
    shown = _Shown.of(trace)
    sampled = [
        (rank, _Windows.of(rank, timeline, prepared.focus))
        for rank, timeline in zip(trace.ranks, prepared.timelines, strict=False)
        if len(rank.main_samples) > 1 and len(rank.process_samples) > 1
    ]
    polling = max((windows.polling for _, windows in sampled), default=0.0)
    found = (_of_rank(trace, rank, windows, shown, min(polling, 1.0)) for rank, windows in sampled)
    return tuple(one for one in found if one is not None)


@dataclass(frozen=True)
class _Shown:
    """What each stack of the trace shows of its thread."""

    resting: Bools
    in_kernel: Bools  # in a system call
    awaiting: Bools
    """At rest, or until threads without Python code have computed: that takes no lock either."""
    communicating: Bools
    """In a call of a communication library, which gives the lock back, and may poll meanwhile.

    mpi4py's calls of objects as well: of a thread that waits in one no timeline tells the waiting
    from making an object of bytes. Or sending to worker processes, which has a finding of its own.
    """

    @classmethod
    def of(cls, trace: Trace) -> _Shown:
        in_kernel, activities = ends_in(trace, {SYSTEM_CALL}), stack_activities(trace)
        resting = np.isin(activities, [ACTIVITIES.index(one) for one in RESTING])
        computed = in_kernel & (activities == ACTIVITIES.index(Activity.NUMERIC))
        of_library = activities == ACTIVITIES.index(Activity.COMMUNICATION)
        of_library |= _in_calls(trace)
        communicating = (of_library & ends_in(trace, NATIVE_FILES)) | sends(trace)
        return cls(resting, in_kernel, resting | computed, communicating)


def _in_calls(trace: Trace) -> Bools:
    """By stack, whether it ends in a call of mpi4py's."""
    inner = (trace.frames[stack[-1]].function if stack else "" for stack in trace.stacks)
    return np.array([one.startswith(f"{CALL.function}.") for one in inner], np.bool_)


@dataclass(frozen=True)
class _Windows:
    """What a rank and its main thread did in each window of time, in nanoseconds."""

    edges: Floats
    communication: Floats
    work: Floats
    wanted: Floats  # in which the main thread ran or waited for a CPU
    others_wanted: Floats
    """The same of all other threads: one keeps the lock also while it waits for a CPU itself."""

    @classmethod
    def of(cls, rank: Rank, timeline: Timeline, focus: Focus) -> _Windows:
        count = max(1, round(focus.length_ns / CPU_WINDOW_NS))
        edges = np.linspace(focus.start_ns, focus.end_ns, count + 1)
        calls = timeline.inside(focus) & IS_COMMUNICATION[timeline.accounts]
        main, process = rank.main_samples, rank.process_samples
        wanted, by_all = cpu_wanted(edges, main), cpu_wanted(edges, process)
        return cls(
            edges,
            counter_growth(edges, timeline.boundaries, timeline.before(calls)),
            counter_growth(edges, timeline.boundaries, timeline.before(timeline.work(focus))),
            wanted,
            by_all - wanted,
        )

    @property
    def polling(self) -> float:
        """The part of communication in which the main thread surely ran: MPI polls, or sleeps.

        Of what it ran no more than all work was outside communication. Where a rank hardly
        communicates nothing is sure.
        """
        whole = float(self.communication.sum())
        least = POLLING_LEAST * float(self.communication.sum() + self.work.sum())
        surplus = float(self.wanted.sum() - self.work.sum())
        return max(0.0, surplus / whole) if whole > least else 0.0

    def waited(self, polling: float, asked: Floats, busy: Bools) -> float:
        """Waiting for the lock: what the main thread neither wanted to run nor asked to wait.

        Args:
            polling: the part of communication in which main threads run.
            asked: the share of its work in which the main thread waited for something else.
            busy: windows in which another thread was seen to run Python code.
        """
        asleep = (1.0 - polling) * self.communication + asked * self.work
        waited = np.minimum(np.diff(self.edges) - self.wanted - asleep, self.others_wanted)
        return float(np.clip(waited, 0.0, self.work)[busy].sum())


def _of_rank(
    trace: Trace, rank: Rank, windows: _Windows, shown: _Shown, polling: float
) -> LockWait | None:
    edges, resting = windows.edges, shown.resting
    rows = rank.stacks[(rank.stacks["t"] >= edges[0]) & (rank.stacks["t"] < edges[-1])]
    is_main = rows["tid"] == rank.main_tid
    own, others = rows[is_main], rows[~(is_main | shown.communicating[rows["stack"]])]
    runs = np.isin(others["tid"], _running(rank, edges)) & ~shown.in_kernel[others["stack"]]
    at_rest = resting[others["stack"]] & ~runs
    working = np.isin(others["tid"], others["tid"][~at_rest])
    others = others[~at_rest]
    if not len(others):
        return None
    seen = np.maximum(np.histogram(own["t"], edges)[0], 1)
    asked = np.histogram(own["t"][shown.awaiting[own["stack"]]], edges)[0] / seen
    busy = np.histogram(others["t"], edges)[0] > 0
    # looked at is a thread most often while it lets go of the lock: a few samples of it at work
    # say that the CPU time of the process is that of Python code, in other windows as well
    busy |= len(others) >= FEWEST_SAMPLES
    waited = windows.waited(polling, asked, busy)
    threads = _threads(rank, others)
    cpu_s = sum(thread.cpu_ns for thread in threads) / 1e9
    wanted_s = cpu_s + sum(thread.queue_delay_ns for thread in threads) / 1e9
    is_resting = resting[others["stack"]]
    polls = float(is_resting.mean()) > MAIN
    if not polls and _gives_back(rank, cpu_s * 1e9 / float(edges[-1] - edges[0])):
        waited = 0.0
    telling = others[is_resting == polls]
    told = (telling if len(telling) else others)["stack"].tolist()
    stacks = [trace.stacks[place] for place in told]
    return LockWait(
        rank=rank.number,
        # one that rests again and again takes the lock when it has a CPU, and not before
        waited_s=min(waited / 1e9, cpu_s if polls else wanted_s),
        work_s=float(windows.work.sum()) / 1e9,
        cpu_s=cpu_s,
        wanted_s=wanted_s,
        thread=thread_name(rank, int(np.bincount(others["tid"]).argmax())),
        frame=usual_place(stacks, trace.frames),
        polls=polls,
        rests=float(at_rest[working].mean()),
    )


def _gives_back(rank: Rank, ran: float) -> bool:
    """Whether other threads surely hold no lock for most of the time in which they run.

    Many functions in C give it back while they compute, at a line of Python like any other. So the
    agent tells how often it found the lock taken by anyone, at moments that know nothing of these.

    Args:
        rank: of these threads.
        ran: their CPU time, in parts of the time that is looked at.
    """
    looks = rank.metadata.get("lock_looks")
    if not isinstance(looks, dict):
        return False
    asked, taken = looks.get("asked"), looks.get("taken")
    if not isinstance(asked, int) or not isinstance(taken, int):
        return False
    # of several threads at once one alone may hold it
    return asked >= FEWEST_SAMPLES and taken < MAIN * min(ran, 1.0) * asked


def _running(rank: Rank, edges: Floats) -> list[int]:
    """Threads that want a CPU for much of the time.

    One that gives the lock back in each of its short turns is looked at in that moment alone: it
    seems to rest, and does not, where it is in no system call. While it waits for the lock itself
    it wants no CPU: of two that take turns, each does so for half of the time or less.
    """
    least_ns = MAIN / 2 * float(edges[-1] - edges[0])
    return [one.tid for one in rank.threads if one.cpu_ns + one.queue_delay_ns > least_ns]


def _threads(rank: Rank, rows: Table) -> list[ThreadInfo]:
    known = set(np.unique(rows["tid"]).tolist())
    return [thread for thread in rank.threads if thread.tid in known]


def thread_name(rank: Rank, thread: int) -> str:
    """What `threading` calls a thread of a rank; "" unknown."""
    names = rank.metadata.get("python_threads")
    name = names.get(str(thread)) if isinstance(names, dict) else None
    return name[:60] if isinstance(name, str) else ""
