"""Samples of a step where no DataLoader tells them: the first dimension of what the model is given.

The model of a step is the module that is called first after a backward pass; the batch of its last
call before the next one is what gradients are of: an agent that learns by playing asks its model
for single actions before. Modules are left alone but for one call at a time: before a call that was
looked at runs, the class is as it was.
"""

from __future__ import annotations

import _thread
import sys

from .. import recorder
from ..kinds import Any, AnyFunction
from . import torch_compile, wrap

_MOST_TRIES = 4
_ALWAYS = 4  # so many batches are looked at each, later ones
_SOME = 64  # one in so many
_MOST_CALLS = 64  # of the model that are looked at before a backward pass

_original: AnyFunction | None = None
"""What `Module.__call__` was when it was replaced."""
_replacement: AnyFunction | None = None
"""What stands there instead, unless the program has put something else there since.

One for good: torch.compile keeps a table of the functions that it has seen, and where one of them
dies below a compiled function it looks into what takes it off the table.
"""
_is_looking = False
_size = 0
_tries = 0
_batches = 0
_model = 0
"""Which module was the first one since the last backward pass, 0 none yet."""
_calls = 0
"""How many calls were looked at since then."""


def size() -> int:
    """Samples of the batch that was looked at last, 0 none."""
    return _size


def await_next() -> None:
    """A backward pass begins: the next module that is called will have the next batch."""
    global _tries, _batches, _model, _calls
    if _is_looking:
        _stop()
        if not _calls:
            _tries += 1  # nothing was called since, or only what has no first dimension
    _model = _calls = 0
    _batches += 1
    if _tries < _MOST_TRIES and (_batches <= _ALWAYS or not _batches % _SOME):
        _start()


def _start() -> None:
    global _original, _replacement, _is_looking
    module = sys.modules.get("torch.nn.modules.module")
    if module is None or _is_looking:
        return
    owner, torch_module = module.Module, torch_compile.module()

    def make(original: AnyFunction) -> AnyFunction:
        def call(self: Any, *args: Any, **kwargs: Any) -> Any:
            if torch_module.compiler.is_compiling():
                return original(self, *args, **kwargs)
            passes = 0
            if _thread.get_ident() == recorder.main_thread and torch_module.is_grad_enabled():
                passes = wrap.guarded("samples of a model's input", _look, self, args, kwargs)
            result = original(self, *args, **kwargs)
            if passes and passes == _batches:  # no backward pass has begun within
                wrap.guarded("samples of a model's input", _start)
            return result

        return call

    original = owner.__call__
    if _replacement is not None and original is _original:
        owner.__call__ = _replacement
        _is_looking = True
    elif torch_compile.replace(owner, "__call__", make):
        _original, _replacement = original, owner.__call__
        _is_looking = True


def _look(module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> int:
    """Looks at a call; the number of the next backward pass where further ones shall be, else 0."""
    global _size, _model, _calls
    samples = _samples(args) or _samples(kwargs)
    if not samples or not module.training:
        return 0
    _stop()
    _model = _model or id(module)
    if id(module) == _model:
        _size = samples
    _calls += 1
    return _batches if _calls < _MOST_CALLS else 0


def _samples(given: Any) -> int:
    """Samples in what a module is given: numbers in one dimension are the features of one of many.

    Whole numbers may be a batch of indices.
    """
    try:
        array = wrap.first_array(given)
        if array is None or (len(array.shape) == 1 and array.is_floating_point()):
            return 0
    except Exception:  # of a class of the program's own
        return 0
    return wrap.batch_length(array)


def _stop() -> None:
    global _is_looking
    if _is_looking:
        owner = sys.modules["torch.nn.modules.module"].Module
        if owner.__call__ is _replacement:
            owner.__call__ = _original
        _is_looking = False


def forget() -> None:
    """Drops what belongs to the parent, in a forked child."""
    global _size, _tries, _batches, _model, _calls
    _stop()
    _size = _tries = _batches = _model = _calls = 0
