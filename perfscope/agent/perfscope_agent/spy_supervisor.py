"""Runs py-spy on one process and its children until they end: a program of its own, never imported.

The process itself starts it (`spy.py`) and forgets it: a child of the job would be one more process
to wait for, one that holds its output open, and one that gets its signals. py-spy writes only at
its end, so it is run for a minute at a time: a node that dies takes no more than that with it.
"""

from __future__ import annotations

import contextlib
import gzip
import importlib
import json
import os
import re
import signal
import subprocess
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

SCHEMA = 1
STATE_ENDING = ".stacks.json"
SEGMENT_S = 60
SEGMENTS_IN_A_ROW = 10
"""After so many segments the pauses between them begin to grow: hours cost no more than minutes."""
GONE_S = 2.0
"""So long after the process py-spy is asked to end: what the process left behind may live on."""
LONGEST_END_S = 15.0
"""py-spy that has not ended so long after the process is ended."""
MOST_TEXT = 400
# The first frame of each process is its command line, which may hold secrets.
_COMMAND_LINE = re.compile(rb'"name":"process (\d+):(?:[^"\\]|\\.)*"')

_TEXT = re.compile(rb'("(?:[^"\\\\]|\\\\.)*")')
_known: dict[bytes, bytes] = {}

_is_asked_to_end = False


