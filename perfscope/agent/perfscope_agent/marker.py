"""The public markers: `phase`, `step` and `metric`; they cost nothing when nothing records."""

from __future__ import annotations

from _thread import get_ident

from . import notes, recorder, steps
from .recorder import NO_STEP

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, TypeVar

    Function = TypeVar("Function", bound=Callable[..., Any])

_KINDS = {
    "train": recorder.Phase.TRAIN,
    "training": recorder.Phase.TRAIN,
    "forward": recorder.Phase.FORWARD,
    "backward": recorder.Phase.BACKWARD,
    "optimizer": recorder.Phase.OPTIMIZER,
    "input": recorder.Phase.INPUT,
    "evaluate": recorder.Phase.EVALUATE,
    "evaluation": recorder.Phase.EVALUATE,
    "eval": recorder.Phase.EVALUATE,
    "validate": recorder.Phase.EVALUATE,
    "validation": recorder.Phase.EVALUATE,
    "predict": recorder.Phase.PREDICT,
    "checkpoint": recorder.Phase.CHECKPOINT,
    "save": recorder.Phase.CHECKPOINT,
    "io": recorder.Phase.IO,
    "device_wait": recorder.Phase.DEVICE_WAIT,
    "communication": recorder.Phase.COMMUNICATION,
}
_COROUTINE = 0x80
_MOST_NAMES = 10000

_resolved: dict[str, tuple[int, int]] = {}
"""Kind and name id of the phase names used so far."""


def _resolve(rec: recorder.Recorder, name: str) -> tuple[int, int]:
    found = (_KINDS.get(name.lower(), recorder.Phase.USER), rec.name(name))
    if len(_resolved) < _MOST_NAMES:
        _resolved[name] = found
    return found


def forget() -> None:
    """Drops what belongs to the parent, in a forked child."""
    _resolved.clear()


class Mark:
    """What `phase` and `step` give, a context manager and a decorator; this one does nothing."""

    __slots__ = ()

    def __enter__(self) -> object:
        return self

    def __exit__(self, kind: object, value: object, traceback: object) -> None:
        return None

    def __call__(self, function: Function) -> Function:
        """The function, recorded at each call while a recording is possible."""
        return function


_NOTHING = Mark()


class _Phase(Mark):
    """A phase around a block or around every call of a function."""

    __slots__ = ("_epoch", "_name", "_outer", "_step", "_token")

    def __init__(self, name: str, step: int | None, epoch: int | None) -> None:
        self._name = name
        self._step = step
        self._epoch = epoch
        self._token = 0
        self._outer: list[int] | None = None  # tokens of the blocks around, if entered again

    def __enter__(self) -> object:
        # Whatever fails here, a program that runs unrecorded must run recorded.
        try:
            rec = recorder.current or recorder.activate()
            if self._token:
                self._outer = [*(self._outer or ()), self._token]
                self._token = 0
            if rec is None:
                return self
            if get_ident() != recorder.main_thread:
                _watch_thread()
            kind, name = _resolved.get(self._name) or _resolve(rec, self._name)
            step = NO_STEP if self._step is None else self._step
            epoch = steps.epoch if self._epoch is None else self._epoch
            self._token = rec.phase_begin(kind, name, step, epoch)
        except Exception as error:
            notes.failure("a phase was not recorded", error)
        return self

    def __exit__(self, kind: object, value: object, traceback: object) -> None:
        token = self._token
        self._token = self._outer.pop() if self._outer else 0
        rec = recorder.current
        if token and rec is not None:
            rec.phase_end(token)

    def __call__(self, function: Function) -> Function:
        """The function, recorded as a phase at each call."""
        import functools

        name, step, epoch = self._name, self._step, self._epoch
        code = getattr(function, "__code__", None)
        if code is not None and code.co_flags & _COROUTINE:

            @functools.wraps(function)
            async def call_async(*args: Any, **kwargs: Any) -> Any:
                with _Phase(name, step, epoch):
                    return await function(*args, **kwargs)

            return call_async  # type: ignore[return-value]

        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            with _Phase(name, step, epoch):
                return function(*args, **kwargs)

        return call  # type: ignore[return-value]


class _Step(Mark):
    """The running step; leaving its block ends it."""

    def __enter__(self) -> object:
        return self

    def __exit__(self, *_: object) -> None:
        close_step()


_STEP = _Step()
_open: tuple[int, int, int, int | None] | None = None


def phase(name: str, *, step: int | None = None, epoch: int | None = None) -> Mark:
    """Says what a stretch of the program is for, as a context manager or as a decorator.

    Args:
        name: train, forward, backward, optimizer, input, evaluate (eval, validation), predict,
            checkpoint (save), io, device_wait and communication have their meaning; any other name
            is a phase of your own.
        step: number of the step it belongs to, where it is known.
        epoch: number of the epoch, where it is known.
    """
    if recorder.current is None and not recorder.can_record():
        return _NOTHING
    return _Phase(name, step, epoch)


def step(
    samples: int | None = None,
    global_batch: int | None = None,
    *,
    number: int | None = None,
    epoch: int | None = None,
) -> Mark:
    """Marks one iteration of the training loop: ends the running step and begins the next.

    Call it once an iteration, at the top of the loop body; the arguments describe the iteration
    that begins. The last step ends with the program. As `with perfscope.step(samples=64):` it ends
    with its block.

    Args:
        samples: samples that this process works on in the step.
        global_batch: samples of all processes together in the step.
        number: number of the step; otherwise they count from 0.
        epoch: number of the epoch.
    """
    global _open
    rec = recorder.current or recorder.activate()
    if rec is None:
        return _NOTHING
    try:
        now = rec.now()
        _close_at(now)
        steps.accepts(steps.MARKER)
        if epoch is not None:
            steps.epoch = epoch
        _open = (now, samples or 0, global_batch or 0, number)
        if steps.window is not None:
            steps.window.running(steps.last_number + 1 if number is None else number)
    except Exception as error:
        notes.failure("a step was not recorded", error)
    return _STEP


def close_step() -> None:
    """Ends the running step without beginning another."""
    rec = recorder.current
    if rec is None:
        return
    try:
        _close_at(rec.now())
    except Exception as error:
        notes.failure("a step was not recorded", error)


def _close_at(now_ns: int) -> None:
    global _open
    if _open is not None:
        t0_ns, samples, global_batch, number = _open
        _open = None
        steps.emit(
            steps.MARKER, t0_ns, now_ns, samples=samples, global_batch=global_batch, number=number
        )


def metric(name: str, value: float, *, step: int | None = None, epoch: int | None = None) -> None:
    """Notes a number such as the loss; it belongs to the running step unless told otherwise."""
    rec = recorder.current or recorder.activate()
    if rec is None:
        return
    try:
        if step is None:
            step = steps.last_number + 1 if _open is not None else max(steps.last_number, 0)
        rec.metric(rec.name(name), step, steps.epoch if epoch is None else epoch, float(value))
    except Exception as error:
        notes.failure("a number was not recorded", error)


def _watch_thread() -> None:
    """Has a further thread sampled that opens a phase."""
    from . import stacks

    stacks.watch_current_thread()
