"""CPU time that the kernel spends on memory that a program takes anew."""

from collections import Counter
from collections.abc import Sequence

import numpy as np

from perfscope.arrays import Bools, Floats, Ints, counter_growth, is_one_of
from perfscope.attribution.activities import ACTIVITIES, stack_activities
from perfscope.attribution.focus import Focus
from perfscope.attribution.ledger import IS_COMMUNICATION
from perfscope.attribution.preparation import Prepared
from perfscope.attribution.stack_rules import SYSTEM_CALL, ends_in
from perfscope.attribution.timeline import Timeline
from perfscope.judging import MAIN, SURE
from perfscope.matching.intervals import distinct
from perfscope.schema.enums import Activity
from perfscope.structures import dataclass
from perfscope.trace.model import Frame, Function, Rank, Table, Trace
from perfscope.trace.started import forks, forks_in_steps

MOST_LINES = 40
"""Lines that are told apart, those with most time; all others count as one."""

ROUNDS = 60
"""Of the fit: by then, rates that differ by a tenth have come apart."""


def fault_place(prepared: Prepared, position: int, times: Ints, faults: Floats) -> Frame | None:
    """The function with most of a rank's page faults, at the line with most of them.

    Between two samples several lines may have run. A line that touches new memory ran for longer
    where more pages were touched, so that its rate shows over all windows. A place is told where
    every other window tells the same one as those between them.

    `times` are those of the samples, shape (windows + 1,), and `faults` the pages that were first
    touched between them, shape (windows,).

    Returns:
        None where no function has most of them, or where the windows do not agree.
    """
    lines, spent = _spent(prepared, position, times)
    if not lines:
        return None
    frames = prepared.trace.frames
    halves = [_by_line(spent[half::2], faults[half::2]) for half in (0, 1)]
    told = {_main(frames, lines, touched) for touched in halves}
    if len(told) != 1 or None in told:
        return None
    function = told.pop()
    touched = halves[0] + halves[1]
    own = [
        (count, -frames[line].line, frames[line])
        for line, count in zip(lines, touched, strict=False)
        if frames[line].key == function
    ]
    return max(own, key=lambda one: one[:2])[2]


def _spent(prepared: Prepared, position: int, times: Ints) -> tuple[list[int], Floats]:
    """Lines, and seconds of work of each between the samples; the last column is all others."""
    timeline: Timeline = prepared.timelines[position]
    if not len(prepared.labels.user_frame):
        return [], np.zeros((len(times) - 1, 0))
    inside = timeline.boundaries[
        (timeline.boundaries > times[0]) & (timeline.boundaries < times[-1])
    ]
    cuts = distinct(np.concatenate([inside, times]))
    segment = np.searchsorted(timeline.boundaries, cuts[:-1], "right") - 1
    stack = timeline.stacks[segment].astype(np.int64)
    known = (stack >= 0) & ~IS_COMMUNICATION[timeline.accounts[segment]]
    seconds = np.diff(cuts)[known] / 1e9
    window = np.searchsorted(times, cuts[:-1][known], "right") - 1
    line = prepared.labels.user_frame[stack[known]].astype(np.int64)
    by_line = np.bincount(line, seconds)
    order = np.argsort(-by_line, kind="stable")[:MOST_LINES]
    lines = [place for place in order.tolist() if by_line[place] > 0]
    column = np.full(len(by_line), len(lines), np.int64)
    column[lines] = np.arange(len(lines))
    spent = np.zeros((len(times) - 1, len(lines) + 1))
    np.add.at(spent, (window, column[line]), seconds)
    return lines, spent


def _by_line(spent: Floats, faults: Floats) -> Floats:
    """Page faults of each line: the rates under which the counted ones are most likely.

    Counts that happen at a rate of its own in each line are sums of Poisson variables; expectation
    and maximization in turn find the rates, none of them below zero.
    """
    whole: Floats = spent.sum(axis=0)
    if not whole.sum() or not faults.sum():
        return np.zeros(len(whole))
    rates = np.full(len(whole), faults.sum() / whole.sum())
    for _ in range(ROUNDS):
        expected = spent @ rates
        ratio = np.divide(faults, expected, out=np.zeros_like(expected), where=expected > 0)
        found = spent.T @ ratio
        rates *= np.divide(found, whole, out=np.zeros_like(found), where=whole > 0)
    touched: Floats = rates * whole
    return touched


