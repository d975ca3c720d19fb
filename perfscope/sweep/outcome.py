"""How a run of a sweep ended: the record that makes it a finished run."""

import json
import time
from dataclasses import asdict
from enum import Enum
from pathlib import Path
from signal import Signals
from typing import Any, Final

from perfscope import files
from perfscope.output import shortened
from perfscope.record.redact import redact_value
from perfscope.record.rundir import RUN_FILE
from perfscope.schema.read import read_as
from perfscope.schema.sweep import RunRecord
from perfscope.structures import dataclass

SCHEMA_VERSION: Final = "1"
OUTCOME_FILE = "outcome.json"
RECORDING = "recording"
OUTPUT_FILE, ERRORS_FILE = "stdout.txt", "stderr.txt"
TIME_LIMIT_FILE = "time-limit"
"""Written before a run is ended for its length, so that this is known whatever happens next."""
_MOST_BYTES = 16 << 20
_TAIL_BYTES = 64 << 10
MOST_LAST_LINES, LONGEST_LINE, MOST_LETTERS = 3, 160, 8000
_NOT_STARTED = (125, 126, 127)
_SIGNAL_BASE = 128
# What programs print when an allocation fails, in lower case.
_MEMORY_SIGNS = (
    b"memoryerror",
    b"std::bad_alloc",
    b"out of memory",
    b"outofmemoryerror",
    b"oom when allocating",
    b"oom_kill",
    b"cannot allocate memory",
    b"unable to allocate",
)
_INTERRUPTING = {"SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT"}


class End(Enum):
    """Why a run ended; the set is closed."""

    FINISHED = "finished"
    OUT_OF_MEMORY = "out_of_memory"
    KILLED = "killed"
    EXIT_CODE = "exit_code"
    TIME_LIMIT = "time_limit"
    NOT_STARTED = "not_started"


@dataclass(frozen=True)
class Outcome:
    """What became of one run."""

    end: End  # why it ended
    exit_code: int  # of the job, 128 + n after signal n
    wall_s: float  # from its start to its end
    start_unix_s: float  # when it was started

    @property
    def reason(self) -> str:
        """How it ended, in words."""
        texts = {
            End.FINISHED: "finished",
            End.OUT_OF_MEMORY: f"out of memory ({_code_text(self.exit_code)})",
            End.KILLED: _code_text(self.exit_code),
            End.EXIT_CODE: _code_text(self.exit_code),
            End.TIME_LIMIT: "ended at the time limit",
            End.NOT_STARTED: f"could not be started ({_code_text(self.exit_code)})",
        }
        return texts[self.end]


def _code_text(code: int) -> str:
    signal = _signal_of(code)
    return f"exit code {code}" if signal is None else f"killed by {signal.name}"


def _signal_of(code: int) -> Signals | None:
    """The signal that ended a job with this exit code; None where it ended otherwise."""
    try:
        return Signals(code - _SIGNAL_BASE) if code > _SIGNAL_BASE else None
    except ValueError:
        return None


def write(place: Path, outcome: Outcome, *, run: str, configuration: int, repeat: int) -> None:
    """Writes the record of a run into its directory.

    Raises:
        OSError: the file system takes nothing.
    """
    found = RunRecord(
        schema_version=SCHEMA_VERSION,
        run=run,
        configuration=configuration,
        repeat=repeat,
        end=outcome.end.value,
        reason=outcome.reason,
        exit_code=outcome.exit_code,
        start_unix_s=outcome.start_unix_s,
        wall_s=outcome.wall_s,
        recording=RECORDING if (place / RECORDING / RUN_FILE).is_file() else None,
    )
    content = (json.dumps(asdict(found), indent=1) + "\n").encode("ascii")
    files.replace_file(place / OUTCOME_FILE, content, durable=True)


def judge(place: Path, *, exit_code: int, wall_s: float, start_unix_s: float) -> Outcome:
    """Why a run ended, from its exit code and what it left in its directory."""
    if (place / TIME_LIMIT_FILE).exists():
        end = End.TIME_LIMIT
    elif exit_code == 0:
        end = End.FINISHED
    elif _memory_ran_out(place):
        end = End.OUT_OF_MEMORY
    elif _signal_of(exit_code) is not None:
        end = End.KILLED
    elif exit_code in _NOT_STARTED and not (place / RECORDING / RUN_FILE).exists():
        end = End.NOT_STARTED
    else:
        end = End.EXIT_CODE
    return Outcome(end, exit_code, wall_s, start_unix_s)


def is_over(place: Path) -> bool:
    """Whether the recording of a run has its end."""
    match _run_file(place):
        case {"end_mono_ns": int()}:
            return True
    return False


def age_s(place: Path) -> float:
    """Seconds since the job of a run was started; 0 while nothing tells."""
    match _run_file(place):
        case {"start_unix_ns": int(began)}:
            return max(0.0, time.time() - began / 1e9)
    return 0.0


def _run_file(place: Path) -> Any:
    try:
        return files.read_json(place / RECORDING / RUN_FILE, _MOST_BYTES)
    except (OSError, ValueError):
        return None


def from_recording(place: Path) -> Outcome | None:
    """The outcome of a run whose recording is complete though nobody was left to note it.

    None when the job did not come to its own end: such a run has to be made again.
    """
    match _run_file(place):
        case {
            "start_unix_ns": int(began),
            "start_mono_ns": int(start),
            "end_mono_ns": int(end),
            "exit_code": int(code),
            "signals_received": [*signals],
        }:
            was_ended = any(one in _INTERRUPTING for one in signals if isinstance(one, str))
            if was_ended and not (place / TIME_LIMIT_FILE).exists():
                return None
            wall_s = (end - start) / 1e9
            return judge(place, exit_code=code, wall_s=wall_s, start_unix_s=began / 1e9)
    return None


def _memory_ran_out(place: Path) -> bool:
    """Whether the job said so at the end of its output; reports also read the kernel's counter."""
    return any(
        sign in _tail(place / name).lower()
        for name in (ERRORS_FILE, OUTPUT_FILE)
        for sign in _MEMORY_SIGNS
    )


def last_words(place: Path) -> list[str]:
    """What a run said last, without secrets, and the file that holds all of it."""
    for name in (ERRORS_FILE, OUTPUT_FILE):
        # secrets may stand on the line behind the one that tells of them
        text = redact_value(_tail(place / name).decode("utf-8", "replace")[-MOST_LETTERS:])
        said = [line.rstrip() for line in text.splitlines() if line.strip()][-MOST_LAST_LINES:]
        if said:
            shown = (shortened(line, LONGEST_LINE) for line in said)
            return [f"  Its last lines, of {place / name}:", *(f"    {line}" for line in shown)]
    return []


def _tail(path: Path) -> bytes:
    try:
        with files.open_input(path) as file:
            size = file.seek(0, 2)
            file.seek(max(0, size - _TAIL_BYTES))
            return file.read(_TAIL_BYTES)
    except OSError:
        return b""


def record(place: Path) -> RunRecord | None:
    """The record of a finished run, None when there is none that can be read."""
    try:
        return read_as(files.read_json(place / OUTCOME_FILE, _MOST_BYTES), RunRecord)
    except (OSError, ValueError):
        return None
