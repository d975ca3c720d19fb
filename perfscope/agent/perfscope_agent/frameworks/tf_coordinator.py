"""Steps of TensorFlow's parameter servers: what a coordinator has its workers compute.

The workers run no Python for it. The coordinator has a thread for each of them, which calls a
function and waits for its end.
"""

from __future__ import annotations

import _thread
import sys
import weakref

from .. import recorder, steps
from ..kinds import Any, AnyFunction, ModuleType
from . import keras_data, tensorflow, wrap

_SOURCE = "tensorflow"
_DEEPEST = 20
_NOT_TRAINING = (recorder.Phase.EVALUATE, recorder.Phase.PREDICT)


class _Updates:
    """The steps of all workers, one after the other as they end: they change one model."""

    def __init__(self) -> None:
        self.is_own = False  # of the program, and not of Keras, which tells its steps itself
        self._adding = _thread.allocate_lock()
        self._last_ns = 0

    def add(self, start_ns: int, end_ns: int, samples: int) -> None:
        """A worker has ended a step: of several at once, one lasts from end to end."""
        with self._adding:
            begin_ns = max(start_ns, self._last_ns)
            self._last_ns = end_ns
            steps.emit(_SOURCE, begin_ns, end_ns, samples=samples)


_updates = _Updates()
_sizes: dict[int, tuple[Any, int]] = {}
"""Iterators of the workers by identity: a weak reference, and the samples of a batch."""


def install(module: ModuleType) -> None:
    """Steps: calls by the threads of workers of what was scheduled, but to evaluate or predict."""
    resource = module.ResourceClosure  # makes a worker's data

    def make_execute(original: AnyFunction) -> AnyFunction:
        def execute_on(self: Any, *args: Any, **kwargs: Any) -> Any:
            rec = recorder.current
            if rec is None or isinstance(self, resource) or not _updates.is_own:
                return original(self, *args, **kwargs)
            start_ns = rec.now()
            result = original(self, *args, **kwargs)
            wrap.guarded("steps of a coordinator", _executed, self, start_ns, rec.now())
            return result

        return execute_on

    def make_schedule(original: AnyFunction) -> AnyFunction:
        def schedule(self: Any, *args: Any, **kwargs: Any) -> Any:
            rec = recorder.current
            if rec is not None:
                recorder.trains_here(rec)  # and not where a worker is waited for
                _updates.is_own = not wrap.Depth.value
            return original(self, *args, **kwargs)

        return schedule

    wrap.replace(module.Closure, "execute_on", make_execute)
    wrap.replace(module.ClusterCoordinator, "schedule", make_schedule)


def _executed(closure: Any, start_ns: int, end_ns: int) -> None:
    graph = getattr(getattr(closure, "_concrete_function", None), "graph", None)
    name = getattr(graph or closure._function, "name" if graph else "__name__", "")
    if tensorflow.kind_of(str(name)) not in _NOT_TRAINING:
        given = (*closure._args, *closure._kwargs.values())
        _updates.add(start_ns, end_ns, max([_samples(one) for one in given], default=0))


def _samples(given: Any) -> int:
    """Samples of a batch that is given, or of one of an iterator of each worker; 0 unknown."""
    reference, size = _sizes.get(id(given), (None, 0))
    return size if reference is not None and reference() is given else wrap.batch_length(given)


def install_datasets(module: ModuleType) -> None:
    """Keeps the batch size of the data that each worker makes for itself."""

    def make_init(original: AnyFunction) -> AnyFunction:
        def initialize(self: Any, dataset: Any, *args: Any, **kwargs: Any) -> None:
            original(self, dataset, *args, **kwargs)
            wrap.guarded("batches of a coordinator", _keep_batch, self, dataset)

        return initialize

    def make_iter(original: AnyFunction) -> AnyFunction:
        def iterate(self: Any) -> Any:
            iterator = original(self)
            wrap.guarded("batches of a coordinator", _keep_size, self, iterator)
            return iterator

        return iterate

    wrap.replace(module.PerWorkerDatasetFromDataset, "__init__", make_init)
    wrap.replace(module.PerWorkerDatasetFromDatasetFunction, "__iter__", make_iter)


def _keep_batch(source: Any, dataset: Any) -> None:
    _keep(source, keras_data.dataset_batch(dataset))


def _keep_size(dataset: Any, iterator: Any) -> None:
    _keep(iterator, _samples(dataset) or _graph_batch(dataset._dataset_fn))


def _keep(source: Any, size: int) -> None:
    """Keeps the size of the batches that a source of them gives, for as long as it lives."""
    key = id(source)
    _sizes[key] = (weakref.ref(source, lambda _gone: _sizes.pop(key, None)), size)


def _graph_batch(function: Any) -> int:
    """The batch size in the graph of a function that makes a dataset, 0 unknown."""
    constant_value = sys.modules["tensorflow.python.framework.tensor_util"].constant_value
    operation = function.graph.outputs[0].op
    for _ in range(_DEEPEST):
        names = [argument.name for argument in operation.op_def.input_arg]
        if "batch_size" in names and len(names) == len(operation.inputs):
            size = constant_value(operation.inputs[names.index("batch_size")])
            return int(size) if size is not None else 0
        if not operation.inputs:
            return 0
        operation = operation.inputs[0].op
    return 0
