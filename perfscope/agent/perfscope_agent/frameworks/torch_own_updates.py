"""Steps of programs that update their parameters themselves, without an optimizer of PyTorch.

From one backward pass to the next is an iteration. Gradients may also be accumulated for an
optimizer that has not stepped yet, so the first ones are kept back until that is unlikely.
"""

from __future__ import annotations

from .. import steps

_KEPT_BACK = 64


class OwnUpdates:
    """What the backward passes have shown so far."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._pending: list[tuple[int, int, int]] = []
        self.is_over = False  # an optimizer updates the parameters: all that follows is nothing
        self._is_sure = False
        self._start_ns = 0  # of the running step, 0 none
        self._end_ns = 0  # of its backward pass
        self._samples = 0  # of the running step
        self._delivered = 0  # samples delivered until it began

    def begins_backward(self, now_ns: int, delivered: int) -> None:
        """A backward pass begins, and with it a step; `delivered` are all samples until now."""
        self._close(now_ns)
        self._start_ns = now_ns
        self._samples, self._delivered = delivered - self._delivered, delivered

    def ends_backward(self, now_ns: int) -> None:
        """A backward pass is over; the update follows."""
        self._end_ns = now_ns

    def cut(self, now_ns: int) -> None:
        """Something that is no training follows."""
        self._close(now_ns)

    def end(self) -> None:
        """An optimizer has stepped: its steps are the program's."""
        self.is_over = True
        self._start_ns = 0
        self._pending.clear()

    def finish(self) -> None:
        """Writes what was kept back."""
        self._close(self._end_ns)
        self._is_sure = True
        self._write()

    def _close(self, end_ns: int) -> None:
        if self._start_ns and end_ns > self._start_ns:
            self._pending.append((self._start_ns, end_ns, self._samples))
            self._is_sure = self._is_sure or len(self._pending) >= _KEPT_BACK
            self._write()
        self._start_ns = 0

    def _write(self) -> None:
        if self._is_sure:
            for start_ns, end_ns, samples in self._pending:
                steps.emit(self._source, start_ns, end_ns, samples=samples)
            self._pending.clear()
