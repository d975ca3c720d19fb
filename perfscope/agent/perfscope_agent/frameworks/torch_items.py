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
            parts = _rows_of(data, len(numbers)) if chosen else []
            for at, number in chosen if parts else ():
                _see(rec, known, number, parts, at)
    except Exception as error:
        _budget.spent_ns = sys.maxsize
        notes.failure("samples of data sets are not compared", error)
    _budget.spent_ns += time.monotonic_ns() - begin_ns


def _see(
    rec: recorder.Recorder,
    known: _DataSet,
    number: int,
    parts: list[operand_arrays.Array],
    at: int,
) -> None:
    digests, size = [], 0
    for part in parts:
        row = operand_arrays.Array(
            part.kind, part.dtype, part.order, part.address + at * part.strides[0], part.shape[1:]
        ).laid_out(part.item_bytes, part.strides[1:])
        content = operand_arrays.read(rec, row)
        if content is None:
            return
        digests.append(operand_arrays.digest(row, content))
        size += row.elements * row.item_bytes
    known.see(number, hash(tuple(digests)), size)


def _rows_of(data: Any, count: int) -> list[operand_arrays.Array]:
    """The tensors of a batch that hold a row of several values for each of its samples.

    Empty where one of them cannot be looked at: a sample may be the same in all but that.
    """
    tensor = sys.modules["torch"].Tensor
    found = [
        torch_states.array_of(part)
        for part in _parts(data)
        if type(part) is tensor and part.dim() > 1 and len(part) == count
    ]
    known = [one for one in found if one is not None]
    return known if len(known) == len(found) else []


def _parts(data: Any) -> Iterator[Any]:
    if type(data) is dict:
        data = list(data.values())
    for part in data if type(data) in (list, tuple) else [data]:
        if type(part) in (dict, list, tuple):
            yield from _parts(part)
        else:
            yield part