def _main(frames: Sequence[Frame], lines: list[int], touched: Floats) -> Function | None:
    """Name and file of the function with most page faults; None where none has most of them."""
    by_function: Counter[Function] = Counter()
    for line, count in zip(lines, touched.tolist(), strict=False):
        by_function[frames[line].key] += count
    function, most = by_function.most_common(1)[0]
    return function if most > MAIN * float(touched.sum()) else None


Times = Ints

COPIED_BYTES_PER_S = 1e9
SWITCH_S = 5e-6
"""What the kernel takes at most to copy bytes of files, and to exchange threads."""

FAULT_S = 5e-4
"""At most, for a huge page of 2 MiB that is filled with zeros; an ordinary page takes 0.5 us."""

PAGE_BYTES = 4096
"""Of the smallest pages: where they are larger, fewer page faults are told to come again."""

WRITES = tuple(ACTIVITIES.index(one) for one in (Activity.FILES, Activity.LOGGING))
"""What may be done in the kernel all the time but where it waits: which part is, none tells."""

LEAST_WINDOWS = 20
"""Between samples: fewer tell nothing of what the kernel's time goes with."""


@dataclass(frozen=True)
class FaultTime:
    """What page faults cost one rank in the focus of analysis."""

    rank: int
    kernel_s: float  # CPU time of the process in the kernel
    cpu_s: float  # all its CPU time
    faults: int  # pages that were first touched
    kept: int  # of these at most, such as the process had more of afterwards than ever before
    fault_s: float  # of the kernel's time outside communication, what goes with page faults
    least_s: float  # the same at least, by the scatter of the samples
    work_s: float  # all time between calls
    threads: float  # that were runnable at a time, on average
    forks: int = 0  # of the process, in all its life
    copied: float = 0.0  # part of the page faults, at most, that copy what forks share
    # the function of the user's with most of the page faults, None unknown
    place: Frame | None = None

    @property
    def again(self) -> float:
        """Part of the page faults that took memory which the process had given back."""
        return 1.0 - self.kept / self.faults if self.faults else 0.0

    @property
    def follows_forks(self) -> bool:
        """Whether forks explain most of the page faults: no memory was given back for them."""
        return self.copied > MAIN


def fault_times(prepared: Prepared) -> tuple[FaultTime, ...]:
    """Of every rank whose main thread was sampled often enough."""
    found = []
    focus = prepared.focus
    writes = _runs_on_files(prepared.trace)
    ranks = zip(prepared.trace.ranks, prepared.timelines, strict=False)
    for position, (rank, timeline) in enumerate(ranks):
        inside = rank.main_samples["t"] >= focus.start_ns
        times = rank.main_samples["t"][inside & (rank.main_samples["t"] < focus.end_ns)]
        if len(times) <= LEAST_WINDOWS or len(rank.process_samples) < 2:
            continue
        ends = np.array([focus.start_ns, focus.end_ns])
        worked_s = np.diff(timeline.outside_communication(focus).at(times)) / 1e9
        kernel_s = _grown(rank.main_samples, "kernel_ns", times) / 1e9
        faults = _grown(rank.main_samples, "minor_faults", times)
        left_s = np.maximum(0.0, kernel_s - _explained_s(rank, times))
        written_s = timeline.by_stack(timeline.work(focus), len(writes))[writes].sum() / 1e9
        if left_s.any():
            left_s *= max(0.0, 1.0 - written_s / left_s.sum())
        waited_s = np.diff(times) / 1e9 - worked_s
        each_s, error_s = _with_faults(left_s, faults, waited_s)
        in_work = _in_work(faults, worked_s, waited_s)
        inside = rank.process_samples["t"] >= focus.start_ns
        inside &= rank.process_samples["t"] < focus.end_ns
        runnable = rank.process_samples["runnable"][inside]
        found.append(
            FaultTime(
                rank=rank.number,
                kernel_s=float(kernel_s.sum()),
                cpu_s=float(_grown(rank.process_samples, "cpu_ns", ends).sum()) / 1e9,
                faults=round(float(faults.sum())),
                kept=round(_kept(faults, _grown_pages(rank, times))),
                fault_s=min(each_s, FAULT_S) * in_work,
                least_s=min(max(0.0, each_s - SURE * error_s), FAULT_S) * in_work,
                work_s=float(worked_s.sum()),
                threads=max(1.0, float(runnable.mean()) if len(runnable) else 1.0),
                forks=forks(rank),
                copied=_copied(rank, focus, round(float(faults.sum()))),
                place=fault_place(prepared, position, times, faults),
            )
        )
    return tuple(found)


