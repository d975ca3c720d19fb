"""The focus of analysis: the time over which everything is measured (docs/metrics.md)."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from perfscope.attribution.first_work import first_work_ns, own_stacks
from perfscope.attribution.stack_rules import is_user_file
from perfscope.errors import UsageError
from perfscope.schema.enums import EndKind
from perfscope.structures import dataclass
from perfscope.trace.model import Format, Rank, Table, Trace
from perfscope.trace.operations import OperationClass, codes_mask
from perfscope.units import counted

FROM_STEP = "from the first step of every rank", "from its first step"
FROM_WORK = (
    "from when every rank begins the work that it does before its first step",
    "from when it begins the work that it does before its first step",
)
TO_LAST = "to the last step or phase of any", "to its last step or phase"
TO_END = "until the program of the last one ends", "until its program ends"
BEFORE_SHUTDOWN = "before its interpreter shuts down"
INITIALIZED = "from the time all ranks have initialized communication until"

PhaseWindows = Mapping[str, tuple[int, int]]


@dataclass(frozen=True)
class Focus:
    """The window [start_ns, end_ns) on the trace's clock and how its ends were chosen.

    `kind` is `communication_lifetime` (every rank has initialized communication -> last rank enters
    finalization), `steps` (no communication to initialize), `own_work` (these, and much work before
    them), `steps A:B` (only those were recorded in detail), `whole_trace` (of another tool),
    `common_window` (of the profiles of all ranks), `process_lifetime`, or the user's `--foa` text.
    """

    start_ns: int
    end_ns: int
    kind: str
    reason: str

    @property
    def length_ns(self) -> int:
        """T: the length of the window."""
        return self.end_ns - self.start_ns

    def ending(self, steps: Table) -> Table:
        """The steps of a table that count in it: those that end in it."""
        found: Table = steps[(steps["t1"] > self.start_ns) & (steps["t1"] <= self.end_ns)]
        return found

    def within(self, rows: Table) -> Table:
        """The samples of a table that were taken in it."""
        found: Table = rows[(rows["t"] >= self.start_ns) & (rows["t"] < self.end_ns)]
        return found


def focus_of_analysis(
    trace: Trace,
    request: str | None = None,
    *,
    phases: PhaseWindows | None = None,
    deadlock_ns: int | None = None,
) -> Focus:
    """The focus of a run, or the part of it that the user asked for.

    Args:
        trace: the run.
        request: the text of `--foa`: `10:20` (seconds since the start of the run),
            `phase:evaluate`, `epoch:3`, `step:100-200`; None for the whole focus.
        phases: by phase id, the first start and the last end of the phase in ns.
        deadlock_ns: from when on all ranks waited for each other until they were ended; None where
            they did not. What comes then is not part of the whole focus.

    Raises:
        UsageError: the text cannot be understood, or names what is not in the run.
    """
    if request is None and trace.judged is not None:
        told = trace.judged
        return Focus(told.start_ns, told.end_ns, told.kind, told.reason)
    whole = _before(deadlock_ns, _trimmed(trace, _whole_focus(trace)))
    if request is None:
        return _detailed_steps(trace, whole) or whole
    start, end = _requested(trace, request.strip(), phases or {})
    first = min(rank.start_ns for rank in trace.ranks)
    last = max(rank.end_ns for rank in trace.ranks)
    closing = [rank.detail_end_ns for rank in trace.ranks if rank.detail_end_ns is not None]
    last = min([last, *closing])
    start, end = max(start, first), min(end, last)
    if end <= start:
        raise _usage(request, "Nothing of the run lies in it.")
    return Focus(start, end, request.strip(), "chosen with --foa")


def _trimmed(trace: Trace, whole: Focus) -> Focus:
    """Without the beginning that the trace's reader found not to be that of the program."""
    start = trace.judged_from_ns
    if start is None or not whole.start_ns < start < whole.end_ns:
        return whole
    return replace(whole, start_ns=start, reason=f"{whole.reason}; {trace.judged_reason}")


def _before(deadlock_ns: int | None, whole: Focus) -> Focus:
    """Without the time in which all ranks waited for each other."""
    if deadlock_ns is None or not whole.start_ns < deadlock_ns < whole.end_ns:
        return whole
    reason = f"{whole.reason}; closed where all ranks began to wait for each other"
    return replace(whole, end_ns=deadlock_ns, reason=reason)


def _whole_focus(trace: Trace) -> Focus:
    if trace.format is not Format.PERFSCOPE and trace.ranks:
        start = min(rank.start_ns for rank in trace.ranks)
        end = max(rank.end_ns for rank in trace.ranks)
        reasons = ["from the first to the last event of all ranks, as other tools take it"]
        end = _close_at_drop(trace.ranks, end, reasons)
        whole = Focus(start, max(start, end), "whole_trace", "; ".join(reasons))
        is_profile = trace.format.is_profile and not trace.environment.get("is_export")
        return _profiled_together(trace.ranks, whole) if is_profile else whole
    initialized = [rank for rank in trace.ranks if rank.init_exit_ns is not None]
    focus = _communication_lifetime(trace, initialized) if initialized else _steps_lifetime(trace)
    if focus is not None and focus.length_ns > 0:
        return focus
    why = "no rank initialized communication" if not initialized else "the job ended too early"
    start = min(rank.start_ns for rank in trace.ranks)
    end = max(rank.end_ns for rank in trace.ranks)
    return Focus(
        start, max(start, end), "process_lifetime", f"full process lifetime, because {why}"
    )


