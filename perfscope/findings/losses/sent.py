"""What it takes threads of a pool to send data to worker processes, and what follows from it."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from perfscope.arrays import Bools
from perfscope.attribution.activities import ACTIVITIES, stack_activities
from perfscope.attribution.own_places import usual_place
from perfscope.attribution.sending import sends
from perfscope.findings.core import thresholds
from perfscope.findings.core.finding import Evidence, Finding, Spent
from perfscope.findings.core.gain import saved
from perfscope.findings.core.wording import place, ranks
from perfscope.findings.facts.facts import Facts
from perfscope.findings.losses.groups import lost_to
from perfscope.findings.losses.told import told_only
from perfscope.judging import FEWEST_SAMPLES, MAIN
from perfscope.metrics.host.interpreter_lock import thread_name
from perfscope.schema.enums import Activity, Confidence
from perfscope.structures import dataclass
from perfscope.trace.model import Frame, Rank
from perfscope.units import NS, format_bytes, format_seconds, format_share

SENDING = lost_to(Activity.SERIALIZATION)
FAULTS = "page_faults"

ONCE = (
    "Send what does not change once, as the workers start (`Pool(initializer=..., initargs=...)`), "
    "or put it into shared memory (`multiprocessing.shared_memory`), and hand out with each task "
    "only what differs: arguments that `functools.partial` or a method's object holds are pickled "
    "again for each task or chunk of tasks."
)


@dataclass(frozen=True)
class _Sender:
    """A thread of a rank that mostly sends, and where the main thread waits for what comes back."""

    rank: Rank
    thread: str
    cpu_s: float  # CPU time that it takes to send while the main thread waits
    share: float  # of its samples, those in which it sends
    place: Frame | None


def told_by_sending(run: Facts, findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """The findings, with what is sent to workers; that claims the page faults of the same ranks.

    A thread that pickles takes memory for each message anew, and gives it back.
    """
    found = _judge(run) if all(one.id != SENDING for one in findings) else None
    if found is None:
        return tuple(findings)
    claimed = [
        told_only(one, SENDING, found.title)
        if one.id == FAULTS and one.status.is_fault and set(one.ranks) <= set(found.ranks)
        else one
        for one in findings
    ]
    return (*claimed, found)


def _judge(run: Facts) -> Finding | None:
    senders = _senders(run)
    if not senders:
        return None
    results, worst = run.results, max(senders, key=lambda one: one.cpu_s)
    gain = replace(
        saved(results, min(worst.cpu_s, results.focus.length_ns * NS)),
        spent=Spent(worst.cpu_s),
        counts="does not count that workers read and unpickle the same",
        own_s=sum(one.cpu_s for one in senders) / len(results.trace.ranks),
    )
    status = thresholds.by_gain(gain)
    if not status.is_fault:
        return None
    places = tuple(dict.fromkeys(one.place for one in senders if one.place is not None))
    numbers = tuple(one.rank.number for one in senders)
    at = f", handed out in {place(worst.place)}" if worst.place else ""
    cpu_s = format_seconds(worst.cpu_s)
    return Finding(
        id=SENDING,
        status=status,
        title=f"Sending data to worker processes takes {cpu_s} of CPU time{_on(run, worst)}{at}",
        summary=(
            f'Thread "{worst.thread}" of rank {worst.rank.number} pickles what is handed out and '
            f"writes it to a pipe in {format_share(worst.share)} of its samples; the main thread "
            f"waits for the workers meanwhile. The {cpu_s} are those of this thread alone."
        ),
        gain=gain,
        confidence=Confidence.MEDIUM,
        ranks=numbers,
        where=places,
        evidence=tuple(row for one in senders for row in _evidence(run, one)),
        actions=(f"In {place(worst.place)}: {ONCE[0].lower()}{ONCE[1:]}" if at else ONCE,),
    )


def _on(run: Facts, worst: _Sender) -> str:
    return f" on {ranks([worst.rank.number])}" if len(run.results.trace.ranks) > 1 else ""


def _evidence(run: Facts, one: _Sender) -> tuple[Evidence, ...]:
    number = one.rank.number
    files = (own for own in run.results.resources.files if own.rank == number)
    written = next((own.written_bytes for own in files), 0)
    return (
        Evidence(f'Rank {number}, thread "{one.thread}": CPU time to send', one.cpu_s, "s"),
        Evidence(f"Rank {number} wrote, pipes and files together", format_bytes(written)),
    )


def _senders(run: Facts) -> list[_Sender]:
    """Of each rank the thread beside the main one that sends most, where one mostly does."""
    trace = run.results.trace
    sending = sends(trace)
    if not sending.any():
        return []
    activity = stack_activities(trace)
    waits = np.isin(activity, [ACTIVITIES.index(one) for one in (Activity.WORKERS, Activity.LOCK)])
    found = (_of_rank(run, rank, sending, waits) for rank in trace.ranks)
    return [one for one in found if one is not None]


def _of_rank(run: Facts, rank: Rank, sending: Bools, waits: Bools) -> _Sender | None:
    """The thread that sends most, and where the main thread waits, mostly.

    CPU time of a thread is known over its life: the focus has the part of it that samples have.
    """
    trace, rows = run.results.trace, run.results.focus.within(rank.stacks)
    main = rows["stack"][rows["tid"] == rank.main_tid]
    waited = main[waits[main]]
    found = []
    for thread in rank.threads:
        own = rows["stack"][rows["tid"] == thread.tid]
        if thread.tid == rank.main_tid or np.count_nonzero(sending[own]) < FEWEST_SAMPLES:
            continue
        share = float(sending[own].mean())
        in_focus = len(own) / np.count_nonzero(rank.stacks["tid"] == thread.tid)
        cpu_s = share * in_focus * thread.cpu_ns * NS * len(waited) / max(len(main), 1)
        if share > MAIN and len(waited):
            at = usual_place((trace.stacks[one] for one in waited.tolist()), trace.frames)
            found.append(_Sender(rank, thread_name(rank, thread.tid), cpu_s, share, at))
    return max(found, key=lambda one: one.cpu_s, default=None)
