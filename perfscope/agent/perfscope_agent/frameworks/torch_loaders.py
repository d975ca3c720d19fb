"""The settings of the program's DataLoaders."""

from __future__ import annotations

import sys

from .. import bytecode, files, metadata, notes, recorder
from ..kinds import Any, AnyFunction, Callable, CodeType
from ..places import Places
from . import torch_compile, torch_workers

_MOST_LOADERS = 8
_MOST_NOTED = 64

_loaders: list[dict[str, Any]] = []
_noted: dict[tuple[int, bool], Any] = {}
"""Loaders that were looked at, by identity and whether it was for training; weak references."""


def forget() -> None:
    """Drops what belongs to the parent, in a forked child."""
    del _loaders[:]
    _noted.clear()


def iterating(source: str) -> Callable[[AnyFunction], AnyFunction]:
    """Makes a loader's iterator note its settings, and tell when its workers begin."""
    torch_module = torch_compile.module()

    def make(original: AnyFunction) -> AnyFunction:
        def iterate(self: Any) -> Any:
            rec = recorder.current
            if rec is None or torch_module.compiler.is_compiling():
                return original(self)
            note(source, self)
            begin_ns = rec.now()
            iterator = original(self)
            if torch_workers.is_ready(iterator) is not None:  # no batch before its workers begin
                end_ns = rec.now()
                kind, name = recorder.Phase.INPUT, rec.name("DataLoader")
                rec.phase(kind, name, recorder.NO_STEP, recorder.NO_EPOCH, begin_ns, end_ns)
                torch_workers.began(iterator, torch_module.is_grad_enabled(), end_ns - begin_ns)
            return iterator

        return iterate

    return make


def note(source: str, loader: Any) -> None:
    """Notes a loader once; what a program's own classes do there must not reach the program."""
    try:
        is_training = bool(torch_compile.module().is_grad_enabled())
        known = _noted.get((id(loader), is_training))
        if len(_loaders) >= _MOST_LOADERS or (known is not None and known() is loader):
            return
        _remember(loader, is_training)
        settings = _settings(loader, is_training)
        if any(settings.items() <= one.items() for one in _loaders):
            return
        _loaders.append({**settings, "made_at": _made_at(loader)})
        if metadata.facts.get("batch_size") is None:
            metadata.facts["batch_size"] = settings["batch_size"]
        metadata.framework(source, loaders=_loaders)
    except Exception as error:
        notes.failure("DataLoader not noted", error)


def _remember(loader: Any, is_training: bool) -> None:
    """Not on the loader itself: programs copy, compare and send theirs."""
    import weakref

    if len(_noted) >= _MOST_NOTED:
        _noted.clear()
    _noted[id(loader), is_training] = weakref.ref(loader)


def _settings(loader: Any, is_training: bool) -> dict[str, Any]:
    """How a loader is set, and which samples it deals out."""
    return {
        "batch_size": _number(loader.batch_size),
        "workers": _number(loader.num_workers),
        "prefetch_factor": _number(loader.prefetch_factor),
        "pin_memory": bool(loader.pin_memory),
        "persistent_workers": bool(loader.persistent_workers),
        "sampler": type(loader.sampler).__name__,
        "dataset": type(loader.dataset).__name__,
        "samples": _samples(loader),
        "training": is_training,
        "collate_at": _collate_at(loader),
    }


def _made_at(loader: Any) -> str | None:
    """Where a function of the program that runs made this loader, a variable of its own.

    Read from bytecode and variables, so that what makes loaders stays as it is.
    """
    places, name = Places(), type(loader).__name__
    frame = sys._getframe(1) if bytecode.is_known() else None
    while frame is not None:
        code = frame.f_code
        if files.is_program(code.co_filename) and len(code.co_code) <= bytecode.LONGEST:
            lines = {
                places.where(code, last)
                for last, variable in _calls(code, name)
                if frame.f_locals.get(variable) is loader
            }
            if len(lines) == 1:
                return recorder.place_text(*lines.pop())
        frame = frame.f_back
    return None


def _collate_at(loader: Any) -> str | None:
    """The program's own function that puts samples together to batches; None where it has none."""
    function = loader.collate_fn
    if type(function) is _BOUND:
        function = function.__func__
    code = function.__code__ if type(function) is type(note) else None
    if code is None or not files.is_program(code.co_filename):
        return None
    return recorder.place_text(*Places().where(code, 0)[:2], code.co_firstlineno)


_BOUND: Any = type(note.__get__(note))


def _calls(code: CodeType, name: str) -> list[tuple[int, str]]:
    """The instructions that call something of that name, and the variables for their results."""
    found = []
    for last in range(0, len(code.co_code), 2):
        called = bytecode.called(code, last) if bytecode.works(code, last) else None
        if called is not None and (*called.root[1:], *called.attributes)[-1] == name:
            variable = bytecode.stored(code, last + 2)
            if isinstance(variable, int):
                variable = code.co_varnames[variable]
            if variable is not None:
                found.append((last, variable))
    return found


def _number(value: Any) -> int | None:
    return None if value is None else int(value)


def _samples(loader: Any) -> int | None:
    """How many samples the data set has; None unless PyTorch itself counts them as well.

    With a batch sampler of the program's the sampler is never asked, and the data set of such a
    loader need not have a length.
    """
    data = sys.modules["torch.utils.data"]
    sampler = loader.sampler
    if type(sampler) is data.RandomSampler:
        return len(sampler.data_source)
    is_asked = loader.batch_sampler is None or type(loader.batch_sampler) is data.BatchSampler
    if type(sampler) is data.SequentialSampler and is_asked:
        return len(sampler.data_source)
    return None
