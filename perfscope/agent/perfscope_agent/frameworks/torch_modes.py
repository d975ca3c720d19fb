"""Modules of PyTorch that are set to evaluation, and to training again."""

from __future__ import annotations

from .. import recorder
from ..kinds import Any, AnyFunction, ModuleType
from . import torch, torch_compile


def install(module: ModuleType) -> None:
    """Has the loop told of it."""
    torch_module = torch_compile.module()

    def make(original: AnyFunction) -> AnyFunction:
        def train(self: Any, mode: bool = True) -> Any:
            if torch_module.compiler.is_compiling():
                return original(self, mode)
            rec = recorder.current
            if rec is not None:
                torch.tell(torch.sets_mode, id(self), mode, rec.now())
            return original(self, mode)

        return train

    torch_compile.replace(module.Module, "train", make)
