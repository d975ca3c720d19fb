"""What those who look at the graph of a backward pass have in common: when its parts begin."""

from __future__ import annotations

import abc
import sys
import time

from ..kinds import Any, Callable
from ..pace import Budget
from . import torch_compile


class Looker(abc.ABC):
    """Looks at backward passes at growing distances, as long as there is time for it.

    Args:
        first: the first pass that is looked at; the next is twice as far on, and so on.
        apart: how many passes further on each turn is than the one before it would have it.
    """

    def __init__(self, first: int, apart: int = 0) -> None:
        self.passes = self.looks = 0
        self.due = first  # the pass that is next
        self.is_over = False  # no more is looked at
        self._first, self._apart, self._turns = first, apart, 0
        self._budget = Budget()

    def is_due(self) -> bool:
        """Counts a pass, and tells whether to look at it."""
        self.passes += 1
        is_one = self.passes >= self.due  # threads that pass at once may count beyond it
        while self.due <= self.passes:
            self._turns += 1
            self.due = (self._first << self._turns) + self._apart * self._turns
        return is_one and not self.is_over and self._budget.is_left()

    def begin(self, loss: Any) -> tuple[Timing, list[Any]] | None:
        """The hooks of a pass that is timed; None of another one."""
        begin_ns = time.thread_time_ns()
        begun = losses(loss)
        if begun is None:
            return None
        found = self._look(begun)
        self._budget.spent_ns += time.thread_time_ns() - begin_ns
        return found

    def end(self, timing: Timing, handles: list[Any]) -> None:
        """A pass is over, or was ended by an error, and counts for nothing then."""
        for handle in handles:
            handle.remove()
        if timing.is_over:
            self.looks += 1
            self._add(timing)

    def _may_look(self, losses: list[Any], most: int) -> bool:
        """Whether a pass may be looked at; none ever again where it is no matter of this pass.

        `most`: after so many looks none is made.
        """
        if torch_compile.module().is_anomaly_enabled():
            return False
        self.is_over = not can_be_timed(losses) or self.looks >= most
        return not self.is_over

    @abc.abstractmethod
    def _look(self, losses: list[Any]) -> tuple[Timing, list[Any]] | None:
        """What `begin` tells of a pass that begins at these."""

    @abc.abstractmethod
    def _add(self, timing: Timing) -> None:
        """Takes note of how long the parts of the pass took that was looked at last."""


class Timing:
    """How long two kinds of parts of a pass take, by when each part begins."""

    def __init__(self, engine: Any) -> None:
        self.spent_ns = [0, 0]
        self.is_over = False  # all parts are
        self._engine = engine
        self._kind, self._since_ns = 0, 0

    def begins(self, kind: int) -> None:
        """A part of that kind begins, which ends the one before it."""
        now_ns = time.perf_counter_ns()
        if not self._since_ns:
            self._engine.queue_callback(self._ends)
        elif not self.is_over:
            self.spent_ns[self._kind] += now_ns - self._since_ns
        self._kind, self._since_ns = kind, now_ns

    def _ends(self) -> None:
        """All parts are over, and what others have PyTorch call behind them begins."""
        self.begins(0)
        self.is_over = True

    def hook(self, kind: int) -> Callable[[Any], None]:
        """What PyTorch calls before a part."""

        def begins(_gradients: Any) -> None:
            self.begins(kind)

        return begins


def losses(loss: Any) -> list[Any] | None:
    """What a pass begins at; None where that cannot be told, or a compiler traces the pass."""
    # a generator of several would be used up
    found = loss if type(loss) in (list, tuple) else [loss]
    tensor = torch_compile.module().Tensor
    if not all(isinstance(one, tensor) for one in found) or _is_compiled():
        return None
    return list(found)


def can_be_timed(roots: list[Any]) -> bool:
    """Whether hooks tell when parts begin: what a device does is over later than the host hears.

    PyTorch has these hooks from 2.0 on.
    """
    return all(
        one.device.type == "cpu" and hasattr(one.grad_fn, "register_prehook") for one in roots
    )


def bottom_up(losses: list[Any], most: int) -> list[Any] | None:
    """The nodes of a graph, each behind all that it takes; None where there are more than so many.

    Those that wait for what they take count as well: of a long loop they are nearly all.
    """
    nodes: list[Any] = []  # keeps them, and with that their identities
    seen: set[int] = set()
    waiting = 0
    left = [(one.grad_fn, False) for one in losses]
    while left:
        node, is_ready = left.pop()
        if id(node) in seen:
            continue
        below = [one for one, _ in node.next_functions]
        missing = [one for one in below if one is not None and id(one) not in seen]
        if is_ready or not missing:
            seen.add(id(node))
            nodes.append(node)
            waiting -= is_ready
        else:
            left.append((node, True))
            left += [(one, False) for one in missing]
            waiting += 1
        if len(nodes) + waiting > most:
            return None
    return nodes


def hooked(nodes: list[Any], chosen: set[int]) -> tuple[Timing, list[Any]]:
    """Has the nodes of a graph timed, those that are chosen by identity apart from all others."""
    timing = Timing(torch_compile.module().autograd.Variable._execution_engine)
    hooks = timing.hook(0), timing.hook(1)
    handles = [
        node.register_prehook(hooks[id(node) in chosen])
        for node in nodes
        if not hasattr(node, "variable")  # which outlives the pass
    ]
    return timing, handles


def _is_compiled() -> bool:
    """Whether the pass is traced by a compiler, which would find the hooks in it."""
    compiled = sys.modules.get("torch._dynamo.compiled_autograd")
    flags = "compiled_autograd_enabled", "compiled_autograd_enabled_force_eager"
    return any(getattr(compiled, flag, compiled is not None) for flag in flags)
