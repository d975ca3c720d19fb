"""run.json: what was started, when, how, and how it ended.

It is written before the job starts and again when the job has ended.
"""

import json
import os
import socket
import time
from collections.abc import Sequence
from dataclasses import field
from pathlib import Path
from signal import Signals
from typing import Any

import perfscope
from perfscope.agent.perfscope_agent.topology import topology
from perfscope.files import replace_file
from perfscope.record.commit import commit
from perfscope.record.launch import RecordingOptions
from perfscope.record.launcher import Launcher
from perfscope.record.memory_kills import KillCounter, kill_counter
from perfscope.record.process import Ending
from perfscope.record.redact import (
    performance_environment,
    redact_command,
    redact_path,
    redact_value,
)
from perfscope.record.rundir import RUN_FILE
from perfscope.record.stop import StopRequest
from perfscope.structures import dataclass

SCHEMA = 1
_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
_TIME_NAMESPACE = Path("/proc/self/ns/time")


@dataclass
class RunFile:
    """The facts of one run, kept in the run directory."""

    directory: Path  # the run directory
    command: Sequence[str]  # the command line as given; secrets are replaced before it is written
    launcher: Launcher  # what the command starts
    options: RecordingOptions  # what was asked of the recording
    # sentences for the reader of the report, about this recording
    notes: list[str] = field(default_factory=list)
    stop: StopRequest | None = None  # the wish to end the job after a step, None without one
    _start: dict[str, Any] = field(default_factory=dict)
    _kills: KillCounter | None = field(default_factory=kill_counter)

    def write_start(self) -> None:
        """Writes what is known before the job starts.

        Raises:
            OSError: the file system takes nothing; what is there stays as it was.
        """
        self._start = {
            "start_unix_ns": time.time_ns(),
            "start_mono_ns": time.monotonic_ns(),
            # now, because the job may check out another one
            "commit": commit(Path(_working_directory()), os.environ),
            "oom_kills": self._kill_counts(),
        }
        self._write(end_mono_ns=None, ending=None)

    def write_end(self, ending: Ending) -> None:
        """Adds how the job ended.

        Raises:
            OSError: the file system takes nothing; the file of the start is still there.
        """
        if self.stop is not None and self._is_stopped:
            self.notes.append(f"stopped on request after step {self.stop.stopped_after}")
        if (counts := self._start.get("oom_kills")) is not None and self._kills is not None:
            counts["end"] = self._kills.read()
        self._write(end_mono_ns=time.monotonic_ns(), ending=ending)

    def _write(self, *, end_mono_ns: int | None, ending: Ending | None) -> None:
        document = {
            "schema": SCHEMA,
            "perfscope": perfscope.__version__,
            "command": redact_command(list(self.command)),
            "cwd": redact_path(_working_directory()),
            "host": socket.gethostname(),
            "boot_id": _boot_id(),
            "time_namespace": _time_namespace(),
            **self._start,
            "end_mono_ns": end_mono_ns,
            "launcher": self.launcher.as_json(),
            "ranks_requested": self.launcher.ranks_requested,
            "exit_code": self.exit_code(ending) if ending else None,
            "signal": ending.signal if ending and not self._is_stopped else None,
            "signals_received": [Signals(n).name for n in ending.received] if ending else [],
            "notes": [redact_value(note) for note in self.notes],
            "options": self.options.as_json(),
            "stopped": self._stopped(ending),
            "environment": performance_environment(),
            "topology": topology(),
        }
        text = json.dumps(document, indent=1) + "\n"
        content = text.encode("utf-8", "backslashreplace")
        replace_file(self.directory / RUN_FILE, content, durable=True)

    def _kill_counts(self) -> dict[str, Any] | None:
        """Processes that the kernel has ended for want of memory; None where it does not count."""
        if self._kills is None:
            return None
        return {"of": self._kills.scope, "start": self._kills.read(), "end": None}

    @property
    def _is_stopped(self) -> bool:
        return self.stop is not None and self.stop.stopped_after is not None

    def exit_code(self, ending: Ending) -> int:
        """What perfscope exits with: the command's own code, 0 when it was ended on request."""
        return 0 if self._is_stopped else ending.exit_code

    def _stopped(self, ending: Ending | None) -> dict[str, Any] | None:
        """How the command took being ended on request; None when it ended by itself."""
        if self.stop is None or not self._is_stopped:
            return None
        return {
            "after_step": self.stop.stopped_after,
            "mono_ns": self.stop.stopped_mono_ns,
            "exit_code": ending.exit_code if ending else None,
            "signal": ending.signal if ending else None,
        }


def _working_directory() -> str:
    try:
        return os.getcwd()  # noqa: PTH109 - text for people, not a path to open
    except OSError:
        return "(deleted)"


def _boot_id() -> str | None:
    try:
        return _BOOT_ID.read_text(encoding="ascii").strip()
    except OSError:
        return None


def _time_namespace() -> int | None:
    """In which CLOCK_MONOTONIC counts from a moment of its own."""
    try:
        return _TIME_NAMESPACE.stat().st_ino
    except OSError:
        return None
