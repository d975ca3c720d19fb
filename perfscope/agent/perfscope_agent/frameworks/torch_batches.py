"""Samples of a step where no DataLoader tells them: the first dimension of what the model is given.

The model of a step is the module that is called first after a backward pass; the batch of its last
call before the next one is what gradients are of: an agent that learns by playing asks its model
for single actions before. Modules are left alone but for one call at a time: before a call that was
looked at runs, the class is as it was.

A function that all modules inherit is looked up anew in hundreds of classes when it is replaced, so
that this has a budget, and only the first call of a step is looked for in all of them.
"""

from __future__ import annotations

import _thread
import sys
import time

from .. import recorder
from ..kinds import Any, AnyFunction
from ..pace import Budget
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
_AT_ONCE_NS = 40000000
_budget = Budget(_AT_ONCE_NS)
_replaced: Any = None
"""The class in which it was replaced, None while none is looked at."""
_size = 0
_tries = 0
_batches = 0
_model = 0
"""Which module was the first one since the last backward pass, 0 none yet."""
_kind: Any = None
"""The class of that one."""
_calls = 0
"""How many calls were looked at since then."""


def await_next() -> int:
    """A backward pass begins: the next module that is called will have the next batch.

    Returns:
        Samples of the batch that was looked at last, 0 none.
    """
    global _tries, _batches, _model, _kind, _calls
    if _replaced is not None:
        _stop()
        if not _calls:
            _tries += 1  # nothing was called since, or only what has no first dimension
    _model, _kind, _calls = 0, None, 0
    _batches += 1
    is_due = _batches <= _ALWAYS or not _batches % _SOME
    if is_due and _tries < _MOST_TRIES and _budget.is_left():
        _start()
    return _size


def _start() -> None:
    """Looks at the next call of any module."""
    global _original, _replacement, _replaced
    module = sys.modules.get("torch.nn.modules.module")
    if module is None or _replaced is not None:
        return
    begin_ns = time.thread_time_ns()
    owner = module.Module
    if _replacement is not None and owner.__call__ is _original:
        owner.__call__ = _replacement
        _replaced = owner
    else:
        original = owner.__call__
        if torch_compile.replace(owner, "__call__", _make):
            _original, _replacement = original, owner.__call__
            _replaced = owner
    _budget.spent_ns += time.thread_time_ns() - begin_ns


def _go_on() -> None:
    """Looks at the next call of the model, once it is known."""
    global _replaced
    has_own = _kind is None or "__call__" in _kind.__dict__ or _kind.__call__ is not _original
    if _replaced is not None or has_own:
        _start()
    else:
        _kind.__call__ = _replacement
        _replaced = _kind


def _make(original: AnyFunction) -> AnyFunction:
    torch_module = torch_compile.module()

    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        if torch_module.compiler.is_compiling():
            return original(self, *args, **kwargs)
        passes = 0
        if _thread.get_ident() == recorder.main_thread and torch_module.is_grad_enabled():
            passes = wrap.guarded("samples of a model's input", _look, self, args, kwargs)
        result = original(self, *args, **kwargs)
        if passes and passes == _batches:  # no backward pass has begun within
            wrap.guarded("samples of a model's input", _go_on)
        return result

    return call


def _look(module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> int:
    """Looks at a call; the number of the next backward pass where further ones shall be, else 0."""
    global _size, _model, _calls, _kind
    samples = _samples(args) or _samples(kwargs)
    if not samples or not module.training:
        return 0
    _stop()
    if not _model:
        _model, _kind = id(module), type(module)
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
    global _replaced
    owner, _replaced = _replaced, None
    if owner is None or owner.__dict__.get("__call__") is not _replacement:
        return
    if owner is _kind and owner is not sys.modules["torch.nn.modules.module"].Module:
        del owner.__call__
        return
    begin_ns = time.thread_time_ns()
    owner.__call__ = _original
    _budget.spent_ns += time.thread_time_ns() - begin_ns


def forget() -> None:
    """Drops what belongs to the parent, in a forked child."""
    global _size, _tries, _batches, _model, _calls, _kind
    _stop()
    _size = _tries = _batches = _model = _calls = 0
    _kind = None
