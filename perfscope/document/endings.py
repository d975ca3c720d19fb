"""How the ranks ended, in words, and which of them ended first and took the others along."""

from pathlib import PurePosixPath
from signal import Signals

from perfscope.findings.core import wording
from perfscope.metrics.host.resource_use import kills_with, memory_ran_out
from perfscope.schema import run as schema
from perfscope.schema.enums import EndKind
from perfscope.trace.model import Ending, Format, Rank, Trace, open_rows
from perfscope.trace.operations import name_of
from perfscope.trace.worlds import has_changing_ranks
from perfscope.units import NS, counted, format_seconds

STOPPING = {"SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT"}
LAUNCHERS_OWN = {"SIGKILL", *STOPPING}
"""Signals by which launchers end the ranks that are left when one has failed."""

INTERRUPT = "KeyboardInterrupt"
SEEN_AT_ONCE_NS = 1_000_000
"""Ends of processes of one launcher that lie no further apart are seen in any order."""

LONG_BEFORE_NS = 1_000_000_000
"""Clocks and signs of life are exact to less."""

_BY_SIGNAL = {EndKind.KILLED, EndKind.ABORTED_IN_TEARDOWN}


def incomplete_ranks(trace: Trace) -> list[int]:
    """Ranks that left a recording but did not end by themselves."""
    return [rank.number for rank in trace.ranks if not rank.ending.is_natural]


def endings(trace: Trace) -> tuple[schema.Ending, ...]:
    """The `endings` of analysis.json, by rank."""
    first = first_to_fail(trace)
    return tuple(_ending(trace, rank, is_first=rank is first) for rank in trace.ranks)


def _ending(trace: Trace, rank: Rank, *, is_first: bool) -> schema.Ending:
    raised = rank.ending.raised
    return schema.Ending(
        rank=rank.number,
        host=rank.host,
        pid=rank.pid,
        kind=rank.ending.kind,
        code=rank.ending.code,
        text=ending_text(trace, rank),
        start_s=rank.start_ns * NS,
        end_s=rank.end_ns * NS,
        in_operation=last_operation(rank),
        exception=None if raised is None else schema.RaisedException(**vars(raised)),
        is_out_of_memory=_is_killed_for_memory(rank),
        is_first=is_first,
    )


def ending_text(trace: Trace, rank: Rank) -> str:
    """How a rank ended: `finalized`, `killed by SIGKILL (9) in MPI_Allreduce`, ..."""
    ending = rank.ending
    if ending.raised is not None:
        return f"{_raised_text(ending)}{_after_raising(rank)}"
    if ending.kind is EndKind.UNKNOWN and trace.format is not Format.PERFSCOPE:
        return f"end unknown{_place(rank)}"
    return f"{_TEXTS[ending.kind](rank)}{_for_memory(trace, rank)}"


def _raised_text(ending: Ending) -> str:
    raised = ending.raised
    assert raised is not None
    file = PurePosixPath(raised.file).name
    place = f" at {file}:{raised.line}" if file and raised.line else f" in {file}" if file else ""
    if raised.type == INTERRUPT:
        return f"interrupted ({INTERRUPT}){place}"
    return f"ended with {raised.type}{place}"


def _after_raising(rank: Rank) -> str:
    """What came after an exception: mpi4py finalizes at exit, and others may never come there."""
    ending = rank.ending
    if ending.kind in {EndKind.FINALIZED, EndKind.EXITED}:
        return f", exit code {ending.code}" if ending.code else ""
    if ending.kind is EndKind.ABORTED:
        return f", then {_aborted(rank)}"
    if last_operation(rank) == "MPI_Finalize":
        how = "the run ended" if ending.code is None else f"it was killed by {_signal(ending)}"
        return f", then waited in MPI_Finalize until {how}"
    return "" if ending.code is None else f", then was killed by {_signal(ending)}"


def _stopped(_rank: Rank) -> str:
    return "stopped on request"


def _finalized(rank: Rank) -> str:
    return f"finalized, exit code {rank.ending.code}" if rank.ending.code else "finalized"


def _exited(rank: Rank) -> str:
    code = rank.ending.code
    text = "exited" if code is None else f"exited with code {code}"
    if rank.init_exit_ns is None or not speaks_mpi(rank):
        return text
    return f"{text} {'in' if rank.finalize_enter_ns is not None else 'without'} MPI_Finalize"


def _killed(rank: Rank) -> str:
    inside = last_operation(rank)
    place = f" in {inside}" if inside else ""
    return f"killed by {_signal(rank.ending)}{place}"


def _is_killed_as_for_memory(rank: Rank) -> bool:
    """Whether a rank was killed by the signal that the kernel sends where memory ran out."""
    return rank.ending.kind in _BY_SIGNAL and rank.ending.code == Signals.SIGKILL


