"""With which learning rate an optimizer begins, and which one its class has by itself."""

from __future__ import annotations

from numbers import Real

from .. import metadata
from ..kinds import Any

_MOST = 8
_noted: dict[str, list[dict[str, Any]]] = {}
seen: set[int] = set()
"""Optimizers that were noted, by identity."""


def forget() -> None:
    """Drops what belongs to the parent, in a forked child."""
    _noted.clear()
    seen.clear()


def of_torch(source: str, optimizer: Any) -> None:
    """Notes an optimizer of PyTorch, once; a rate that is a tensor stays unread."""
    if id(optimizer) in seen or len(seen) >= _MOST:
        return
    seen.add(id(optimizer))
    try:
        _note(source, optimizer, optimizer.param_groups[0]["lr"], "lr")
    except Exception:
        return


def of_keras(source: str, optimizer: Any) -> None:
    """Notes an optimizer of Keras itself; a schedule is no number and stays away."""
    if not _is_of(type(optimizer), "keras", "tensorflow", "tf_keras"):
        return
    try:
        _note(source, optimizer, optimizer.get_config()["learning_rate"], "learning_rate")
    except Exception:
        return


def _note(source: str, optimizer: Any, value: Any, parameter: str) -> None:
    rows = _noted.setdefault(source, [])
    if not _is_number(value) or len(rows) >= _MOST:
        return
    rows.append(
        {
            "optimizer": type(optimizer).__name__,
            "learning_rate": float(value),
            "default": _default(type(optimizer), parameter),
        }
    )
    metadata.framework(source, learning_rates=rows)


def _default(kind: type, parameter: str) -> float | None:
    """What the framework's class takes where the program says nothing; None: it must say it."""
    import inspect

    for owner in kind.__mro__:
        if "__init__" in vars(owner) and _is_of(owner, "torch", "keras", "tensorflow", "tf_keras"):
            found = inspect.signature(vars(owner)["__init__"]).parameters.get(parameter)
            if found is not None:
                return float(found.default) if _is_number(found.default) else None
    return None


def _is_of(kind: type, *packages: str) -> bool:
    """Whether a class is one of a package's own, not of the program's."""
    return str(kind.__module__).partition(".")[0] in packages


def _is_number(value: Any) -> bool:
    # numpy's scalars are numbers, too
    return isinstance(value, Real) and not isinstance(value, bool)
