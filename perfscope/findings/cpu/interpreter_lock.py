"""Main threads that wait for Python's interpreter lock while another thread runs Python code."""

from perfscope.findings.core import thresholds, wording
from perfscope.findings.core.diagnosis import Diagnosis, Outcome
from perfscope.findings.core.finding import Evidence, Finding, passed, place_of
from perfscope.findings.core.gain import predicted_gain
from perfscope.findings.facts.facts import Facts
from perfscope.findings.facts.helper_threads import UNEVEN
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
    waits = [one for one in results.lock_waits if one.waited_s > 0 and one.work_s > 0]
    if not waits:
        return passed("No other thread was seen to run Python code.")
    edits = [Edit(ranks=(one.rank,), factor=1.0 - one.waited_s / one.work_s) for one in waits]
    bound_s = max(one.waited_s for one in waits)
    gain = predicted_gain(results, run.replay, edits, bound_s=bound_s)
    status = thresholds.unless_chance(thresholds.by_gain(gain), gain)
    if not status.is_fault:
        return passed(f"The main thread waited for it for {format_seconds(bound_s)} at most.")
    worst = max(waits, key=lambda one: one.waited_s)
    return Finding(
        status=status,
        title=_title(worst),
        summary=_summary(worst),
        gain=gain,
        confidence=Confidence.MEDIUM,
        ranks=tuple(one.rank for one in waits if one.waited_s >= 0.1 * worst.waited_s),
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


def _title(worst: LockWait) -> str:
    who = f'Thread "{worst.thread}"' if worst.thread else "A thread"
    doing = f" in {wording.called(worst.frame)}" if worst.frame else ""
    return (
        f"{who} of rank {worst.rank} runs Python code{doing}, and the main thread waits for the "
        "interpreter lock"
    )


def _summary(worst: LockWait) -> str:
    return (
        f"Of {format_seconds(worst.work_s)} between its calls the main thread of rank {worst.rank} "
        f"waited {format_seconds(worst.waited_s)} ({format_share(worst.waited_s / worst.work_s)}) "
        "for the interpreter lock. Only one thread at a time runs Python code; the other one used "
        f"{format_seconds(worst.cpu_s)} of CPU time."
    )


def _evidence(waits: list[LockWait]) -> tuple[Evidence, ...]:
    shown = sorted(waits, key=lambda one: -one.waited_s)[:8]
    rows = [
        Evidence(f"Rank {one.rank} waited for the interpreter lock", one.waited_s, "s", "near 0")
        for one in shown
    ]
    names = dict.fromkeys(one.thread for one in shown if one.thread)
    if names:
        rows.append(Evidence("Threads that ran Python code", ", ".join(names)))
    return tuple(rows)


def _actions(worst: LockWait) -> tuple[str, ...]:
    where = f"what {wording.called(worst.frame)} does" if worst.frame else "what that thread does"
    return (
        (
            f"Move {where} to a process of its own (multiprocessing, concurrent.futures."
            "ProcessPoolExecutor), or into a library that gives the lock back while it computes."
        ),
        (
            "Where it need not run all the time, let it do less: once every few steps, or after "
            "the training."
        ),
    )


DIAGNOSIS = Diagnosis(
    id="interpreter_lock",
    title="The main thread waits for Python's interpreter lock",
    description=(
        "Compares the CPU time of each main thread with the time between its calls. What it "
        "neither ran nor waited for a CPU, a lock of the program, a file or a device, while "
        "another thread of the process was seen in Python code, it waited for the interpreter "
        "lock (GIL)."
    ),
    judge=judge,
    applies=is_sampled,
    passed="No thread keeps Python's interpreter lock from the training",
    evidence=(
        "the main thread's CPU time, run-queue delay and samples, samples of threads that "
        "use a CPU; names the thread, its function and line"
    ),
    priced_by="replay of the work without the waiting",
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
