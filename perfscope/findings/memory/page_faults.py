"""Ranks whose CPU time goes to the kernel, for memory that each step takes anew or shares."""

from collections.abc import Sequence
from dataclasses import replace
from math import prod

from perfscope.findings.core.diagnosis import Diagnosis, Outcome
from perfscope.findings.core.finding import Evidence, Finding, Spent, passed
from perfscope.findings.core.gain import as_bound, predicted_gain
from perfscope.findings.core.wording import exported, place, saving
from perfscope.findings.facts.facts import Facts
from perfscope.findings.facts.hot_operands import shape_of
from perfscope.judging import MOST_LOST
from perfscope.metrics.host.page_faults import FaultTime
from perfscope.metrics.results import Results
from perfscope.replay.model import Edit
from perfscope.schema.enums import Confidence, Status
from perfscope.trace.model import Frame
from perfscope.trace.operands import Operand
from perfscope.units import counted, format_bytes, format_seconds, format_share

LEAST_GAIN = 0.1  # of the focus: programs without a fault pay up to as much for their arrays
SETTINGS = (
    "MALLOC_MMAP_THRESHOLD_=4294967296",
    "MALLOC_TRIM_THRESHOLD_=4294967296",
    "MALLOC_TOP_PAD_=268435456",
)

NEVER_KEPT_BYTES = 32 << 20
"""Of an array, from which on glibc takes it from the system and gives it back, whatever it learns
(DEFAULT_MMAP_THRESHOLD_MAX of 64-bit systems)."""

KEEP_MEMORY = (
    f"Have the C library keep freed memory: before the job starts, {exported(*SETTINGS)}.",
    (
        "Or allocate large arrays once and reuse them: out= of numpy's functions, "
        "in-place operations, buffers that live as long as the training."
    ),
)
FORK_LESS = (
    (
        "Start processes once, before the steps, and reuse them: a pool that lives as long as the "
        "training."
    ),
    (
        "Or have them forked by a small process: `multiprocessing.set_start_method('forkserver')` "
        "at the start of the program."
    ),
)


def is_sampled(results: Results) -> bool:
    """Whether the kernel's part of the CPU time was sampled."""
    return any(len(rank.main_samples) for rank in results.trace.ranks)


def judge(run: Facts) -> Outcome:
    """What page faults cost the run, and how to keep the memory instead."""
    times = run.results.fault_times
    found = [one for one in times if min(one.work_s, one.least_s, one.again) > 0]
    edits = [Edit(ranks=(one.rank,), factor=1.0 - _share(one), is_cpu_time=True) for one in found]
    if not edits:
        return passed("No time in the kernel was seen to go with memory that is taken anew.")
    most_s = max(_share(one) * one.work_s for one in found)
    gain = as_bound(predicted_gain(run.results, run.replay, edits, bound_s=most_s))
    by_share = sorted(found, key=_share, reverse=True)
    worst = by_share[0]
    if gain.share < LEAST_GAIN:
        return passed(
            f"The kernel took {format_share(_in_kernel(worst))} of the CPU time of rank "
            f"{worst.rank}, for anything. Keeping memory that is freed and allocated again would "
            f"save {saving(run.results, gain.seconds, is_bound=True)}."
        )
    touched = tuple(one.rank for one in found if _share(one) >= 0.5 * _share(worst))
    known = tuple(dict.fromkeys(one.place for one in by_share if one.place is not None))
    large = None if worst.follows_forks or known else _largest(run, touched)
    world = len(run.results.trace.ranks)
    each_s = sum(_share(one) * one.work_s for one in found) / world
    return Finding(
        status=Status.FAIL,
        title=_title(worst, each_s, world),
        summary=(
            f"Rank {worst.rank} touched {worst.faults:,} new pages. Of its "
            f"{format_seconds(worst.work_s)} outside communication, the kernel took "
            f"{format_seconds(worst.fault_s)} (at least {format_seconds(worst.least_s)}) to "
            f"provide them{_why(worst)}{_of_array(large)}"
        ),
        gain=replace(gain, spent=Spent(each_s, is_each=world > 1, most_s=most_s)),
        confidence=Confidence.MEDIUM,
        ranks=touched,
        where=known or ((large[0],) if large else ()),
        evidence=tuple(_evidence(one) for one in by_share[:8]),
        actions=FORK_LESS if worst.follows_forks else KEEP_MEMORY,
        is_setting=not worst.follows_forks,
    )


