"""JAX: steps and evaluations from the compiled functions that the program calls.

JAX calls a compiled function without any Python of its own, so the functions are seen as they are
made: `jax.jit` and `jax.pmap` return one that also records, and is else what they returned.
"""

from __future__ import annotations

import _thread
import functools

from .. import metadata, recorder, steps
from ..kinds import Any, AnyFunction, ModuleType
from . import jax_waits, wrap
from .jax_functions import MOST_UNDECIDED, Order, Uses, leaves_of

_SOURCE = "jax"
_WAIT = "perfscope.wait"
"""What readers share among the steps that were begun since the wait before."""

_order = Order(steps.Cycle(sums_samples=True))
_running: list[Uses] = []
"""The compiled function that the program called, while it runs."""
_evaluating: list[_Evaluation] = []
"""The last call, if it evaluates, while the program may still wait for it."""
_behind: list[_Evaluation] = []
"""A call that evaluates whose work went on when the program trained again without its result.

In a job of several processes all of them evaluate, and often only one reads what comes out. What is
trained on next begins behind it, and so does the wait for that.
"""
_undecided: list[tuple[_Evaluation, int]] = []
"""First calls that may evaluate, with their ends: the second call of a function tells."""
_outputs = jax_waits.Outputs()
"""What the last one that trains returned."""


class _Evaluation:
    """A call that evaluates: when it was, and what it returned."""

    __slots__ = ("_called_ns", "_outputs", "_returned_ns", "uses")

    def __init__(self, uses: Uses, unit: steps.Unit, result: Any) -> None:
        self.uses = uses
        self._called_ns, self._returned_ns = unit.start_ns, unit.end_ns
        self._outputs = jax_waits.Outputs()
        self._outputs.become(result)

    def is_running(self) -> bool:
        """Whether its work is known to go on."""
        return self._outputs.are_running()

    def against(self, awaited: Any) -> jax_waits.Race:
        """Its work against what the program waits for."""
        return jax_waits.Race(self._outputs, leaves_of(awaited))

    def tell(self, rec: recorder.Recorder, end_ns: int = 0) -> None:
        """Writes it once it is known; without a known end until its call returned."""
        end_ns = end_ns or self._returned_ns
        if self.uses.trains is not None:
            self.write(rec, end_ns)
            return
        _undecided.append((self, end_ns))
        if len(_undecided) > MOST_UNDECIDED:
            first, first_end_ns = _undecided.pop(0)
            first.write(rec, first_end_ns)

    def write(self, rec: recorder.Recorder, end_ns: int) -> None:
        """Writes it unless it turned out to be part of the steps."""
        if self.uses.evaluates:
            _emit(rec, recorder.Phase.EVALUATE, self.uses.name, self._called_ns, end_ns)


def install(module: ModuleType) -> None:
    """Compiled functions and gradients, once JAX itself is there: its own functions stay as is."""
    wrap.replace(module, "jit", lambda original: _making(original, devices_first=False))
    wrap.replace(module, "pmap", lambda original: _making(original, devices_first=True))
    for name in ("grad", "value_and_grad"):
        wrap.replace(module, name, _making_gradient)
    for name in ("vjp", "linearize"):
        wrap.replace(module, name, _computing_gradient)
    jax_waits.install(module, (_begins_wait, _is_over, _waited))
    metadata.framework(_SOURCE, version=str(getattr(module, "__version__", "")))
    metadata.collect_versions()
    metadata.write()


def _making(original: AnyFunction, *, devices_first: bool) -> AnyFunction:
    def compiling(*args: Any, **kwargs: Any) -> Any:
        made = original(*args, **kwargs)
        if hasattr(made, "lower"):
            return _recorded(made, devices_first)
        # without a function it returns what takes one
        return lambda *inner, **named: _recorded(made(*inner, **named), devices_first)

    return compiling


def _recorded(made: Any, devices_first: bool) -> Any:
    """A compiled function that records, or as it is where its attributes do not let that be."""
    return wrap.guarded("a function that JAX compiles", Compiled, made, devices_first) or made


def _making_gradient(original: AnyFunction) -> AnyFunction:
    def transform(*args: Any, **kwargs: Any) -> Any:
        made = original(*args, **kwargs)
        return functools.wraps(made)(_computing_gradient(made))

    return transform


def _computing_gradient(original: AnyFunction) -> AnyFunction:
    def compute(*args: Any, **kwargs: Any) -> Any:
        for uses in _running[-1:]:  # another thread may end it meanwhile
            uses.computes_gradients()
        return original(*args, **kwargs)

    return compute


def _begins_wait(awaited: Any) -> jax_waits.Race | None:
    """The program begins to wait for something; what may come before that, None without such."""
    for evaluation in _behind:
        return evaluation.against(awaited)
    return None


def _is_over(rec: recorder.Recorder) -> int:
    """The evaluation that came before what the program waits for is over; when that is."""
    end_ns: int = rec.now()
    evaluation = _behind.pop()
    evaluation.tell(rec, end_ns)
    return end_ns


