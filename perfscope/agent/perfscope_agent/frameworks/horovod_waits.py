"""Where a program of PyTorch waits for Horovod over gloo, whose thread calls nothing that is seen.

All waits of the program are in one function, but those for an optimizer's gradients belong
together. Such a wait is over when the last rank has come and the data are there.
"""

from __future__ import annotations

import _thread

from .. import metadata, recorder
from ..kinds import Any, AnyFunction, ModuleType
from . import wrap

SOURCE = "horovod"
_NAME = SOURCE + "\x1eexposed\x1eworld\x1e"
_INIT = SOURCE + "\x1einit_process_group\x1eworld\x1e"
_WHAT = "waits for Horovod"
_OWN_CONNECTIONS = "Horovod over gloo exchanges over connections of its own"
_SETS = "Horovod over gloo exchanges among some of the ranks, which is not told apart"
_AGAIN = "Horovod over gloo was initialized again, after which its ranks may be others"


class _Waits:
    """What is known of the waits of this process."""

    is_told = False  # it exchanges over gloo, all ranks with each other
    is_begun = False
    reason: str | None = None  # why waits cannot be told apart by their order
    is_inside = False
    count = 0


_waits = _Waits()


def forget() -> None:
    """Drops what belongs to the parent, in a forked child."""
    global _waits
    _waits = _Waits()


def begin(begin_ns: int) -> None:
    """Horovod was initialized over gloo, in a call that began then."""
    if _waits.is_begun:
        _waits.reason = _waits.reason or _AGAIN
    _waits.is_begun, _waits.is_told = True, _waits.reason is None
    metadata.framework(SOURCE, exposed_reason=_waits.reason or _OWN_CONNECTIONS)
    rec = recorder.current
    if rec is not None:
        name, phase = rec.name(_INIT), recorder.Phase.COMMUNICATION
        rec.phase(phase, name, recorder.NO_STEP, -1, begin_ns, rec.now())


def install_operations(module: ModuleType) -> None:
    """The function in which the program waits for anything."""
    wrap.replace(module, "synchronize", _waiting)


def install_optimizer(module: ModuleType) -> None:
    """The method in which an optimizer waits for all its gradients."""
    wrap.replace(module._DistributedOptimizer, "synchronize", _waiting)


def install_sets(module: ModuleType) -> None:
    """Sets of ranks, whose exchanges are none of all ranks."""
    wrap.replace(module, "add_process_set", _adding)


def note_sets() -> None:
    """There are sets of ranks: waits cannot be told apart by their order any more."""
    _waits.reason = _SETS
    if _waits.is_told:
        _waits.is_told = False
        metadata.framework(SOURCE, exposed_reason=_SETS)


def _adding(original: AnyFunction) -> AnyFunction:
    def add_process_set(*args: Any, **kwargs: Any) -> Any:
        wrap.guarded(_WHAT, note_sets)
        return original(*args, **kwargs)

    return add_process_set


def _waiting(original: AnyFunction) -> AnyFunction:
    def synchronize(*args: Any, **kwargs: Any) -> Any:
        rec = recorder.current
        is_seen = rec is not None and _waits.is_told and not _waits.is_inside
        if rec is None or not is_seen or _thread.get_ident() != recorder.main_thread:
            return original(*args, **kwargs)
        token = wrap.guarded(_WHAT, _begin, rec)
        _waits.is_inside = True
        try:
            return original(*args, **kwargs)
        finally:
            _waits.is_inside = False
            if token is not None and rec is recorder.current:
                wrap.guarded(_WHAT, rec.phase_end, token)

    return synchronize


def _begin(rec: recorder.Recorder) -> int:
    if not _waits.count:
        metadata.framework(SOURCE, exposed_reason=None)
    _waits.count += 1
    kind = recorder.Phase.COMMUNICATION
    return int(rec.phase_begin(kind, rec.name(_NAME), _waits.count - 1, -1))