def _runs_on_files(trace: Trace) -> Bools:
    """By stack whether a thread had files read or written and did not wait for that."""
    return is_one_of(stack_activities(trace), WRITES) & ~ends_in(trace, {SYSTEM_CALL})


def _with_faults(kernel_s: Floats, faults: Floats, waited_s: Floats) -> tuple[float, float]:
    """Seconds of the kernel that go with one page fault, and the standard error of that.

    Least squares over the windows between samples: time in the kernel goes with page faults, and
    with communication, whose waiting gives the CPU away again and again. Neither costs less than
    nothing.
    """
    columns = np.stack([faults, waited_s] if waited_s.any() else [faults], axis=1)
    squares = columns.T @ columns
    if np.linalg.matrix_rank(squares) < len(squares):
        return 0.0, 0.0  # the two go with each other, or there are no faults
    costs = np.linalg.solve(squares, columns.T @ kernel_s)
    if costs[0] <= 0:
        return 0.0, 0.0
    if costs[-1] < 0:  # waiting costs nothing, then
        costs = np.array([faults @ kernel_s / squares[0, 0], 0.0])
    left = kernel_s - columns @ costs
    scatter = left @ left / max(1, len(left) - len(costs))
    return float(costs[0]), float(np.sqrt(scatter * np.linalg.inv(squares)[0, 0]))


def _in_work(faults: Floats, worked_s: Floats, waited_s: Floats) -> float:
    """Page faults outside communication: all that do not rather go with time inside it."""
    rates = np.linalg.lstsq(np.stack([worked_s, waited_s], axis=1), faults, rcond=None)[0]
    worked, waited = np.maximum(rates, 0.0) * (worked_s.sum(), waited_s.sum())
    return float(faults.sum() * worked / (worked + waited)) if worked > 0 else 0.0


def _kept(faults: Floats, grown: Floats) -> float:
    """Page faults, at most, in which a process outgrew all it ever had.

    What stays has to be touched once, however memory is allocated. Both are compared over several
    windows: a peak may be seen some windows after the page faults that led to it. Not over the
    whole run: one huge page holds many, which stay in the beginning of a run alone.
    """
    starts = np.arange(0, len(faults), LEAST_WINDOWS)
    whole = [np.add.reduceat(each, starts) for each in (faults, grown)]
    return float(np.minimum(*whole).sum())


def _copied(rank: Rank, focus: Focus, faults: int) -> float:
    """Part of the page faults in the focus, at most, in which a page that a fork shares is copied.

    After each fork every page that the process has is copied when it is written next. Faults in
    each step are not those of rarer forks, such as of workers that start with an epoch.
    """
    if not forks_in_steps(rank):
        return 0.0
    resident = int(rank.process_samples["rss_bytes"].max(initial=0)) // PAGE_BYTES
    inside = focus.length_ns / max(1, rank.end_ns - rank.start_ns)
    return min(1.0, forks(rank) * inside * resident / faults) if faults else 0.0


def _grown_pages(rank: Rank, times: Times) -> Floats:
    """Pages by which the peak of the process' memory grew between the samples."""
    rows = rank.process_samples
    peak = np.maximum.accumulate(rows["rss_bytes"].astype(np.float64))
    return counter_growth(times, rows["t"], peak) / PAGE_BYTES


def _explained_s(rank: Rank, times: Times) -> Floats:
    """Seconds in the kernel that reading, writing and exchanging threads may have taken."""
    rows = rank.system_samples
    copied = _grown(rows, "read_bytes", times) + _grown(rows, "written_bytes", times)
    switches = _grown(rows, "voluntary_switches", times)
    switches = switches + _grown(rows, "involuntary_switches", times)
    return copied / COPIED_BYTES_PER_S + switches * SWITCH_S


def _grown(rows: Table, column: str, times: Times) -> Floats:
    """How much a counter grew between moments."""
    return np.maximum(0.0, counter_growth(times, rows["t"], rows[column]))