def _profiled_together(ranks: Sequence[Rank], whole: Focus) -> Focus:
    """The time that is in the profiles of all ranks: profilers do not start and stop together."""
    last = max(ranks, key=lambda rank: rank.start_ns)
    first = min(ranks, key=lambda rank: rank.end_ns)
    start, end = last.start_ns, first.end_ns
    if (start, end) == (whole.start_ns, whole.end_ns):
        return whole
    if end <= start:
        why = "the profiles of all ranks have no moment in common"
        return replace(whole, reason=f"from the first to the last event of all ranks: {why}")
    reason = (
        "the time that is in the profiles of all ranks, from the first event of rank "
        f"{last.number} to the last of rank {first.number}"
    )
    return Focus(start, end, "common_window", reason)


def _detailed_steps(trace: Trace, whole: Focus) -> Focus | None:
    """The part that was recorded call by call, where `perfscope run --steps` left the rest out."""
    options = trace.environment.get("options")
    asked = options.get("steps") if isinstance(options, Mapping) else None
    if not isinstance(asked, Sequence) or len(asked) != 2 or not isinstance(asked[0], int):
        return None
    first, end = asked
    starts, ends = [], []
    for rank in trace.ranks:
        numbers = rank.steps["number"]
        chosen = numbers >= first
        if isinstance(end, int):
            chosen &= numbers < end
        rows = rank.steps[chosen]
        if len(rows):
            starts.append(int(rows["t0"].min()))
            ends.append(int(rows["t1"].max()))
    if not starts or min(ends) <= max(starts):
        return None
    start_ns, end_ns = max(starts), min([whole.end_ns, *ends])
    text = f"{first}:{end if isinstance(end, int) else ''}"
    reason = f"the steps {text} that were recorded in detail, from the last rank to begin them"
    return Focus(start_ns, end_ns, f"steps {text}", reason) if end_ns > start_ns else None


def _communication_lifetime(trace: Trace, ranks: Sequence[Rank]) -> Focus:
    start = max(rank.init_exit_ns or rank.start_ns for rank in ranks)
    finalizing = [r.finalize_enter_ns for r in ranks if r.finalize_enter_ns is not None]
    reasons = [f"{INITIALIZED} {_last_event(ranks)}"]
    end = max(finalizing, default=max(rank.end_ns for rank in ranks))
    over = [moment for rank in ranks if (moment := _work_end_ns(rank, trace)) is not None]
    if len(over) == len(ranks) and start < max(over) < end:
        end = max(over)
        reasons = [f"{INITIALIZED} the program of the last one ends, {BEFORE_SHUTDOWN}"]
    gone = [rank for rank in ranks if rank.finalize_enter_ns is None and rank.end_ns < end]
    if gone:
        # what a rank does after the end of its program is no work that others could share
        ends = {one.number: min(one.end_ns, _work_end_ns(one, trace) or one.end_ns) for one in gone}
        first = min(gone, key=lambda rank: ends[rank.number])
        closed_ns = ends[first.number]
        end = min(end, closed_ns if closed_ns > start else first.end_ns)
        reasons.append(f"closed by the end of rank {first.number} ({first.ending.kind.value})")
    end = _close_at_drop(ranks, end, reasons)
    if len(ranks) < len(trace.ranks):
        reasons.append(
            f"{counted(len(trace.ranks) - len(ranks), 'rank')} never initialized communication"
        )
    return Focus(start, end, "communication_lifetime", "; ".join(reasons))


CLEANS_UP = (OperationClass.FINALIZE, OperationClass.COMMUNICATOR)
"""What mpi4py calls while Python is taken down."""


def _work_end_ns(rank: Rank, trace: Trace) -> int | None:
    """When a rank's program is over: mpi4py finalizes only after Python has been taken down.

    A program that only embeds Python communicates on.
    """
    if rank.program_end_ns is None:
        return None
    left = _left_ns(rank, trace)
    before = rank.operations["t1"][~codes_mask(CLEANS_UP)[rank.operations["op"]]]
    return max(min(rank.program_end_ns, left), int(before.max(initial=0)))


