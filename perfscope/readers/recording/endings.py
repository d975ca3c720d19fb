"""How each process ended, from all that tells: its flags, its parent, the command's exit code."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from signal import Signals

import numpy as np

from perfscope import files
from perfscope.readers.recording import agent_metadata
from perfscope.readers.recording.layout import HeaderFlag
from perfscope.readers.recording.process_file import ProcessFile
from perfscope.schema.enums import EndKind
from perfscope.structures import dataclass
from perfscope.trace.model import Ending, Raised, Rank, open_rows
from perfscope.trace.operations import OperationClass, codes_mask, name_of

TRUSTED_DELAY_NS = 10**9
"""A parent that saw the end within this time of the last sign of life saw it as it happened."""

MAX_ENDS_BYTES = 16 << 20
MAX_TYPE_LENGTH = 100

_CODE_OF_SIGNAL = 128
"""What shells add to the number of a signal, as handlers of the program may."""

_FINALIZE = codes_mask([OperationClass.FINALIZE])


@dataclass(frozen=True)
class ObservedEnd:
    """What a parent's waitpid returned for one child."""

    start_ticks: int  # 0 unknown
    wait_status: int
    mono_ns: int

    @property
    def signal(self) -> int | None:
        """The signal that killed the child, if one did."""
        number = self.wait_status & 0x7F
        return number if 0 < number < 0x7F else None

    @property
    def exit_code(self) -> int | None:
        """The exit code of the child, if it exited."""
        return (self.wait_status >> 8) & 0xFF if self.wait_status & 0x7F == 0 else None


ObservedEnds = Mapping[int, list[ObservedEnd]]


def read_ends(paths: Iterable[Path]) -> tuple[ObservedEnds, list[str]]:
    """All ends seen by the parents on one host, by pid, and notes about senseless lines."""
    ends: dict[int, list[ObservedEnd]] = {}
    notes: list[str] = []
    for path in paths:
        try:
            lines = files.read_bytes(path, MAX_ENDS_BYTES).decode("ascii", "replace").splitlines()
        except OSError as error:
            notes.append(f"{path.name} cannot be read ({error.strerror}).")
            continue
        damaged = 0
        for line in lines:
            parsed = _parse(line)
            if parsed is None:
                damaged += 1
            else:
                ends.setdefault(parsed[0], []).append(parsed[1])
        if damaged:
            notes.append(f"{path.name}: {damaged} damaged lines were ignored.")
    return ends, notes


def _parse(line: str) -> tuple[int, ObservedEnd] | None:
    words = line.split()
    if len(words) != 4 or not all(word.isascii() and word.isdigit() for word in words):
        return None
    if any(len(word) > 19 for word in words):
        return None
    pid, start_ticks, wait_status, mono_ns = map(int, words)
    if pid == 0 or wait_status > 0xFFFF:
        return None
    return pid, ObservedEnd(start_ticks, wait_status, mono_ns)


def observed_end(process: ProcessFile, ends: ObservedEnds) -> ObservedEnd | None:
    """What the parent of this very process saw, not of another one that had its pid."""
    candidates = ends.get(process.pid, [])
    for end in candidates:
        if end.start_ticks == process.start_ticks and end.start_ticks:
            return end
    late = [e for e in candidates if not e.start_ticks and e.mono_ns >= process.last_sign_ns]
    return min(late, key=lambda end: end.mono_ns, default=None)


def raised_by(process: ProcessFile) -> Raised | None:
    """The uncaught exception that the agent noted, None without one."""
    told = agent_metadata.mapping(process.metadata, "exception")
    if not (name := agent_metadata.text(told, "type")):
        return None
    return Raised(
        type=name[:MAX_TYPE_LENGTH],
        message=agent_metadata.text(told, "message"),
        file=agent_metadata.text(told, "file"),
        line=max(agent_metadata.integer(told, "line") or 0, 0),
    )


def ending_of(
    process: ProcessFile,
    seen: ObservedEnd | None,
    *,
    command_exit: tuple[int | None, int | None] | None = None,
) -> Ending:
    """How a process ended, and the exception that ended it unless it then exited with 0.

    `seen` is what its parent saw; `command_exit` is (exit code, signal) of the command when this
    process is the command itself. Of a command that a signal killed, the code is 128 + signal,
    which says less than the signal.
    """
    ending = _ending(process, seen, command_exit)
    exited_well = ending.kind in {EndKind.FINALIZED, EndKind.EXITED} and ending.code == 0
    return ending if exited_well else replace(ending, raised=raised_by(process))


def _ending(
    process: ProcessFile,
    seen: ObservedEnd | None,
    command_exit: tuple[int | None, int | None] | None,
) -> Ending:
    flags = process.flags
    finalized = bool(flags & HeaderFlag.FINALIZED)
    if seen is not None and seen.signal is not None:
        return _killed(process, seen.signal, "seen by its launcher")
    if seen is None and command_exit is not None and command_exit[1] is not None:
        return _killed(process, command_exit[1], "signal of the command")
    if flags & HeaderFlag.ABORTED:
        return Ending(EndKind.ABORTED, process.exit_code, "MPI_Abort was called")
    code, source = _exit_code(process, seen, command_exit)
    if finalized:
        return Ending(EndKind.FINALIZED, code, source or "MPI_Finalize returned")
    if code is not None:
        return Ending(EndKind.EXITED, code, source)
    return Ending(EndKind.UNKNOWN, None, "nothing tells how it ended")