class Supervisor:
    """Samples one process until it ends; `state` is what the reader of the files needs to know."""

    def __init__(
        self, spy: str, pid: int, base: str, hz: int, most_bytes: int, thread: int
    ) -> None:
        self._spy = spy
        self._pid = pid
        self._base = base
        self._left_bytes = most_bytes
        self._start = _start_ticks(pid)
        self.state: dict[str, Any] = {
            "schema": SCHEMA,
            "pid": pid,
            "supervisor": os.getpid(),
            "hz": hz,
            "main_thread": thread,
            "segments": [],
            "paused_s": 0.0,
            "is_over": False,
            "reason": None,
        }

    def run(self) -> None:
        """Samples in segments; the state on disk is always one that can be read."""
        self._write_state()
        try:
            while self._is_alive() and not _is_asked_to_end:
                if not self._segment(len(self.state["segments"])):
                    break
                self._pause()
        except (OSError, ValueError) as error:
            self.state["reason"] = "%s: %s" % (type(error).__name__, error)
        if not self.state["segments"] and self.state["reason"] is None:
            self.state["reason"] = "the process ended before py-spy had started"
        self.state["is_over"] = True
        self._write_state()

    def _segment(self, number: int) -> bool:
        """Runs py-spy once; False when there is nothing more to sample or no way to."""
        raw = "%s.stacks-%d.json" % (self._base, number)
        begin_ns = time.monotonic_ns()
        code, said = self._sample(raw)
        end_ns = time.monotonic_ns()
        if code != 0 or not os.path.exists(raw):
            if self._is_alive() or "ermission" in said:
                self.state["reason"] = said or "py-spy ended with exit code %d" % code
            _remove(raw)
            return False
        size = _compress(raw)
        self._left_bytes -= size
        self.state["segments"].append(
            {"file": os.path.basename(raw) + ".gz", "begin_ns": begin_ns, "end_ns": end_ns}
        )
        self._write_state()
        if self._left_bytes <= 0:
            self.state["reason"] = "the size limit was reached (--max-size)"
            return False
        return True

    def _sample(self, output: str) -> tuple[int, str]:
        """py-spy's exit code and what it said of an error.

        It reads the process while that goes on (`--nonblocking`): to stop a process for every
        sample would break calls that a signal interrupts, and cost time.
        """
        options = "--subprocesses --idle --nonblocking --full-filenames --format chrometrace"
        command = [self._spy, "record", "--pid", str(self._pid), *options.split()]
        command += ["--rate", str(self.state["hz"]), "--duration", str(SEGMENT_S)]
        running = subprocess.Popen(
            [*command, "--output", output],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )
        looked = seen_alive = time.monotonic()
        while True:
            try:
                _, said = running.communicate(timeout=0.1)
                break
            except subprocess.TimeoutExpired:
                if _is_asked_to_end:
                    running.send_signal(signal.SIGINT)
            if time.monotonic() - looked > 1.0:
                looked = time.monotonic()
                seen_alive = looked if self._is_alive() else seen_alive
                gone_s = looked - seen_alive
                if gone_s > LONGEST_END_S:
                    running.kill()
                elif gone_s > GONE_S:
                    running.send_signal(signal.SIGINT)
        lines = [line.strip() for line in said.decode("utf-8", "replace").splitlines()]
        return running.returncode, " ".join(line for line in lines if line)[:MOST_TEXT]

    def _pause(self) -> None:
        """Waits between segments, the longer the run is, and not at all in its first minutes."""
        pause_s = SEGMENT_S * (len(self.state["segments"]) // SEGMENTS_IN_A_ROW)
        began = time.monotonic()
        while time.monotonic() - began < pause_s and self._is_alive() and not _is_asked_to_end:
            time.sleep(0.5)
        self.state["paused_s"] += round(time.monotonic() - began, 3) if pause_s else 0.0

    def _is_alive(self) -> bool:
        return self._start != 0 and _start_ticks(self._pid) == self._start

    def _write_state(self) -> None:
        path = self._base + STATE_ENDING
        with open(path + ".new", "w", encoding="ascii") as stream:
            json.dump(self.state, stream)
        os.replace(path + ".new", path)


def _compress(raw: str) -> int:
    """Replaces py-spy's file by one that is compressed and holds no secrets; its size in bytes."""
    with open(raw, "rb") as stream:
        text = _COMMAND_LINE.sub(rb'"name":"process \1"', stream.read())
    text = _TEXT.sub(_safe_text, text)
    packed = raw + ".gz"
    with gzip.open(packed + ".new", "wb", compresslevel=1) as stream:
        stream.write(text)
    os.replace(packed + ".new", packed)
    _remove(raw)
    return os.path.getsize(packed)


def _safe_text(found: re.Match[bytes]) -> bytes:
    """A name of a function, a file or a thread; the same ones come again and again."""
    written = found.group(1)
    known = _known.get(written)
    if known is None:
        rules = importlib.import_module("perfscope_agent.secrets.redact")
        text = json.loads(written.decode("utf-8", "replace"), strict=False)
        safe = rules.redact_path(text)
        known = written if safe == text else json.dumps(safe).encode("ascii")
        _known[written] = known
    return known


def _remove(path: str) -> None:
    with contextlib.suppress(OSError):
        os.unlink(path)


def _start_ticks(pid: int) -> int:
    """When a process started, 0 when it is gone or a zombie: pids are given again."""
    try:
        with open("/proc/%d/stat" % pid, "rb") as stream:
            fields = stream.read().rpartition(b")")[2].split()
    except OSError:
        return 0
    return 0 if fields[0] in (b"Z", b"X") else int(fields[19])


def _ask_to_end(_number: int, _frame: Any) -> None:
    global _is_asked_to_end
    _is_asked_to_end = True


def _make_way() -> None:
    """Leaves the core that the rank may be bound to, as far as the job may use others."""
    with contextlib.suppress(OSError):
        os.sched_setaffinity(0, range(os.cpu_count() or 1))
    with contextlib.suppress(OSError):
        os.nice(5)


def main(arguments: list[str]) -> None:
    """Leaves the process that started it, tells it the new process id, and samples."""
    child = os.fork()
    if child:
        os.write(1, b"%d\n" % child)
        os._exit(0)
    null = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(null, number)
    _make_way()
    signal.signal(signal.SIGTERM, _ask_to_end)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # Started without a search path of its own; the rules for secrets lie beside this file.
    sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    spy, pid, base, hz, most_bytes, thread = arguments
    if os.path.isabs(base):
        os.chdir("/")  # what the job was started in may be removed
    Supervisor(spy, int(pid), base, int(hz), int(most_bytes), int(thread)).run()


if __name__ == "__main__":
    main(sys.argv[1:])