def _is_killed_for_memory(rank: Rank) -> bool:
    """Whether the rank's own samples tell that the kernel killed it because memory ran out."""
    return _is_killed_as_for_memory(rank) and memory_ran_out(rank)


def _for_memory(trace: Trace, rank: Rank) -> str:
    """That memory ran out, of a rank that was killed as the kernel kills then."""
    if not _is_killed_as_for_memory(rank):
        return ""
    if _is_killed_for_memory(rank):
        return "; the kernel killed processes of its cgroup because memory ran out"
    if not (count := kills_with(trace, rank)):
        return ""
    which = wording.processes(count)
    return f"; the kernel ended {which} for lack of memory on this host at that time"


def _killed_in_teardown(rank: Rank) -> str:
    if last_operation(rank) is None and rank.ending.code is not None:
        return f"killed by {_signal(rank.ending)} in teardown, after its work was done"
    return _killed(rank) if rank.ending.code is not None else "aborted in teardown"


def _aborted(rank: Rank) -> str:
    code = rank.ending.code
    return "called MPI_Abort" if code is None else f"called MPI_Abort with code {code}"


def _place(rank: Rank) -> str:
    inside = last_operation(rank)
    return f", last seen in {inside}" if inside else ""


def _unknown(rank: Rank) -> str:
    place = _place(rank)
    if rank.detail_end_ns is not None:
        return f"end unknown{place}: its records end before"
    return f"no record of how it ended{place}: killed from outside, or still running"


_TEXTS = {
    EndKind.FINALIZED: _finalized,
    EndKind.EXITED: _exited,
    EndKind.KILLED: _killed,
    EndKind.ABORTED: _aborted,
    EndKind.ABORTED_IN_TEARDOWN: _killed_in_teardown,
    EndKind.STOPPED: _stopped,
    EndKind.UNKNOWN: _unknown,
}


def speaks_mpi(rank: Rank) -> bool:
    """Whether the rank communicated through MPI, and not only through another library."""
    names = [name_of(operation) for operation in rank.totals]
    return not names or any(name.startswith("MPI_") for name in names)


def last_operation(rank: Rank) -> str | None:
    """The operation that the rank's main thread was in when it ended, None outside any."""
    rows = rank.operations
    opened = open_rows(rows["flags"])
    mine = opened[rows["tid"][opened] == rank.main_tid]
    return name_of(int(rows["op"][mine[-1]])) if len(mine) else None


def _signal(ending: Ending) -> str:
    name = _known_signal(ending.code)
    return f"{name} ({ending.code})" if name else _signal_name(ending.code)


def _signal_name(number: int | None) -> str:
    return _known_signal(number) or f"signal {number}"


def _known_signal(number: int | None) -> str:
    """The name of a signal, "" of a number that has none."""
    try:
        return Signals(number or 0).name
    except ValueError:
        return ""


def first_to_fail(trace: Trace) -> Rank | None:
    """The rank whose end took the others along, None when nothing failed or all were stopped.

    A failure of its own (an exception, MPI_Abort, a crash, an exit code) counts before signals
    that launchers send; of several the earliest. What was killed long before is no answer of a
    launcher: others may fail because it is gone. Ends that are seen at once may be told in any
    order: who waits in a call for others was not the first then.
    """
    failed = [rank for rank in trace.ranks if not rank.ending.is_natural]
    own = [rank for rank in failed if _failed_by_itself(rank)]
    if own:
        first = min(own, key=_failed_at_ns)
        return min((one for one in failed if _led_to(one, first)), key=_failed_at_ns, default=first)
    if stopping_signal(trace) is not None:
        return None
    known = [rank for rank in failed if rank.ending.kind is not EndKind.UNKNOWN]
    first_ns = min(map(_failed_at_ns, known), default=0)
    at_once = [rank for rank in known if _failed_at_ns(rank) <= first_ns + SEEN_AT_ONCE_NS]
    return min(at_once, key=_is_waiting, default=None)


def failed_with(trace: Trace) -> str:
    """The program's error that ended the run: `rank 0 ended with KeyError at a.py:12`; or ""."""
    first = None if went_on(trace) else first_to_fail(trace)
    raised = first.ending.raised if first is not None else None
    if first is None or raised is None or raised.type == INTERRUPT:
        return ""
    return f"rank {first.number} {_raised_text(first.ending)}"


def after_the_end(trace: Trace) -> str:
    """What to do first about the end of a run that failed, or may have; "" of one that did not.

    Who was asked to end did not fail, nor a job that went on with other ranks; and an exit code may
    be the program's answer.
    """
    first = None if went_on(trace) else first_to_fail(trace)
    if first is None:
        return ""
    if raised := failed_with(trace):
        return f"Mend the error that ended the run, and record again: {raised}."
    if first.ending.raised is not None:
        return ""
    how = _named_end(trace, first)
    if first.ending.kind in {EndKind.EXITED, EndKind.FINALIZED}:
        return f"Find out whether the run ended as it should, and record a whole one if not: {how}."
    return f"Find out what ended the run, mend that, and record again: {how}."


