"""Calls a function after a module was imported, with the standard library only."""

from __future__ import annotations

import sys

from . import notes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any, Callable

    Callback = Callable[[ModuleType], None]

_callbacks: dict[str, list[Callback]] = {}
_searching: set[tuple[int, str]] = set()
_is_installed = False


def on_import(name: str, callback: Callback) -> None:
    """Runs the callback once after the module was executed, at once when it is already there."""
    global _is_installed
    module = sys.modules.get(name)
    if module is not None:
        _run([callback], module)
        return
    _callbacks.setdefault(name, []).append(callback)
    if not _is_installed:
        _is_installed = True
        sys.meta_path.insert(0, _Finder())


def _run(callbacks: list[Callback], module: ModuleType) -> None:
    for callback in callbacks:
        _run_one(callback, module)


def _run_one(callback: Callback, module: ModuleType) -> None:
    try:
        callback(module)
    except Exception as error:
        notes.failure("hook of " + module.__name__, error)


class _Finder:
    """Finds the awaited modules through the other finders and wraps their loaders."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        """The spec that the other finders give, with a loader that also runs the callbacks."""
        if name not in _callbacks:
            return None
        import _thread

        # Other packages' finders may call back into this one for the same module.
        mark = (_thread.get_ident(), name)
        if mark in _searching:
            return None
        _searching.add(mark)
        try:
            spec = self._find_elsewhere(name, path, target)
        finally:
            _searching.discard(mark)
        loader = getattr(spec, "loader", None)
        if hasattr(loader, "exec_module"):
            spec.loader = _Loader(loader)
        return spec

    def _find_elsewhere(self, name: str, path: Any, target: Any) -> Any:
        for finder in list(sys.meta_path):
            if finder is not self and hasattr(finder, "find_spec"):
                spec = finder.find_spec(name, path, target)
                if spec is not None:
                    return spec
        return None


class _Loader:
    """Stands in for a module's loader while the module is executed."""

    def __init__(self, loader: Any) -> None:
        self._loader = loader

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)

    def create_module(self, spec: Any) -> Any:
        """What the real loader creates."""
        create = getattr(self._loader, "create_module", None)
        return create(spec) if create is not None else None

    def exec_module(self, module: ModuleType) -> None:
        """Executes the module under its real loader, then runs its callbacks."""
        # Restored before execution: pickling, inspect and reload see the original.
        if module.__spec__ is not None:
            module.__spec__.loader = self._loader
        module.__loader__ = self._loader
        self._loader.exec_module(module)
        _run(_callbacks.pop(module.__name__, []), sys.modules.get(module.__name__, module))
