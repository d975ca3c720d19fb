"""Training whose parameters other processes keep, which PyTorch's RPC asks for gradients.

Both passes and the update of another process's parameters are calls of C code there: what the
training process calls itself is all that Python can see.
"""

from __future__ import annotations

from .. import recorder
from ..kinds import Any, AnyFunction, ModuleType
from . import torch, wrap


def install_optimizer(module: ModuleType) -> None:
    """Steps: calls of the optimizer that has the owners of the parameters update them."""

    def make(original: AnyFunction) -> AnyFunction:
        def step(self: Any, *args: Any, **kwargs: Any) -> Any:
            torch.before_optimizer(self, args, kwargs)
            result = original(self, *args, **kwargs)
            rec = recorder.current
            if rec is not None:
                torch.after_optimizer(self, rec.now())
            return result

        return step

    wrap.replace(module.DistributedOptimizer, "step", make)
