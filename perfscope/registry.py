"""Finds the modules of a package: a new diagnosis, section, reader or export is one file."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator, Sequence
from types import ModuleType
from typing import Any


def modules(package: str, *, order: Sequence[str] = ()) -> Iterator[ModuleType]:
    """The modules of a package, loaded: those of `order` first, the others by name.

    Modules whose name begins with an underscore are left out.

    Raises:
        ModuleNotFoundError: the package, or a module named in `order`, does not exist.
    """
    found = importlib.import_module(package)
    names = [item.name for item in pkgutil.iter_modules(found.__path__)]
    public = sorted(name for name in names if not name.startswith("_"))
    for name in (*order, *(name for name in public if name not in order)):
        yield importlib.import_module(f"{package}.{name}")


def members(package: str, attribute: str, *, order: Sequence[str] = ()) -> list[Any]:
    """What the modules of a package offer under one name; modules without it are helpers."""
    return [
        getattr(module, attribute)
        for module in modules(package, order=order)
        if hasattr(module, attribute)
    ]
