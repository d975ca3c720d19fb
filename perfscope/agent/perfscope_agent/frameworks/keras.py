"""Keras on its backends: fit, evaluate, predict, *_on_batch, calls, checkpoints, steps, epochs."""

from __future__ import annotations

import sys

from .. import files, metadata, recorder, steps
from ..kinds import Any, AnyFunction, ModuleType
from . import calls, debug_settings, keras_data, tensorflow, tf_generators, tf_profiler, wrap
from .tensorflow import is_eager

_SOURCE = "keras"
_INPUT_REASONS = {
    "tensorflow": (
        "TensorFlow takes the next batch inside the compiled train function; "
        "only a profiler window can tell it apart"
    ),
    "jax": "Keras on JAX takes the next batch between the functions that are recorded",
}
_MOST_CALLERS = 12
_callback_class: Any = None
_callback_list: Any = ()
"""Keras's own class for what holds the callbacks of a call; none before Keras is there."""
_input_reason = ""
"""Why it is not seen how long a fit() waits for its batches; "" where it is."""
_metric_owners: dict[int, str] = {}


class Fit:
    """What a running fit() has shown of itself."""

    def __init__(self) -> None:
        self.batches = keras_data.Batches(0, None, 1)
        self.step_start_ns = 0
        self.step_index = 0
        self.batch_end_ns = 0
        self.taker: tf_generators.Taker | None = None
        self.taken = 0

    def begin_step(self, index: int) -> None:
        """A batch begins, and the one before ends: its own end may come from another thread."""
        rec = recorder.current
        if rec is not None:
            self.end_step(rec.now())
            tf_profiler.begins_step()
            self.step_start_ns = rec.now()
            self.step_index = index

    def end_step(self, now_ns: int) -> None:
        """Writes the running step, if any."""
        if self.step_start_ns:
            samples = self.batches.samples(self.step_index) or self.taken
            steps.emit(_SOURCE, self.step_start_ns, now_ns, samples=samples)
            self.step_start_ns = self.taken = 0

    def end_batch(self, now_ns: int, rec: recorder.Recorder) -> None:
        """A batch is over: what it was made of had to be there."""
        self.batch_end_ns = now_ns
        if self.taker is not None:
            self.taken = self.taker.took(rec, self.step_start_ns, self.batches.per_execution)

    def end_epoch(self, now_ns: int) -> None:
        """Ends the epoch's last step with its batch; Keras may tell that late, or not at all."""
        self.end_step(self.batch_end_ns if self.batch_end_ns > self.step_start_ns else now_ns)


_fits: list[Fit] = []


def _interrupt() -> None:
    """Ends the running step: an evaluation or a checkpoint is not part of it."""
    rec = recorder.current
    if rec is None:
        return
    if _fits:
        _fits[-1].end_step(rec.now())
    if not wrap.Depth.value or not _fits:
        tensorflow.cut()


def install(module: ModuleType) -> None:
    """Wraps the trainer of Keras 3 on a backend, or the model class of Keras 2."""
    global _callback_class, _callback_list, _input_reason
    backend, owner = _trainer(module)
    _callback_list = module.callbacks_module.CallbackList
    _callback_class = _make_callback_class(module.callbacks_module.Callback)
    wrap.replace(owner, "fit", _make_fit)
    calls.phase(owner, "evaluate", recorder.Phase.EVALUATE, "evaluate", _interrupt)
    wrap.replace(owner, "predict", _make_predict)
    wrap.replace(owner, "train_on_batch", _make_train_on_batch)
    calls.phase(owner, "test_on_batch", recorder.Phase.EVALUATE, "test_on_batch", _interrupt)
    wrap.replace(owner, "predict_on_batch", _make_predict)
    if owner is getattr(module, "Model", None):
        install_model(module)
    _input_reason = _INPUT_REASONS.get(backend, "")
    metadata.framework(_SOURCE, backend=backend)


def _trainer(module: ModuleType) -> tuple[str, Any]:
    for backend, name in (("jax", "JAXTrainer"), ("torch", "TorchTrainer")):
        if hasattr(module, name):
            return backend, getattr(module, name)
    return "tensorflow", getattr(module, "TensorFlowTrainer", None) or module.Model


def install_model(module: ModuleType) -> None:
    """Wraps what the model class itself defines: saving and calling."""
    for name in ("save", "save_weights", "export"):
        wrap.phase(module.Model, name, recorder.Phase.CHECKPOINT, "model." + name, _interrupt)
    wrap.replace(module.Model, "__call__", _make_call)


