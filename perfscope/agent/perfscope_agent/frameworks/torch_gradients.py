"""What exchanged gradients hold that nothing uses: rows of zeros, and parameters of no optimizer.

Both are told by a look at some rows of the gradients that are there anyhow: nothing is computed or
copied by PyTorch, so that neither its profiler nor its random numbers see anything of it.
"""

from __future__ import annotations

from ..kinds import Any

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Iterator

_ROWS = 64
"""Looked at in each gradient, evenly over all of them."""

_optimizers: list[Any] = []
"""Those that have stepped, as weak references."""

last: Any = None
"""The one that was noted last, as a weak reference."""

is_news = False
"""Whether an optimizer has stepped for the first time since the last look."""


def note_optimizer(optimizer: Any) -> None:
    """Remembers an optimizer that steps, whose parameters it may get and lose later on."""
    global is_news, last
    for known in _optimizers:
        if known() is optimizer:
            last = known
            return
    import weakref

    _optimizers[:] = [known for known in _optimizers if known() is not None]
    last = weakref.ref(optimizer)
    _optimizers.append(last)
    is_news = True


def held() -> set[int]:
    """The parameters that optimizers hold, by identity."""
    known = [optimizer for optimizer in (one() for one in _optimizers) if optimizer is not None]
    return {
        id(parameter)
        for optimizer in known
        for group in optimizer.param_groups
        for parameter in group["params"]
    }


def described(models: list[Any]) -> dict[str, Any]:
    """The bytes of the gradients, those in rows of zeros, and those that no optimizer holds."""
    global is_news
    is_news = False
    whole, known = 0, held()
    parts: dict[str, int] = {"empty": 0, "unheld": 0}
    largest: dict[str, int] = {"empty": 0, "unheld": 0}
    told: dict[str, Any] = {}
    for module, name, parameter in _parameters(models):
        size = parameter.numel() * parameter.element_size()
        whole += size
        empty = int(size * _empty_share(parameter.grad)) if _may_look_up(module) else 0
        unheld = size if known and id(parameter) not in known else 0
        for part, found in (("empty", empty), ("unheld", unheld)):
            parts[part] += found
            if found > largest[part]:
                largest[part] = found
                told[part + "_name"] = name
                told[part + "_module"] = type(module).__name__
    told.update(bytes=whole, empty_bytes=parts["empty"], unheld_bytes=parts["unheld"])
    return told


def _parameters(models: list[Any]) -> Iterator[tuple[Any, str, Any]]:
    """The parameters with a dense gradient, once each, with the module that owns them."""
    seen = set()
    for model in models:
        for path, module in model.named_modules():
            for name, parameter in module.named_parameters(recurse=False):
                gradient = parameter.grad
                if gradient is None or gradient.is_sparse or id(parameter) in seen:
                    continue
                seen.add(id(parameter))
                yield module, path + "." + name if path else name, parameter


def _may_look_up(module: Any) -> bool:
    """Whether a batch may use some rows of a module's parameters alone.

    Of PyTorch's own modules those that do can be told to have sparse gradients. In all others each
    row is a unit that takes part in every product: its gradient is zero where the unit was off.
    """
    return not type(module).__module__.startswith("torch.nn.") or hasattr(module, "sparse")


def _empty_share(gradient: Any) -> float:
    """Of the rows of a gradient that were looked at, those that hold nothing but zeros."""
    if gradient.dim() < 2 or gradient.requires_grad or gradient.device.type != "cpu":
        return 0.0
    try:
        rows = gradient.numpy()
    except (TypeError, RuntimeError):  # a type or a layout that NumPy does not have
        return 0.0
    chosen = rows[:: max(1, len(rows) // _ROWS)]
    held = chosen.any(axis=tuple(range(1, chosen.ndim)))
    return 1.0 - int(held.sum()) / max(1, len(chosen))
