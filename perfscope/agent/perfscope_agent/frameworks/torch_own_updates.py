"""Steps of programs that update their parameters themselves, without an optimizer of PyTorch.

From one backward pass to the next is an iteration, or to the next that meets other parameters,
where an update needs several. What passes do beyond that, as for a gradient that is only reported,
belongs to no step. Gradients may also be accumulated for an optimizer that has not stepped yet, so
the first ones are kept back until that is unlikely.
"""

from __future__ import annotations

from collections import Counter

from .. import steps
from .torch_leaves import Leaves

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, List, Tuple
    from typing import Counter as Counts

    Pass = Tuple[int, int, int]
    """When a pass and what follows it begins and ends, and its samples."""

_KEPT_BACK = 64


class OwnUpdates:
    """What the backward passes have shown so far."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._pending: list[List[Pass]] = []
        self._group: list[Pass] = []  # those since the last update, the first ones of many
        self._count = 0  # all of them
        self._passes: Counts[int] = Counter()  # updates that needed so many
        self._usual = 1  # so many most of them needed; 1 as long as nobody knows
        self._leaves = Leaves()
        self.is_over = False  # an optimizer updates the parameters: all that follows is nothing
        self._is_sure = False
        self._start_ns = 0  # of the running pass, 0 none
        self.end_ns = 0  # of its backward pass; the update follows
        self._samples = 0  # of the running pass
        self._delivered = 0  # samples delivered until it began

    def begins_backward(self, now_ns: int, delivered: int, given: tuple[Any, ...]) -> None:
        """A backward pass begins, and perhaps with it a step.

        `delivered` are all samples until now, `given` what the program gives to the pass.
        """
        self._close(now_ns)
        leaves = self._leaves
        if now_ns >= leaves.next_ns:
            is_same = leaves.are_as_before(given[0] if given else None)
        else:
            is_same, leaves.seen = None, {}
        if is_same is None:  # as many passes make an update as before
            if self._count >= self._usual:
                self._updated()
        elif not is_same:
            if self._count:
                self._passes[self._count] += 1
                self._usual = self._passes.most_common(1)[0][0]
            self._updated()
        self._start_ns = now_ns
        self._samples, self._delivered = delivered - self._delivered, delivered

    def cut(self, now_ns: int) -> None:
        """Something that is no training follows."""
        self._close(now_ns)

    def end(self) -> None:
        """An optimizer has stepped: its steps are the program's."""
        self.is_over = True
        self._start_ns = 0
        self._pending.clear()
        self._drop_group()

    def finish(self) -> None:
        """Writes what was kept back."""
        self._close(self.end_ns)
        self._keep_group()
        self._is_sure = True
        self._write()

    def _close(self, end_ns: int) -> None:
        """The running pass is over."""
        if self._start_ns and end_ns > self._start_ns:
            self._count += 1
            if self._count <= max(_KEPT_BACK, self._usual):
                self._group.append((self._start_ns, end_ns, self._samples))
        self._start_ns = 0
        if len(self._group) >= _KEPT_BACK and not self._passes:
            # nobody knows of an update: each may have its own
            self._pending += [[one] for one in self._group]
            self._drop_group()
            self._is_sure = True
            self._write()

    def _updated(self) -> None:
        """The parameters are others than in the passes so far."""
        if self._is_sure and self._count == 1 and not self._pending:  # in most programs
            (begin_ns, end_ns, samples), self._count = self._group.pop(), 0
            steps.emit(self._source, begin_ns, end_ns, samples=samples)
            return
        self._keep_group()
        self._is_sure = self._is_sure or len(self._pending) >= _KEPT_BACK
        self._write()

    def _keep_group(self) -> None:
        if self._group:
            self._pending.append(self._group)
        self._drop_group()

    def _drop_group(self) -> None:
        self._group, self._count = [], 0

    def _write(self) -> None:
        if not self._is_sure:
            return
        for group in self._pending:
            turns = [group[: self._usual]] if self._passes else [[one] for one in group]
            for passes in turns:
                samples = sum([one[2] for one in passes])
                steps.emit(self._source, passes[0][0], passes[-1][1], samples=samples)
        self._pending.clear()