def install_optimizer(module: ModuleType) -> None:
    """Optimizer steps of a GradientTape loop that is not compiled: steps, or parts of them.

    On TensorFlow loops call `apply`, or what calls it; elsewhere it is a part of what is compiled.
    """
    is_tensorflow = module.backend.backend() == "tensorflow"
    _install_update(module.BaseOptimizer, "apply" if is_tensorflow else "apply_gradients")


def install_old_optimizer(module: ModuleType) -> None:
    """The same for the optimizers of Keras 2.11 to 2.15; Keras 3 has another class here."""
    if hasattr(module, "_BaseOptimizer"):
        _install_update(module.Optimizer, "apply_gradients")


def _install_update(owner: Any, name: str) -> None:
    def make(original: AnyFunction) -> AnyFunction:
        def update(self: Any, *args: Any, **kwargs: Any) -> Any:
            rec = recorder.current
            if rec is None or wrap.Depth.value or not is_eager():
                return original(self, *args, **kwargs)
            start_ns = rec.now()
            with wrap.Inside(rec, recorder.Phase.OPTIMIZER, "apply_gradients"):
                result = original(self, *args, **kwargs)
            samples = tensorflow.take_batch()
            unit = steps.Unit(
                _SOURCE, id(self), start_ns=start_ns, end_ns=rec.now(), samples=samples
            )
            tensorflow.add(unit)
            return result

        return update

    wrap.replace(owner, name, make)


def loaded(module: ModuleType) -> None:
    """Notes the version once Keras is there."""
    metadata.framework(_SOURCE, version=str(getattr(module, "__version__", "")))
    metadata.collect_versions()
    metadata.write()


def _make_fit(original: AnyFunction) -> AnyFunction:
    position = keras_data.position_of(original, "callbacks")
    names = keras_data.parameter_names(original)

    def fit(self: Any, *args: Any, **kwargs: Any) -> Any:
        rec = recorder.current
        if rec is None:
            return original(self, *args, **kwargs)
        tensorflow.cut()
        recorder.trains_here(rec)  # its callbacks, which tell the steps, may run in another thread
        debug_settings.of_keras(self)
        running = Fit()
        given = dict(zip(names, args), **kwargs)
        running.batches = keras_data.batches(self, given)
        running.taker = tf_generators.taker(given.get("x"))
        if _input_reason:
            metadata.framework(_SOURCE, input_wait=None, input_wait_reason=_input_reason)
        if metadata.facts.get("batch_size") is None and running.batches.size:
            metadata.facts["batch_size"] = running.batches.size
        callback = _callback_class(running)
        args, kwargs, taken_back = _with_callback(callback, position, args, kwargs)
        _fits.append(running)
        was_told, steps.is_told = steps.is_told, True
        try:
            with calls.Counted(rec, "fit", kind=recorder.Phase.TRAIN):
                return original(self, *args, **kwargs)
        finally:
            _fits.remove(running)
            # those of the program may have comparisons of their own
            taken_back[:] = [one for one in taken_back if one is not callback]
            steps.is_told = was_told
            if recorder.current is rec:
                running.end_step(rec.now())
            steps.epoch = recorder.NO_EPOCH

    return fit


def _with_callback(
    callback: Any, position: int, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any], list[Any]]:
    """The arguments of fit() with one more callback, and the list to take it back from.

    Whatever holds the caller's own callbacks stays as it is. Keras flattens what it is given.
    """
    is_positional = len(args) > position >= 0
    given = args[position] if is_positional else kwargs.get("callbacks")
    if isinstance(given, _callback_list):  # which Keras takes as it is
        given.callbacks.append(callback)
        return args, kwargs, given.callbacks
    listed: Any = [callback]
    if isinstance(given, (list, tuple)):  # whose elements Keras asks whether they may wait
        listed = [*given, callback]
    elif given:
        listed = {"given": given, "recording": callback}  # of anything else it asks nothing
    if is_positional:
        args = (*args[:position], listed, *args[position + 1 :])
    else:
        kwargs = dict(kwargs, callbacks=listed)
    return args, kwargs, []


def _make_callback_class(base: Any) -> Any:
    class StepCallback(base):  # type: ignore[misc]
        """Marks batches and epochs. Both switches say that it needs no values from the device."""

        async_safe = True

        def __init__(self, running: Fit) -> None:
            super().__init__()
            self._supports_tf_logs = True  # the base's own says no, which parameter servers refuse
            self._running = running

        def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
            """Steps from now on belong to this epoch."""
            steps.epoch = epoch
            if self._running.taker is not None:
                self._running.taker.begin()

        def on_train_batch_begin(self, batch: int, logs: Any = None) -> None:
            """A step begins."""
            self._running.begin_step(batch)

        def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
            """Only an epoch's last batch ends here: what follows it are other callbacks."""
            rec = recorder.current
            if rec is not None:
                self._running.end_batch(rec.now(), rec)

        def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
            """The last step of the epoch is over, and its metrics are known."""
            rec = recorder.current
            if rec is not None:
                self._running.end_epoch(rec.now())
                _write_metrics(rec, logs, "", epoch)

    return StepCallback


