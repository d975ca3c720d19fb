"""Tells signals sent to the whole process group from signals sent to perfscope alone.

A signal to the group has reached the job already and must not be passed on a second time. The
kernel does not say which of the two it was, so a process that does nothing but wait stands in the
group and reports what it gets, and when.

`timeout` and others send a signal to both at once. Without perfscope these are one to the job, as
the second one comes while the first one is pending.
"""

import contextlib
import os
import select
import signal
import struct
import time
from pathlib import Path
from types import TracebackType

_REPORT_WITHIN_S = 0.05
_MOST_LOOKS = 20  # for a witness that has no CPU
_REPORT = struct.Struct("=qB")  # when, by the monotonic clock in nanoseconds, and which signal
_LOOK_FOR_PARENT_S = 1.0
_HIGHEST_FD = 4096


class GroupWatch:
    """A witness in this process's group for a set of signals, which the caller has blocked."""

    def __init__(self, watched: frozenset[signal.Signals]) -> None:
        self._reports, report_to = os.pipe()
        self._reached_ns: dict[int, int] = {}  # when the group got each signal last
        self._unanswered: set[int] = set()  # of which nobody has asked since
        parent = os.getpid()
        try:
            self._witness = os.fork()
        except OSError:
            self._witness = -1
        if self._witness == 0:
            _watch(watched, report_to, parent)
        os.close(report_to)

    def was_sent_to_group(self, number: int) -> bool:
        """Whether the whole group has got this signal, at about the time at which it arrived here.

        What the group gets arrives here, too: a report that was not asked for yet is of this signal
        also where this process had no CPU meanwhile. One that was may be of it where both came at
        once. False without a witness.
        """
        now_ns = time.monotonic_ns()
        for _ in range(_MOST_LOOKS):
            within_s = _REPORT_WITHIN_S * (_MOST_LOOKS if number in self._unanswered else 1)
            if self._reached_ns.get(number, 0) > now_ns - int(within_s * 1e9):
                self._unanswered.discard(number)
                return True
            if select.select([self._reports], [], [], _REPORT_WITHIN_S)[0]:
                reports = os.read(self._reports, 64 * _REPORT.size)
                if not reports:
                    return False
                for at_ns, reported in _REPORT.iter_unpack(reports):
                    self._reached_ns[reported] = at_ns
                    self._unanswered.add(reported)
            elif self._has_none(number):
                return False
        return False

    def _has_none(self, number: int) -> bool:
        """Whether the witness waits and has no such signal that it has yet to report."""
        try:
            lines = Path(f"/proc/{self._witness}/status").read_text(encoding="utf-8").splitlines()
            told = dict(line.split(":\t", 1) for line in lines if ":\t" in line)
            pending = int(told["SigPnd"], 16) | int(told["ShdPnd"], 16)
            return told["State"].startswith("S") and not pending >> (number - 1) & 1
        except (OSError, KeyError, ValueError):
            return True

    def __enter__(self) -> "GroupWatch":  # noqa: PYI034, Self came with Python 3.11
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        os.close(self._reports)
        if self._witness > 0:
            with contextlib.suppress(ProcessLookupError, ChildProcessError):
                os.kill(self._witness, signal.SIGKILL)
                os.waitpid(self._witness, 0)


def _watch(watched: frozenset[signal.Signals], report_to: int, parent: int) -> None:
    """The life of the witness; it holds nothing open that a reader of the output could wait for."""
    try:
        os.closerange(0, report_to)
        os.closerange(report_to + 1, _HIGHEST_FD)
        while os.getppid() == parent:
            got = signal.sigtimedwait(watched, _LOOK_FOR_PARENT_S)
            if got is not None:
                os.write(report_to, _REPORT.pack(time.monotonic_ns(), got.si_signo))
    finally:
        os._exit(0)
