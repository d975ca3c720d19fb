"""How many samples a batch of Keras's fit() holds, read from its arguments alone."""

from __future__ import annotations

import inspect

from . import wrap

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable

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
        self._per_execution = per_execution

    def samples(self, index: int) -> int:
        """Samples of the execution that begins with batch `index`; 0 unknown."""
        full = self.size * self._per_execution
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
    return Batches(_dataset_batch(x), None, per_execution)


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


def _dataset_batch(dataset: Any) -> int:
    """The batch size of a tf.data.Dataset, PyDataset or DataLoader, 0 unknown."""
    for _ in range(20):
        for name in ("batch_size", "_batch_size"):
            size: Any = getattr(dataset, name, None)
            known = _positive(size.numpy() if hasattr(size, "numpy") else size)
            if known:
                return known
        dataset = getattr(dataset, "_input_dataset", None)
        if dataset is None:
            return 0
    return 0