def _largest(run: Facts, touched: Sequence[int]) -> tuple[Frame, Operand] | None:
    """The busiest line of these ranks with an array too large to be kept, computed anew there."""
    return next(
        (
            (line.site.frame, one)
            for line in run.hot_lines
            if line.seconds > 0 and line.rank.number in touched
            for one in line.site.operands
            if one.is_computed and prod(one.shape) * one.value_bytes >= NEVER_KEPT_BYTES
        ),
        None,
    )


def _of_array(large: tuple[Frame, Operand] | None) -> str:
    if large is None:
        return ""
    frame, array = large
    return (
        f" `{array.name}` of {shape_of(array)} in {place(frame)} is such an array: from "
        f"{format_bytes(NEVER_KEPT_BYTES)} on, the C library keeps none unless it is told to."
    )


def _title(worst: FaultTime, each_s: float, world: int) -> str:
    """What it costs in the mean, as the parts of the run are told."""
    why = "for memory that is repeatedly freed and allocated again"
    if worst.follows_forks:
        why = "to copy memory that is shared with forked processes"
    spent = f"{format_seconds(each_s)}{' per rank' if world > 1 else ''}"
    return f"Page faults take {spent}, {why}{_mostly(worst)}"


def _share(one: FaultTime) -> float:
    """Of the work of a rank, spent on taking memory again that it had given back.

    Threads that do so at once count once.
    """
    return min(MOST_LOST, one.again * one.fault_s / one.threads / one.work_s)


def _mostly(one: FaultTime) -> str:
    return f", mainly in {place(one.place)}" if one.place is not None else ""


def _why(one: FaultTime) -> str:
    """What the pages were touched for."""
    if one.follows_forks:
        return (
            f". It forked {counted(one.forks, 'time')}: after each fork a page is copied when it "
            "is written next, in the rank and in its child."
        )
    return (
        f"{_given_back(one)}. "
        "Large arrays that are allocated and freed in each step come from the system each time."
    )


def _given_back(one: FaultTime) -> str:
    """How much of the memory was not new to the process; "" where almost all of it was not."""
    return f", {format_share(one.again)} of which it had freed before" if one.kept else ""


def _in_kernel(one: FaultTime) -> float:
    return one.kernel_s / one.cpu_s if one.cpu_s > 0 else 0.0


def _evidence(one: FaultTime) -> Evidence:
    share, kernel = format_share(_share(one)), format_share(_in_kernel(one))
    text = (
        f"{share} of the work, {one.faults:,} page faults; {kernel} of all CPU time in the kernel"
    )
    return Evidence(f"Rank {one.rank}", text)


DIAGNOSIS = Diagnosis(
    id="page_faults",
    title="Page faults from memory that is freed and allocated again take CPU time",
    description=(
        "Follows CPU time in the kernel from sample to sample: what files and exchanges of "
        "threads do not explain goes with page faults or with waiting in communication, by least "
        "squares. Arrays that are allocated and freed in each step come from the system each "
        "time, filled with zeros; pages that forked processes share are copied when they are "
        "written, which is told where forks explain most page faults."
    ),
    judge=judge,
    applies=is_sampled,
    passed="Keeping freed memory would save little",
    evidence=(
        "CPU time in the kernel, pages first touched, bytes read and written, exchanges of "
        "threads, resident memory, forks; the line under which most pages were touched, where "
        "every other sample tells the same one"
    ),
    gain_from=(
        "replay of the work without the kernel's time that files and exchanges do not "
        "explain, less the part of the pages that stayed, as an upper bound"
    ),
    counts_from=f"{100 * LEAST_GAIN:g} % of the window",
    rank=295,
    references=(
        "glibc, mallopt(3): https://man7.org/linux/man-pages/man3/mallopt.3.html",
        "Linux, getrusage(2): https://man7.org/linux/man-pages/man2/getrusage.2.html",
    ),
)
