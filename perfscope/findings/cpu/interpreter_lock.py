"""Main threads that wait for Python's interpreter lock while another thread runs Python code."""

from collections.abc import Sequence
from dataclasses import replace

from perfscope.findings.core import thresholds, wording
from perfscope.findings.core.diagnosis import Diagnosis, Outcome
from perfscope.findings.core.finding import Evidence, Finding, Quiet, passed, place_of
from perfscope.findings.core.gain import predicted_gain
from perfscope.findings.facts.facts import Facts
from perfscope.findings.facts.helper_threads import UNEVEN
from perfscope.findings.facts.side_threads import keeps_lock
from perfscope.judging import MOST_LOST, NEGLIGIBLE
from perfscope.metrics.host.interpreter_lock import LockWait
from perfscope.metrics.results import Results
from perfscope.replay.model import Edit
from perfscope.schema.enums import AwaitedThing, Confidence
from perfscope.schema.findings import Holder
from perfscope.units import format_seconds, format_share


def is_sampled(results: Results) -> bool:
    """Whether Python code was sampled, and the CPU time of a main thread."""
    return any(len(rank.main_samples) and len(rank.stacks) for rank in results.trace.ranks)


def judge(run: Facts) -> Outcome:
    """What it costs that another thread runs Python code, and which one it is."""
    results = run.results
    waits = [
        _with_cpus(one, run)
        for one in results.lock_waits
        if one.work_s > 0 and (one.waited_s > 0 or one.polls)
    ]
    waits = [one for one in waits if one.lost_s > 0]
    if not waits:
        return _nothing_seen(results)
    edits = [Edit(ranks=(one.rank,), factor=1.0 - one.lost_s / one.work_s) for one in waits]
    bound_s = max(one.lost_s for one in waits)
    gain = predicted_gain(results, run.replay, edits, bound_s=bound_s)
    status = thresholds.unless_chance(thresholds.by_gain(gain), gain)
    if not status.is_fault:
        return passed(
            f"The main thread waited for the GIL for {format_seconds(bound_s)} at most.",
            Confidence.MEDIUM,
        )
    worst = max(waits, key=lambda one: one.lost_s)
    ranks = tuple(one.rank for one in waits if one.lost_s >= 0.1 * worst.lost_s)
    return Finding(
        status=status,
        title=_title(worst, ranks),
        summary=_summary(worst) + wording.why_more(worst.lost_s, gain),
        gain=gain,
        confidence=Confidence.MEDIUM,
        ranks=ranks,
        where=(worst.frame,) if worst.frame else (),
        evidence=_evidence(waits),
        actions=_actions(worst),
        overlaps=UNEVEN,
        holder=Holder(
            kind=AwaitedThing.INTERPRETER,
            rank=worst.rank,
            thread=worst.thread or None,
            where=place_of(worst.frame) if worst.frame else None,
            share=None,
        ),
    )


def _with_cpus(one: LockWait, run: Facts) -> LockWait:
    """With what the main thread also waited for CPUs while threads of the job used them.

    Threads that run Python code may have used them for no longer than they ran. Those that hardly
    keep the lock run no Python code, but code that gives it back: CPUs are all that they take,
    and that is told elsewhere, unless they only look for something to do.
    """
    own = next((w for w in run.results.resources.cpu_waits if w.rank == one.rank), None)
    most_s = one.work_s - one.waited_s
    if own is None or not keeps_lock(one):
        return one
    in_work_s = own.part(is_of_others=False).in_work_s
    return replace(one, queued_s=min(in_work_s, one.cpu_s, MOST_LOST * most_s))


def _nothing_seen(results: Results) -> Quiet:
    """No thread was seen: that is sure only where no other one used a CPU for long."""
    others_ns = sum(
        thread.cpu_ns
        for rank in results.trace.ranks
        for thread in rank.threads
        if thread.tid != rank.main_tid
    )
    if others_ns < NEGLIGIBLE * results.focus.length_ns:
        return passed("No other thread was seen to run Python code.")
    return passed(
        "No other thread was seen to run Python code; threads that use less than 10 % of a CPU "
        "for 0.25 s are not looked at.",
        Confidence.LOW,
    )


def _title(worst: LockWait, ranks: Sequence[int]) -> str:
    who = f'Thread "{worst.thread}"' if worst.thread else "A thread"
    doing = f" in {wording.called(worst.frame)}" if worst.frame else ""
    does = "polls" if worst.polls else "runs Python code"
    return (
        f"{who} of {wording.ranks(ranks)} {does}{doing}, and the main thread waits for the "
        f"GIL{' and for CPUs' if worst.queued_s > worst.waited_s else ''}"
    )


def _summary(worst: LockWait) -> str:
    waited = format_seconds(worst.queued_s)
    queued = f", and {waited} for CPUs that threads of the job used" if worst.queued_s else ""
    return (
        f"Of {format_seconds(worst.work_s)} between its calls the main thread of rank {worst.rank} "
        f"waited {format_seconds(worst.waited_s)} ({format_share(worst.waited_s / worst.work_s)}) "
        f"for the GIL{queued}. Only one thread at a time runs Python code; the other "
        f"one used {format_seconds(worst.cpu_s)} of CPU time."
    )


def _evidence(waits: list[LockWait]) -> tuple[Evidence, ...]:
    shown = sorted(waits, key=lambda one: -one.lost_s)[:8]
    rows = [
        Evidence(f"Rank {one.rank} waited for the GIL", one.waited_s, "s", "near 0")
        for one in shown
    ]
    names = dict.fromkeys(one.thread for one in shown if one.thread)
    if names:
        rows.append(Evidence("Threads that ran Python code", ", ".join(names)))
    return tuple(rows)


def _actions(worst: LockWait) -> tuple[str, ...]:
    if worst.polls:
        who = wording.called(worst.frame) if worst.frame else "that thread"
        return (
            (
                f"Make {who} block until there is something to do (queue.get, Event.wait) instead "
                "of polling: each poll takes the GIL and a CPU from the main thread."
            ),
        )
    where = f"what {wording.called(worst.frame)} does" if worst.frame else "what that thread does"
    return (
        (
            f"Move {where} to a process of its own (multiprocessing, concurrent.futures."
            "ProcessPoolExecutor), or into a library that releases the GIL while it computes. If "
            "the thread waits for something, have it block (queue.get, Event.wait)."
        ),
        (
            "If the thread need not run all the time, run it once every few steps, or after the "
            "training."
        ),
    )


DIAGNOSIS = Diagnosis(
    id="interpreter_lock",
    title="The main thread waits for the GIL",
    description=(
        "Compares the CPU time of each main thread with the time between its calls. What it "
        "neither ran nor waited for a CPU, a lock of the program, a file or a device, while "
        "another thread of the process was seen in Python code, it waited for the interpreter "
        "lock (GIL)."
    ),
    judge=judge,
    applies=is_sampled,
    passed="No thread keeps the GIL from the training",
    evidence=(
        "the main thread's CPU time, run-queue delay and samples, samples of threads that "
        "use a CPU; names the thread, its function and line"
    ),
    gain_from="replay of the work without the waiting for the lock and for CPUs that the job used",
    counts_from=(
        f"{100 * thresholds.WARN_SHARE:g} % of the window (fails from "
        f"{100 * thresholds.FAIL_SHARE:g} % on)"
    ),
    rank=195,
    references=(
        (
            "Python glossary, global interpreter lock: "
            "https://docs.python.org/3/glossary.html#term-global-interpreter-lock"
        ),
    ),
)
