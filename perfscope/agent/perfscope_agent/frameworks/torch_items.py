"""Whether a data set prepares the same sample anew each time that it is asked for it.

Of samples that the training process prepares itself a few are looked at, the same ones in each
epoch: rows of the batches that were just put together, of which a digest is compared with that of
the last time. Nothing of the data set is asked, and nothing of a batch is held.
"""

from __future__ import annotations

import sys
import time
from _thread import get_ident

from .. import metadata, notes, operand_arrays, recorder
from ..pace import Budget
from . import torch_states, wrap

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Iterator

    from ..kinds import AnyFunction, ModuleType

_MOST_SAMPLES = 64
"""That are remembered of a data set: with more of them every second one is dropped."""

_MOST_SETS = 8


class _DataSet:
    """What was seen of one data set."""

    def __init__(self, data_set: Any) -> None:
        self.every = 1  # a power of two
        self.digests: dict[int, int] = {}
        self.told: dict[str, Any] = {"dataset": type(data_set).__name__}
        self.told.update(compared=0, same=0, bytes=0)

    def chosen(self, numbers: list[Any]) -> list[tuple[int, int]]:
        """Places in a batch, and numbers, of samples that are looked at: each so many-th."""
        others = self.every - 1
        return [
            (at, one) for at, one in enumerate(numbers) if type(one) is int and not one & others
        ]

    def see(self, number: int, digest: int, size: int) -> None:
        """Compares a sample with what it was the last time."""
        known = self.digests.get(number)
        if known is not None:
            self.told["compared"] += 1
            self.told["same"] += known == digest
        self.told["bytes"] = max(self.told["bytes"], size)
        self.digests[number] = digest
        if len(self.digests) > _MOST_SAMPLES:
            self.every *= 2
            self.digests = {n: d for n, d in self.digests.items() if n % self.every == 0}


_sets: dict[int, _DataSet] = {}
_budget = Budget()


def install(module: ModuleType) -> None:
    """Looks at batches of data sets that are asked for their samples by number."""

    def make(original: AnyFunction) -> AnyFunction:
        def fetch(self: Any, possibly_batched_index: Any) -> Any:
            data = original(self, possibly_batched_index)
            rec = recorder.current
            if rec is not None and get_ident() == recorder.main_thread:
                _look(rec, self.dataset, possibly_batched_index, data)
            return data

        return fetch

    wrap.replace(module._MapDatasetFetcher, "fetch", make)


def forget() -> None:
    """Drops what belongs to the parent, in a forked child."""
    _sets.clear()


def _look(rec: recorder.Recorder, data_set: Any, numbers: Any, data: Any) -> None:
    if type(numbers) is not list or not _budget.is_left():
        return
    begin_ns = time.monotonic_ns()
    try:
        known = _sets.get(id(data_set))
        if known is None and len(_sets) < _MOST_SETS:
            known = _sets[id(data_set)] = _DataSet(data_set)
            metadata.framework("torch", items=[one.told for one in _sets.values()])
        if known is not None:
            chosen = known.chosen(numbers)
            batch = _first_of(data, len(numbers)) if chosen else None
            if batch is not None:
                for at, number in chosen:
                    _see(rec, known, number, batch, at)
    except Exception as error:
        _budget.spent_ns = sys.maxsize
        notes.failure("samples of data sets are not compared", error)
    _budget.spent_ns += time.monotonic_ns() - begin_ns


def _see(
    rec: recorder.Recorder, known: _DataSet, number: int, batch: operand_arrays.Array, at: int
) -> None:
    row = operand_arrays.Array(
        batch.kind, batch.dtype, batch.order, batch.address + at * batch.strides[0], batch.shape[1:]
    ).laid_out(batch.item_bytes, batch.strides[1:])
    content = operand_arrays.read(rec, row)
    if content is not None:
        size = row.elements * row.item_bytes
        known.see(number, operand_arrays.digest(row, content), size)


def _first_of(data: Any, count: int) -> operand_arrays.Array | None:
    """The first tensor of a batch that holds a row of several values for each of its samples."""
    tensor = sys.modules["torch"].Tensor
    for part in _parts(data):
        if type(part) is tensor and part.dim() > 1 and len(part) == count:
            return torch_states.array_of(part)
    return None


def _parts(data: Any) -> Iterator[Any]:
    if type(data) is dict:
        data = list(data.values())
    yield from data if type(data) in (list, tuple) else [data]
