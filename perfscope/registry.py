"""Finds the modules of a package: a new diagnosis, section, reader or export is one file.

And those of packages that are installed only where somebody asks for them.
"""

import functools
import importlib
import pkgutil
from collections.abc import Iterator, Sequence
from types import ModuleType
from typing import Any

from perfscope.errors import UsageError


def modules(package: str, *, order: Sequence[str] = ()) -> Iterator[ModuleType]:
    """The modules of a package and of its folders, loaded: those of `order` first.

    `order` names modules without their folders; the others come by name, and by folder where
    several have the same one. Modules whose name begins with an underscore are left out.

    Raises:
        ModuleNotFoundError: the package, or a module named in `order`, does not exist.
    """
    names = _names(package)
    for wanted in order:
        if wanted not in map(_leaf, names):
            raise ModuleNotFoundError(f"{package} has no module {wanted}")
    ranked = {name: place for place, name in enumerate(order)}
    for name in sorted(names, key=lambda name: ranked.get(_leaf(name), len(ranked))):
        yield importlib.import_module(name)


def _names(package: str) -> list[str]:
    """Of the public modules in a package, by name."""
    found = _below(importlib.import_module(package))
    return sorted(found, key=lambda name: (_leaf(name), name))


def _below(package: ModuleType) -> Iterator[str]:
    """The public modules in a package, and in those inside it."""
    for item in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
        if _leaf(item.name).startswith("_"):
            continue
        if item.ispkg:
            yield from _below(importlib.import_module(item.name))
        else:
            yield item.name


def _leaf(name: str) -> str:
    return name.rpartition(".")[2]


def members(package: str, attribute: str, *, order: Sequence[str] = ()) -> list[Any]:
    """What the modules of a package offer under one name; modules without it are helpers."""
    found = _loaded(package, tuple(order))
    return [getattr(module, attribute) for module in found if hasattr(module, attribute)]


@functools.cache
def _loaded(package: str, order: tuple[str, ...]) -> tuple[ModuleType, ...]:
    """Its modules: files are looked for once in a process, where an analysis asks many times."""
    return tuple(modules(package, order=order))


def optional(module: str, *, option: str, distribution: str, install: str) -> ModuleType:
    """A module of a package that only an option needs.

    Raises:
        UsageError: `distribution` is not installed; `install` is what pip is to be asked for.
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise UsageError(
            f"{option} needs {distribution}, which is not installed.",
            why=f"{error}.",
            action=f"pip install {install}",
        ) from error