def _left_ns(rank: Rank, trace: Trace) -> int:
    """From when on no code of the program is on the stack, nor anything that waits for its threads.

    Its objects are given back then, before Python's exit handlers run.
    """
    rows = rank.stacks[(rank.stacks["tid"] == rank.main_tid) & (rank.stacks["stack"] >= 0)]
    rows = rows[np.argsort(rows["t"], kind="stable")]
    left = rank.end_ns
    for row in rows[::-1]:
        stack = trace.stacks[int(row["stack"])]
        if len(stack) != 1 or is_user_file(trace.frames[stack[0]].file):
            break
        left = int(row["t"])
    return left


def _last_event(ranks: Sequence[Rank]) -> str:
    """What closes the window unless something else does earlier."""
    entered = [rank.number for rank in ranks if rank.finalize_enter_ns is not None]
    if len(entered) == len(ranks):
        return "the last one enters finalization"
    if not entered:
        return "the ranks end, as none entered finalization"
    never = len(ranks) - len(entered)
    return f"the last of {len(entered)} ranks enters finalization, which {never} never did"


def _steps_lifetime(trace: Trace) -> Focus | None:
    working = [rank for rank in trace.ranks if len(rank.steps)]
    if not working:
        return None
    is_one, reasons, ends = len(trace.ranks) == 1, list[str](), list[int]()
    for rank in working:
        ends.append(int(rank.steps["t1"].max()))
        ends.extend(rank.phases["t1"].max(keepdims=True).tolist() if len(rank.phases) else [])
    end, until = max(ends), TO_LAST[is_one]
    over = [moment for rank in working if (moment := _work_end_ns(rank, trace)) is not None]
    if len(over) == len(working) and max(over) > end:
        end = max(over)
        until = f"{TO_END[is_one]}, {BEFORE_SHUTDOWN}"
    died = {EndKind.KILLED, EndKind.ABORTED, EndKind.STOPPED, EndKind.UNKNOWN}
    for rank in working:
        if rank.ending.kind in died and rank.end_ns < end:
            end = rank.end_ns
            reasons.append(f"closed by the end of rank {rank.number} ({rank.ending.kind.value})")
    end = _close_at_drop(working, end, reasons)
    first = [int(rank.steps["t0"][0]) for rank in working]
    is_own = own_stacks(trace)
    start = max(first_work_ns(rank, is_own, end) for rank in working)
    is_longer = start < max(first)
    begin = FROM_WORK if is_longer else FROM_STEP
    reason = "; ".join([f"{begin[is_one]} {until}", *reasons])
    return Focus(start, end, "own_work" if is_longer else "steps", reason)


def _close_at_drop(ranks: Sequence[Rank], end_ns: int, reasons: list[str]) -> int:
    for rank in ranks:
        if rank.detail_end_ns is not None and rank.detail_end_ns < end_ns:
            end_ns = rank.detail_end_ns
            reasons.append(f"closed where the records of rank {rank.number} end")
    return end_ns


def _requested(trace: Trace, text: str, phases: PhaseWindows) -> tuple[int, int]:
    kind, separator, value = text.partition(":")
    if not separator:
        raise _usage(text, "It has no colon.")
    if kind == "phase":
        if value not in phases:
            known = ", ".join(sorted(phases)) or "none"
            raise _usage(text, f"The run has no phase {value!r}; it has: {known}.")
        return phases[value]
    if kind == "epoch":
        number = _integer(text, value)
        return _hull(trace, text, "epoch", (number, number))
    if kind == "step":
        low, _, high = value.partition("-")
        first = _integer(text, low)
        return _hull(trace, text, "number", (first, _integer(text, high) if high else first))
    return _seconds(text, kind, default=-float("inf")), _seconds(text, value, default=float("inf"))


def _hull(trace: Trace, text: str, column: str, bounds: tuple[int, int]) -> tuple[int, int]:
    """From the first start to the last end of the steps (or phases) with numbers in the bounds."""
    windows = []
    for rank in trace.ranks:
        for table in (rank.steps, rank.phases):
            name = "step" if column == "number" and table is rank.phases else column
            rows = table[(table[name] >= bounds[0]) & (table[name] <= bounds[1])]
            if len(rows):
                windows.append((int(rows["t0"].min()), int(rows["t1"].max())))
                break
    if not windows:
        raise _usage(text, "The run has no such step or epoch.")
    return min(start for start, _ in windows), max(end for _, end in windows)


def _integer(text: str, value: str) -> int:
    if not (value.isascii() and value.isdigit()) or len(value) > 18:
        raise _usage(text, f"{value!r} is not a number.")
    return int(value)


def _seconds(text: str, value: str, *, default: float) -> int:
    try:
        seconds = float(value) if value else default
    except ValueError as error:
        raise _usage(text, f"{value!r} is not a number of seconds.") from error
    if math.isnan(seconds):
        raise _usage(text, f"{value!r} is not a number of seconds.")
    limit = 1 << 62
    return round(min(max(seconds * 1e9, -limit), limit))


def _usage(text: str, why: str) -> UsageError:
    return UsageError(
        f"The focus of analysis {text!r} cannot be used.",
        why=why,
        action="Give seconds (10:20), phase:evaluate, epoch:3, step:100 or step:100-200.",
    )
