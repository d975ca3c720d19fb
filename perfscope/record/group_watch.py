"""Tells signals sent to the whole process group from signals sent to perfscope alone.

A signal to the group has reached the job already and must not be passed on a second time. The
kernel does not say which of the two it was, so a process that does nothing but wait stands in the
group and reports what it gets.
"""

import contextlib
import os
import select
import signal
from types import TracebackType

_REPORT_WITHIN_S = 0.05
_LOOK_FOR_PARENT_S = 1.0
_HIGHEST_FD = 4096


class GroupWatch:
    """A witness in this process's group for a set of signals, which the caller has blocked."""

    def __init__(self, watched: frozenset[signal.Signals]) -> None:
        self._reports, report_to = os.pipe()
        parent = os.getpid()
        try:
            self._witness = os.fork()
        except OSError:
            self._witness = -1
        if self._witness == 0:
            _watch(watched, report_to, parent)
        os.close(report_to)

    def was_sent_to_group(self, number: int) -> bool:
        """Whether a signal that arrived here reached the whole group; False without a witness."""
        if not select.select([self._reports], [], [], _REPORT_WITHIN_S)[0]:
            return False
        return number in os.read(self._reports, 64)

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
                os.write(report_to, bytes([got.si_signo]))
    finally:
        os._exit(0)
