"""What those who look at the graph of a backward pass have in common: when its parts begin."""

from __future__ import annotations

import sys
import time

from ..kinds import Any, Callable
from . import torch_compile


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


def ended(timing: Timing, handles: list[Any]) -> bool:
    """Takes the hooks of a pass away; whether it came to its end, and was not ended by an error."""
    for handle in handles:
        handle.remove()
    return timing.is_over


def _is_compiled() -> bool:
    """Whether the pass is traced by a compiler, which would find the hooks in it."""
    compiled = sys.modules.get("torch._dynamo.compiled_autograd")
    flags = "compiled_autograd_enabled", "compiled_autograd_enabled_force_eager"
    return any(getattr(compiled, flag, compiled is not None) for flag in flags)
