"""Training loops written by hand in TensorFlow: input wait, and calls of compiled functions."""

from __future__ import annotations

import sys

from .. import metadata, recorder, steps
from ..kinds import Any, AnyFunction, FrameType, ModuleType
from . import calls, debug_settings, keras_data, tf_profiler, wrap

_SOURCE = "tensorflow"
_KINDS = (
    (("eval", "valid", "test"), recorder.Phase.EVALUATE),
    (("predict", "infer", "generate"), recorder.Phase.PREDICT),
    (("train", "step", "fit", "update"), recorder.Phase.TRAIN),
)

_iterator = keras_data.IteratorBatch()

cycle = steps.Cycle(sums_samples=False)
"""Groups compiled train functions and Keras's on_batch calls alike: one loop may use both."""


_taken = [0]
"""Samples of the batch that a dataset gave last, 0 once a step has them."""


def take_batch() -> int:
    """Samples of the batch that the program has got since the step before; 0 unknown."""
    samples, _taken[0] = _taken[0], 0
    return samples


def add(unit: steps.Unit) -> None:
    """Takes the next call; several threads of the program may come at once."""
    wrap.guarded("steps of TensorFlow", cycle.add, unit)


def cut() -> None:
    """Ends the running step: something that is no training follows."""
    wrap.guarded("steps of TensorFlow", cycle.cut)


def is_eager() -> bool:
    """Whether TensorFlow executes at once, rather than tracing a graph."""
    context = sys.modules.get("tensorflow.python.eager.context")
    return context is None or bool(context.executing_eagerly())


def traced(original: AnyFunction, caller: FrameType) -> AnyFunction:
    """The function as AutoGraph would run it had its wrapper, called from there, not stood before.

    AutoGraph leaves a wrapper alone, and with it all that it calls: the program's own code below
    it would lose its `if` and `for` over tensors.
    """
    autograph = sys.modules.get("tensorflow.python.autograph.impl.api")
    if autograph is None or caller.f_globals is not vars(autograph):
        return original
    result: AnyFunction = autograph.tf_convert(original, autograph.ag_ctx.control_status_ctx())
    return result


def install_iterator(module: ModuleType) -> None:
    """Input wait: the time in which a dataset's iterator produces the next batch for Python."""

    def make(original: AnyFunction) -> AnyFunction:
        def following(self: Any) -> Any:
            rec = recorder.current
            if rec is None or wrap.Depth.value or not is_eager():
                return original(self)
            with wrap.Inside(rec, recorder.Phase.INPUT, "tf.data"):
                batch = original(self)
            _taken[0] = wrap.batch_length(batch)
            return batch

        return following

    wrap.replace(module.OwnedIterator, "__next__", make)


def install_function(module: ModuleType) -> None:
    """Calls of a tf.function from Python; what it is for is read from its name."""

    def make(original: AnyFunction) -> AnyFunction:
        def call(self: Any, *args: Any, **kwargs: Any) -> Any:
            rec = recorder.current
            if rec is None:
                return original(self, *args, **kwargs)
            if wrap.Depth.value or not is_eager():
                if calls.running is not None and is_eager():
                    calls.running.compute(rec)
                return original(self, *args, **kwargs)
            name = str(getattr(self, "_name", "")) or "tf.function"
            kind = kind_of(name)
            if not kind:
                with calls.Counted(rec, name):
                    return original(self, *args, **kwargs)
            if kind == recorder.Phase.TRAIN:
                tf_profiler.begins_step()
            start_ns = rec.now()
            with calls.Counted(rec, name, kind=kind):
                result = original(self, *args, **kwargs)
            if kind == recorder.Phase.TRAIN:
                samples = _samples(args, kwargs)
                unit = steps.Unit(
                    _SOURCE, id(self), start_ns=start_ns, end_ns=rec.now(), samples=samples
                )
                add(unit)
            elif kind == recorder.Phase.EVALUATE:
                cut()
            return result

        return call

    wrap.replace(module.Function, "__call__", make)


def _samples(args: tuple[Any, ...], kwargs: dict[str, Any]) -> int:
    """Samples of what a compiled function is given, a batch or an iterator; 0 unknown."""
    try:
        known = _batch(list(args)) or _batch(list(kwargs.values()))
        return known or _iterator.samples((*args, *kwargs.values()))
    except Exception:  # another version's iterators
        return 0


def _batch(given: list[Any]) -> int:
    """Samples of a batch among what is given; 0 unknown.

    Numbers in a row that stand alone may be anything, such as all gradients one after the other.
    """
    while len(given) == 1 and isinstance(given[0], (list, tuple)):
        given = list(given[0])
    length = wrap.batch_length(given)
    is_row = len(getattr(wrap.first_array(given), "shape", ())) == 1
    return length if not is_row or wrap.batch_length(given[1:]) == length else 0


def kind_of(name: str) -> int:
    """The phase that a function of this name is, 0 unknown."""
    lower = name.lower()
    for words, kind in _KINDS:
        if any(word in lower for word in words):
            return kind
    return 0


def loaded(module: ModuleType) -> None:
    """Notes the version once TensorFlow is there."""
    metadata.framework(_SOURCE, version=str(getattr(module, "__version__", "")))
    metadata.collect_versions()
    metadata.write()


def finish() -> None:
    """At exit: the last step, the threads in effect, and whether functions run eagerly."""
    cycle.cut()
    debug_settings.of_tensorflow()
    context = getattr(sys.modules.get("tensorflow.python.eager.context"), "_context", None)
    if context is not None:
        metadata.framework(
            _SOURCE,
            inter_op_threads=context.inter_op_parallelism_threads,
            intra_op_threads=context.intra_op_parallelism_threads,
        )
