"""Batches that every rank loads as a whole, and of which it trains on a part of its own.

Loaders tell the samples of all ranks then, on each of them. Whether it is so, only all ranks
together can tell: each notes digests of batches that it loaded and gave a part of, of the size that
is a rank's, to its DistributedDataParallel models. Who gives part of a batch that is its own, as
with several updates on one batch, does so too, but has loaded another one than the other ranks.
"""

from __future__ import annotations

from _thread import get_ident

from .. import metadata, operand_arrays, recorder
from . import torch_compile, torch_states, wrap

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any, Callable

    AnyFunction = Callable[..., Any]

_MOST_MODELS = 64
_MOST_DIGESTS = 8
_MOST_TRIES = 64
"""Batches that are looked at, whether or not a part of them is given to a model."""

_given: dict[int, _Given] = {}
"""What each model was given since the last step of an optimizer, by its identity."""


class _Seen:
    """What was seen of all steps."""

    def __init__(self) -> None:
        self.told: dict[str, Any] = {"ranks": 0, "steps": 0, "others": 0, "digests": []}
        """`steps`: of which a rank's part of the batch was given to models; `others` of any else"""
        self.tries = 0
        self.digest = 0  # of the batch that was loaded last, 0 unknown


_seen = _Seen()


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


def loaded(batch: Any) -> int:
    """Samples of a batch that a loader delivers; 0 unknown."""
    is_wanted = _seen.told["ranks"] and len(_seen.told["digests"]) < _MOST_DIGESTS
    if is_wanted and _seen.tries < _MOST_TRIES and torch_compile.module().is_grad_enabled():
        _seen.tries += 1
        _seen.digest = wrap.asked(0, _digest, batch)
    return wrap.batch_length(batch)


def _digest(batch: Any) -> int:
    """Of what comes first in a batch, as the other ranks have it; 0 where it cannot be read."""
    rec, first = recorder.current, wrap.first_array(batch)
    tensor = torch_compile.module().Tensor
    if rec is None or type(first) is not tensor or not operand_arrays.are_common():
        return 0
    array = torch_states.array_of(first)
    content = operand_arrays.read(rec, array) if array is not None else None
    return operand_arrays.digest(array, content) if array and content is not None else 0


def ends_step(samples: int) -> int:
    """An optimizer has stepped, of so many samples that loaders delivered for it: returns these."""
    parts = [one for one in _given.values() if one.samples]
    told = _seen.told
    if parts and not told["ranks"] and parts[0].ranks > 1:
        told["ranks"] = parts[0].ranks
        metadata.framework("torch", divided=told)
    if parts or samples:
        is_divided = samples > 0 and bool(parts) and all(one.is_part_of(samples) for one in parts)
        told["steps" if is_divided else "others"] += 1
        if is_divided and _seen.digest and len(told["digests"]) < _MOST_DIGESTS:
            told["digests"].append(_seen.digest)
    _seen.digest = 0
    _given.clear()
    return samples


def forget() -> None:
    """Drops what belongs to the parent, in a forked child."""
    global _seen
    _given.clear()
    _seen = _Seen()