def _write_metrics(rec: recorder.Recorder, values: Any, prefix: str, epoch: int) -> None:
    """Writes what the framework reports: a number, a list led by the loss, or a mapping."""
    if isinstance(values, dict):
        named = list(values.items())
    else:
        listed = values if isinstance(values, (list, tuple)) else [values]
        named = [("loss" if i == 0 else "metric_%d" % i, value) for i, value in enumerate(listed)]
    for name, value in named:
        number = wrap.asked(None, float, value)
        if number is None:
            continue
        rec.metric(rec.name(prefix + str(name)), max(steps.last_number, 0), epoch, number)


def _make_train_on_batch(original: AnyFunction) -> AnyFunction:
    def train_on_batch(self: Any, *args: Any, **kwargs: Any) -> Any:
        rec = recorder.current
        if rec is None:
            return original(self, *args, **kwargs)
        tf_profiler.begins_step()
        debug_settings.of_keras(self)
        start_ns = rec.now()
        was_told, steps.is_told = steps.is_told, True
        try:
            with calls.Counted(rec, "train_on_batch", kind=recorder.Phase.TRAIN):
                result = original(self, *args, **kwargs)
        finally:
            steps.is_told = was_told
        samples = wrap.batch_length(args[0] if args else kwargs.get("x"))
        if metadata.facts.get("batch_size") is None and samples:
            metadata.facts["batch_size"] = samples
        unit = steps.Unit(_SOURCE, id(self), start_ns=start_ns, end_ns=rec.now(), samples=samples)
        tensorflow.add(unit)
        _write_metrics(rec, result, _metric_prefix(self), steps.epoch)
        return result

    return train_on_batch


def _metric_prefix(model: Any) -> str:
    """What tells the metrics of a further model, as in a GAN, from those of the first."""
    known = _metric_owners.get(id(model))
    if known is None:
        try:
            known = "%s/" % getattr(model, "name", "model") if _metric_owners else ""
        except Exception:  # a property of the program's own
            known = "model/"
        _metric_owners[id(model)] = known
    return known


def _make_predict(original: AnyFunction) -> AnyFunction:
    label = getattr(original, "__name__", "predict")

    def predict(self: Any, *args: Any, **kwargs: Any) -> Any:
        rec = recorder.current
        if rec is None:
            return original(self, *args, **kwargs)
        by_program = files.is_program(sys._getframe(1).f_code.co_filename)
        kind = _kind_of_use()
        with calls.Counted(rec, label, kind=kind, by_program=by_program):
            return original(self, *args, **kwargs)

    return predict


def _kind_of_use() -> int:
    """What a model is used for here: evaluation ends the running step, a prediction may not."""
    if wrap.Depth.value or not is_evaluating():
        return recorder.Phase.PREDICT
    _interrupt()
    return recorder.Phase.EVALUATE


def is_evaluating() -> bool:
    """Whether a function of the program that calls is named like an evaluation."""
    frame = sys._getframe(2)
    for _ in range(_MOST_CALLERS):
        if files.is_program(frame.f_code.co_filename):
            words = frame.f_code.co_name.lower().split("_")
            if any(word.startswith(("eval", "validat")) for word in words):
                return True
        if frame.f_back is None:
            return False
        frame = frame.f_back
    return False


def _make_call(original: AnyFunction) -> AnyFunction:
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        rec = recorder.current
        if rec is None or wrap.Depth.value or not is_eager():
            return original(self, *args, **kwargs)
        if not wrap.asked(False, _is_built, self):
            return original(self, *args, **kwargs)
        is_training = wrap.asked(False, _is_training, kwargs)
        kind = recorder.Phase.FORWARD if is_training else _kind_of_use()
        with wrap.Inside(rec, kind, "__call__"):
            return original(self, *args, **kwargs)

    return call


def _is_built(model: Any) -> bool:
    """Whether a call computes something; before that it may only connect layers."""
    return bool(getattr(model, "built", False)) and "tensorflow" in sys.modules


def _is_training(given: dict[str, Any]) -> bool:
    return bool(given.get("training"))
