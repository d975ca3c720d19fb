"""How many samples a batch of Keras's fit() holds, read from its arguments alone."""

from __future__ import annotations

import inspect

from ..kinds import Any, Callable
from . import wrap

_DEFAULT_BATCH = 32


class Batches:
    """The batches of one epoch.

    Args:
        size: samples in a full batch, 0 unknown.
        total: samples in an epoch, None unknown.
        per_execution: batches that one call of the train function works on.
    """

    def __init__(self, size: int, total: int | None, per_execution: int) -> None:
        self.size = size
        self._total = total
        self.per_execution = per_execution

    def samples(self, index: int) -> int:
        """Samples of the execution that begins with batch `index`; 0 unknown."""
        full = self.size * self.per_execution
        if self._total is None:
            return full
        return max(0, min(full, self._total - index * self.size))


def parameter_names(function: Callable[..., Any]) -> list[str]:
    """Names of the positional parameters after self."""
    try:
        return list(inspect.signature(function).parameters)[1:]
    except (TypeError, ValueError):
        return []


def position_of(function: Callable[..., Any], name: str) -> int:
    """Index of a parameter among the positional arguments after self, -1 without it."""
    names = parameter_names(function)
    return names.index(name) if name in names else -1


def batches(model: Any, given: dict[str, Any]) -> Batches:
    """The batches that fit() will make of the arguments it was given; of unknown size if need be.

    They may be of the program's own classes, whose properties may raise anything.
    """
    try:
        return _batches(model, given)
    except Exception:
        return Batches(0, None, 1)


def _batches(model: Any, given: dict[str, Any]) -> Batches:
    x = given.get("x")
    per_execution = _positive(getattr(model, "steps_per_execution", 1)) or 1
    if _is_array(x):
        size = int(given.get("batch_size") or _DEFAULT_BATCH)
        total: int | None = wrap.batch_length(x)
        if given.get("validation_split") and given.get("validation_data") is None:
            total = int((total or 0) * (1.0 - float(given["validation_split"])))
        if given.get("steps_per_epoch"):
            total = None
        return Batches(size, total, per_execution)
    return Batches(dataset_batch(x), None, per_execution)


def _positive(value: Any) -> int:
    """The value as a count, 0 when it is none."""
    try:
        return max(0, int(value))
    except (TypeError, ValueError):
        return 0


def _is_array(x: Any) -> bool:
    if isinstance(x, dict) and x:
        x = next(iter(x.values()))
    if isinstance(x, (list, tuple)) and x:
        x = x[0]
    return getattr(x, "shape", None) is not None


class IteratorBatch:
    """The batch size of the iterator that a loop gives its compiled functions.

    It draws the batches inside: no batch is seen outside. What was last found is kept.
    """

    def __init__(self) -> None:
        self._iterator: Any = None  # a weak reference
        self._size = 0

    def samples(self, arguments: tuple[Any, ...]) -> int:
        """Samples of a batch of the first iterator among arguments, 0 without one."""
        for given in arguments:
            # one that is distributed over workers has an iterator a worker
            inner = (getattr(given, "_iterators", None) or [given])[0]
            dataset = getattr(inner, "_dataset", None)
            if dataset is not None:
                return self._of(given, dataset, len(getattr(inner, "_devices", None) or "1"))
        return 0

    def _of(self, iterator: Any, dataset: Any, replicas: int) -> int:
        import weakref

        if self._iterator is None or self._iterator() is not iterator:
            self._iterator = weakref.ref(iterator)
            self._size = dataset_batch(dataset, replicas)
        return self._size


def dataset_batch(dataset: Any, replicas: int | None = None) -> int:
    """The batch size of a tf.data.Dataset, PyDataset or DataLoader, 0 unknown.

    One that is distributed has a size for each replica of all workers: the first `replicas` of them
    are those of this worker, all without.
    """
    for _ in range(20):
        for name in ("_batch_sizes", "batch_size", "_batch_size"):
            size: Any = getattr(dataset, name, None)
            size = size.numpy() if hasattr(size, "numpy") else size
            known = _positive(size[:replicas].sum() if getattr(size, "ndim", 0) else size)
            if known:
                return known
        dataset = getattr(dataset, "_input_dataset", None)
        if dataset is None:
            return 0
    return 0
