"""Checkpoints: the functions by which trainers and libraries for PyTorch save.

One calls the other, down to torch.save or safetensors: the outermost counts.
"""

from __future__ import annotations

from .. import recorder
from . import torch, wrap
from .savers import SAVING

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any, Callable

    AnyFunction = Callable[..., Any]


class _Running:
    is_saving = False


def install(module: ModuleType) -> None:
    """Wraps what saves in a module that was imported."""
    owner_name, names = SAVING[module.__name__]
    owner = getattr(module, owner_name, None) if owner_name else module
    if owner is not None:
        for name in names:
            label = "%s.%s" % (owner_name or module.__name__.partition(".")[0], name.lstrip("_"))
            wrap.replace(owner, name, _maker(label))


def _maker(label: str) -> Callable[[AnyFunction], AnyFunction]:
    def make(original: AnyFunction) -> AnyFunction:
        def save(*args: Any, **kwargs: Any) -> Any:
            rec = recorder.current
            if rec is None or _Running.is_saving:
                return original(*args, **kwargs)
            torch.begins_checkpoint()
            _Running.is_saving = True
            try:
                with wrap.Inside(rec, recorder.Phase.CHECKPOINT, label):
                    return original(*args, **kwargs)
            finally:
                _Running.is_saving = False

        return save

    return make


def forget() -> None:
    """Drops what belongs to the parent, in a forked child."""
    _Running.is_saving = False