def _named_end(trace: Trace, rank: Rank) -> str:
    return f"rank {rank.number} {'was ' if _is_passive(rank) else ''}{ending_text(trace, rank)}"


def _led_to(rank: Rank, failed: Rank) -> bool:
    """Whether SIGKILL ended a rank, as its parent saw at once, long before another one failed.

    Other signals are asked for: a scheduler sends them to all ranks, of which some end later.
    """
    is_killed = rank.ending.kind is EndKind.KILLED and rank.ending.code == Signals.SIGKILL
    return (
        is_killed
        and not rank.silent_ns
        and _failed_at_ns(rank) + LONG_BEFORE_NS < _failed_at_ns(failed)
    )


def _is_waiting(rank: Rank) -> tuple[bool, int]:
    """Whether a rank ended inside a call, and when it ended."""
    return last_operation(rank) is not None, _failed_at_ns(rank)


def _failed_by_itself(rank: Rank) -> bool:
    ending = rank.ending
    if ending.raised is not None:
        return ending.raised.type != INTERRUPT
    if ending.kind in {EndKind.ABORTED, EndKind.EXITED}:
        return True
    crashed = ending.kind in _BY_SIGNAL
    return crashed and _signal_name(ending.code) not in LAUNCHERS_OWN


def _failed_at_ns(rank: Rank) -> int:
    """When the trouble began: who raised an exception may have waited for the others since."""
    if rank.ending.raised is not None and rank.finalize_enter_ns is not None:
        return rank.finalize_enter_ns
    return rank.end_ns


def stopping_signal(trace: Trace) -> str | None:
    """The signal by which somebody stopped the whole run, None when it was not stopped."""
    received = trace.environment.get("signals_received")
    told = [name for name in received if name in STOPPING] if isinstance(received, list) else []
    if told:
        return str(told[0])
    if any(rank.ending.raised and rank.ending.raised.type == INTERRUPT for rank in trace.ranks):
        return "SIGINT"
    return None


def _is_passive(rank: Rank) -> bool:
    """Whether the words on an end are what was done to the rank: `killed by ...`."""
    ending = rank.ending
    if ending.raised is not None:
        return ending.raised.type == INTERRUPT
    return ending.kind is EndKind.KILLED or (
        ending.kind is EndKind.ABORTED_IN_TEARDOWN and ending.code is not None
    )


def is_of_the_trace(trace: Trace) -> bool:
    """Whether all that is known is that a file ends early: nobody saw the job itself end."""
    ends = [rank.ending for rank in trace.ranks if not rank.ending.is_natural]
    is_unseen = all(ending.kind is EndKind.UNKNOWN and ending.raised is None for ending in ends)
    return trace.format is not Format.PERFSCOPE and bool(ends) and is_unseen


def account_of_ends(trace: Trace) -> str:
    """On a run that was cut short: why, when, what became of the others, and of the job itself."""
    early = [rank for rank in trace.ranks if not rank.ending.is_natural]
    if not early:
        return ""
    rest = ""
    if went_on(trace) and trace.elsewhere_ns > 0:
        rest = (
            " The job itself went on with other ranks and ended well: perfscope restarts tells of "
            "all its attempts."
        )
    elif went_on(trace):
        rest = " The job itself went on with the ranks that it had then, and ended well."
    return _account(trace, early) + rest


def went_on(trace: Trace) -> bool:
    """Whether the job ended well with other ranks than those that ended early."""
    return trace.exit_code == 0 and (trace.elsewhere_ns > 0 or has_changing_ranks(trace))


def _account(trace: Trace, early: list[Rank]) -> str:
    first = first_to_fail(trace)
    if first is not None:
        at = format_seconds(_failed_at_ns(first) * NS)
        others = len(early) - 1
        rest = f"; {counted(others, 'other rank')} ended after it"
        return (
            f"The run was cut short {at} after the start: {_named_end(trace, first)}"
            f"{rest if others else ''}."
        )
    end = format_seconds(max(rank.end_ns + rank.silent_ns for rank in early) * NS)
    if (signal := stopping_signal(trace)) is not None:
        stop = f"{signal} (Ctrl-C)" if signal == "SIGINT" else signal
        return f"The run was stopped by {stop}, {end} after the start."
    if (number := trace.environment.get("signal")) is not None:
        return (
            f"The run was cut short {end} after the start: the command itself was killed by "
            f"{_signal_name(number)}, and its ranks ended with it."
        )
    which = wording.ranks([rank.number for rank in early])
    if is_of_the_trace(trace):
        return f"The trace ends before the run does ({which}: {ending_text(trace, early[0])})."
    return (
        f"The run was cut short, {end} after the start ({which}: {ending_text(trace, early[0])})."
    )