def _killed(process: ProcessFile, signal: int, source: str) -> Ending:
    in_teardown = HeaderFlag.FINALIZE_ENTERED | HeaderFlag.FINALIZED | HeaderFlag.EXITED
    if process.flags & HeaderFlag.ABORTED:
        return Ending(EndKind.ABORTED, process.exit_code, f"MPI_Abort, then signal {signal}")
    done = process.flags & in_teardown or agent_metadata.integer(process.metadata, "program_end_ns")
    kind = EndKind.ABORTED_IN_TEARDOWN if done else EndKind.KILLED
    return Ending(kind, signal, source)


def _exit_code(
    process: ProcessFile,
    seen: ObservedEnd | None,
    command_exit: tuple[int | None, int | None] | None,
) -> tuple[int | None, str]:
    if seen is not None and seen.exit_code is not None:
        return seen.exit_code, "seen by its launcher"
    if process.flags & HeaderFlag.EXITED:
        return process.exit_code, "the process told when it exited"
    if command_exit is not None and command_exit[0] is not None:
        return command_exit[0], "exit code of the command"
    return None, ""


def stopped_on_request(ending: Ending) -> Ending:
    """What an ending is in a job that was ended with --stop-after: its signals were asked for."""
    by_signal = ending.kind is EndKind.KILLED and ending.code in (Signals.SIGTERM, Signals.SIGKILL)
    by_handler = ending.kind is EndKind.EXITED and ending.code != 0
    if by_signal or by_handler or ending.kind is EndKind.UNKNOWN:
        return Ending(EndKind.STOPPED, ending.code, "perfscope run --stop-after ended the job")
    return ending


def ended_by_its_job(ending: Ending) -> Ending:
    """What an ending is in a job that ended well by itself: who was sent SIGTERM was sent home.

    Such as the kernel of a notebook, or a service, by the program that started it.
    """
    kinds = (EndKind.KILLED, EndKind.ABORTED_IN_TEARDOWN)
    if ending.kind in kinds and ending.code == Signals.SIGTERM:
        return Ending(EndKind.STOPPED, ending.code, "its job ended it, and then ended well")
    return ending


def after_work(rank: Rank) -> Ending:
    """What the end of a rank is in a job that ended well by itself.

    However the programs that started it take it away, as Ray does with its workers: that cuts
    nothing short where its communication was finalized before. Of one that left no sign of its end
    nobody knows that it came so far.
    """
    ending, rows = rank.ending, rank.operations
    is_told = ending.kind not in (EndKind.ABORTED, EndKind.UNKNOWN) and not ending.raised
    if not is_told or rank.finalize_enter_ns is None:
        return ending
    is_inside = np.any(_FINALIZE[rows["op"][open_rows(rows["flags"])]])
    return ending if is_inside else replace(ending, is_after_work=True)


def left_by_themselves(ranks: Sequence[Rank]) -> bool:
    """Whether no rank failed, and some told by their exit code what they found.

    As a test runner, a linter or a trial of a search does. Python had run its exit handlers without
    an exception, no signal had a part in it, and whoever speaks MPI had finalized it. Where another
    rank ended otherwise, the code may be an answer to that.
    """
    return all(rank.ending.is_natural or _has_left(rank) for rank in ranks)


def _has_left(rank: Rank) -> bool:
    ending = rank.ending
    code = ending.code or 0
    is_whole = rank.finalize_enter_ns is not None or not _speaks_mpi(rank)
    of_signal = code - _CODE_OF_SIGNAL in set(Signals)
    is_told = ending.kind is EndKind.EXITED and rank.program_end_ns is not None
    return is_told and is_whole and not ending.raised and not of_signal


def _speaks_mpi(rank: Rank) -> bool:
    return any(name_of(operation).startswith("MPI_") for operation in rank.totals)


def end_time_ns(process: ProcessFile, last_sign_ns: int, seen: ObservedEnd | None) -> int:
    """When the process ended: by its own word, else its parent's, else its last sign of life."""
    if process.exit_ns is not None or seen is None or seen.mono_ns > process.bound_ns:
        return last_sign_ns
    if silent_ns(process, last_sign_ns, seen):
        return last_sign_ns
    return max(last_sign_ns, seen.mono_ns)


def silent_ns(process: ProcessFile, last_sign_ns: int, seen: ObservedEnd | None) -> int:
    """For how long a process that gives signs gave none before its parent saw it end.

    0 of one that told its end, or whose parent saw it as it happened.
    """
    if process.exit_ns is not None or seen is None or seen.mono_ns > process.bound_ns:
        return 0
    sampler_on = int(process.header["sampler_hz"]) > 0
    delay_ns = seen.mono_ns - last_sign_ns
    return delay_ns if sampler_on and delay_ns > TRUSTED_DELAY_NS else 0
