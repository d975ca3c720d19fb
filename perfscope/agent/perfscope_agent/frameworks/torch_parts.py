"""Batches that every rank loads as a whole, and of which it trains on a part of its own.

The loader tells the samples of all ranks then, on each of them. What DistributedDataParallel models
are given tells the part: so many samples, over all passes of a step, as the batch has for a rank.
"""

from __future__ import annotations

from _thread import get_ident

from .. import recorder
from . import torch_compile, wrap

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any, Callable

    AnyFunction = Callable[..., Any]

_MOST_MODELS = 64

_given: dict[int, _Given] = {}
"""What each model was given since the last step of an optimizer, by its identity."""


class _Given:
    """Samples that one model was given, and lengths that what it was given has elsewhere."""

    __slots__ = ("lengths", "ranks", "samples")

    def __init__(self, ranks: int) -> None:
        self.ranks = ranks
        self.samples = 0
        self.lengths: set[int] = set()

    def is_part_of(self, batch: int) -> bool:
        """Whether it is what one rank gets of a batch that is divided among all of them.

        An array that is as long as the batch in another dimension holds all of it.
        """
        least = batch // self.ranks
        is_share = least <= self.samples <= least + (batch % self.ranks > 0)
        return self.ranks > 1 and is_share and batch not in self.lengths


def install(module: ModuleType) -> None:
    """What models are given; nothing where this PyTorch does not prepare it in a function."""
    torch_module = torch_compile.module()

    def make(original: AnyFunction) -> AnyFunction:
        def prepare(self: Any, *inputs: Any, **kwargs: Any) -> Any:
            if torch_module.compiler.is_compiling():
                return original(self, *inputs, **kwargs)
            is_seen = recorder.current is not None and torch_module.is_grad_enabled()
            if is_seen and get_ident() == recorder.main_thread:
                wrap.guarded("samples of a model's input", _note, self, inputs, kwargs)
            return original(self, *inputs, **kwargs)

        return prepare

    torch_compile.replace(module.DistributedDataParallel, "_pre_forward", make)


def _note(model: Any, inputs: Any, kwargs: Any) -> None:
    array = wrap.first_array(inputs)
    if array is None:
        array = wrap.first_array(kwargs)
    shape = tuple(array.shape) if array is not None else ()
    if not shape or not model.training or len(_given) >= _MOST_MODELS:
        return
    given = _given.get(id(model))
    if given is None:
        given = _given[id(model)] = _Given(model.process_group.size())
    given.samples += int(shape[0])
    given.lengths.update(shape[1:])


def of_step(loaded: int) -> int:
    """Samples of the step that ends, of those that loaders delivered for it: this rank's part."""
    parts = [one for one in _given.values() if one.samples]
    is_divided = loaded > 0 and bool(parts) and all(one.is_part_of(loaded) for one in parts)
    samples = max(one.samples for one in parts) if is_divided else loaded
    _given.clear()
    return samples


def forget() -> None:
    """Drops what belongs to the parent, in a forked child."""
    _given.clear()