def _waited(rec: recorder.Recorder, read: Any, start_ns: int, end_ns: int) -> None:
    """The program waited for an array, or, where none is told, for what it asked for."""
    if _running:
        return
    if _evaluating and not (read is not None and _outputs.have(read)):
        _evaluating.pop().tell(rec, end_ns)
        return
    if not _order.goes_on_until(end_ns):
        return
    _emit(rec, recorder.Phase.TRAIN, _WAIT, start_ns, end_ns)
    if read is None:
        _emit(rec, recorder.Phase.TRAIN, "block_until_ready", start_ns, end_ns)


class Compiled:
    """A compiled function that also records; everything else is that of the real one."""

    def __init__(self, made: Any, devices_first: bool) -> None:
        functools.update_wrapper(self, made)
        self.__wrapped__ = getattr(made, "__wrapped__", made)
        self._made = made
        self._uses = Uses(str(getattr(made, "__name__", "jit")), devices_first)

    @property  # type: ignore[misc]  # it may not be set
    def __class__(self) -> Any:
        """That of the compiled function: isinstance and pickle ask for it."""
        return type(self._made)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """What the compiled function returns."""
        rec = recorder.current
        if (
            rec is None
            or _running
            or wrap.Depth.value
            or _thread.get_ident() != recorder.main_thread
        ):
            return self._made(*args, **kwargs)
        return _call(rec, self._made, self._uses, args, kwargs)

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        if instance is None:
            return self
        import types

        return types.MethodType(self, instance)

    def __getattr__(self, name: str) -> Any:
        if name == "_made":
            raise AttributeError(name)  # while it is copied
        return getattr(self._made, name)

    def __getstate__(self) -> Any:
        return self._made.__getstate__()

    def __dir__(self) -> Any:
        return dir(self._made)

    def __reduce_ex__(self, protocol: Any) -> Any:
        return self._made.__reduce_ex__(protocol)

    def __repr__(self) -> str:
        return repr(self._made)


def _call(
    rec: recorder.Recorder,
    made: AnyFunction,
    uses: Uses,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> Any:
    samples = _samples(uses, args, kwargs)
    start_ns = rec.now()
    _running.append(uses)
    try:
        result = made(*args, **kwargs)
    finally:
        del _running[:]
    if rec is recorder.current:
        when = {"start_ns": start_ns, "end_ns": rec.now()}
        unit = steps.Unit(_SOURCE, id(uses), **when, samples=samples, guesses=1)
        wrap.guarded("a call of a function that JAX compiled", _note, rec, uses, unit, result)
    return result


def _note(rec: recorder.Recorder, uses: Uses, unit: steps.Unit, result: Any) -> None:
    """A call is over, which may be a step."""
    uses.after(result)
    _end_evaluations(rec, is_last=False)
    for one in [one for one in _undecided if one[0].uses is uses and uses.trains is not None]:
        _undecided.remove(one)
        one[0].write(rec, one[1])
    if uses.trains:
        _outputs.become(result)
        _emit(rec, recorder.Phase.TRAIN, uses.name, unit.start_ns, unit.end_ns)
    elif uses.evaluates:
        # What only looks at the parameters, and not once a step, evaluates.
        _evaluating.append(_Evaluation(uses, unit, result))
    _order.add(uses, unit)


def _samples(uses: Uses, args: tuple[Any, ...], kwargs: dict[str, Any]) -> int:
    uses.look_around(_order.rounds)
    samples: int = wrap.asked(0, uses.before, args, kwargs)  # a static argument may be anything
    return samples


def _end_evaluations(rec: recorder.Recorder, *, is_last: bool) -> None:
    """Writes the calls whose end was not known, as the program could wait for them."""
    pending = _behind + _evaluating
    del _behind[:], _evaluating[:]
    for evaluation in pending:
        if evaluation is pending[-1] and not is_last and evaluation.is_running():
            _behind.append(evaluation)
        else:
            evaluation.tell(rec)


def _emit(rec: recorder.Recorder, kind: int, name: str, start_ns: int, end_ns: int) -> None:
    rec.phase(kind, rec.name(name), recorder.NO_STEP, recorder.NO_EPOCH, start_ns, end_ns)


def forget() -> None:
    """Drops what belongs to the parent, in a forked child."""
    global _order
    del _evaluating[:], _behind[:], _undecided[:], Uses.remembered[:]
    _order = Order(steps.Cycle(sums_samples=True))
    del _running[:]


def finish() -> None:
    """At exit: the last evaluation and the last step."""
    rec = recorder.current
    if rec is not None:
        _end_evaluations(rec, is_last=True)
        for evaluation, end_ns in _undecided:
            evaluation.write(rec, end_ns)
    _order.finish()
    metadata.framework(_SOURCE, gradients=Uses.has_gradients)
