"""Checkpoints: the functions by which trainers and libraries for PyTorch save.

One calls the other, down to torch.save or safetensors: the outermost counts.
"""

from __future__ import annotations

from _thread import get_ident

from .. import recorder
from ..kinds import Any, AnyFunction, Callable, ModuleType
from . import torch, wrap
from .savers import SAVING

_saving: set[int] = set()
"""Identities of the threads that are saving: one may do so while another one begins to."""


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
            rec, thread = recorder.current, get_ident()
            if rec is None or thread in _saving:
                return original(*args, **kwargs)
            if thread == recorder.main_thread:
                torch.begins_checkpoint()
            _saving.add(thread)
            try:
                with wrap.Inside(rec, recorder.Phase.CHECKPOINT, label):
                    return original(*args, **kwargs)
            finally:
                _saving.discard(thread)

        return save

    return make


def forget() -> None:
    """Drops what belongs to the parent, in a forked child."""
    _saving.clear()
