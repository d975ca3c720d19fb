"""Callbacks run after a module's import, and nobody else can tell."""

import importlib
import inspect
import pickle
import sys
from collections.abc import Iterator
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from perfscope.agent.perfscope_agent import hooks, notes

NAME = "hooked_module"
SOURCE = "class Thing:\n    value = 1\nWHERE = __loader__\n"


def ignore(_module: ModuleType) -> None:
    """Does nothing."""


def fail(_module: ModuleType) -> None:
    raise ZeroDivisionError("division by zero")


@pytest.fixture
def module_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    path = tmp_path / f"{NAME}.py"
    path.write_text(SOURCE)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(hooks, "_is_installed", False)
    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))
    hooks._callbacks.clear()
    yield path
    sys.modules.pop(NAME, None)


@pytest.mark.usefixtures("module_file")
def test_callback_runs_once_after_the_import() -> None:
    seen: list[int] = []
    hooks.on_import(NAME, lambda module: seen.append(module.Thing.value))
    assert seen == []
    module = importlib.import_module(NAME)
    importlib.import_module(NAME)
    importlib.reload(module)
    assert seen == [1]


@pytest.mark.usefixtures("module_file")
def test_callback_runs_at_once_for_a_loaded_module() -> None:
    module = importlib.import_module(NAME)
    seen: list[ModuleType] = []
    hooks.on_import(NAME, seen.append)
    assert seen == [module]


@pytest.mark.usefixtures("module_file")
def test_module_keeps_its_own_loader() -> None:
    hooks.on_import(NAME, ignore)
    module: Any = importlib.import_module(NAME)
    assert isinstance(module.__spec__.loader, SourceFileLoader)
    assert module.__loader__ is module.__spec__.loader is module.WHERE
    assert inspect.getsource(module.Thing) == "class Thing:\n    value = 1\n"
    assert isinstance(pickle.loads(pickle.dumps(module.Thing())), module.Thing)


@pytest.mark.usefixtures("module_file")
def test_failing_callback_is_noted_and_the_import_succeeds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(notes, "notes", [])
    hooks.on_import(NAME, fail)
    importlib.import_module(NAME)
    assert notes.notes == [f"hook of {NAME}: ZeroDivisionError: division by zero"]


def test_failing_import_raises_as_ever(module_file: Path) -> None:
    module_file.write_text("raise ImportError('not today')\n")
    seen: list[ModuleType] = []
    hooks.on_import(NAME, seen.append)
    with pytest.raises(ImportError, match="not today"):
        importlib.import_module(NAME)
    assert seen == []


@pytest.mark.usefixtures("module_file")
def test_missing_module_is_missing_as_ever() -> None:
    hooks.on_import("no_module_of_this_name", ignore)
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("no_module_of_this_name")


class _Wrapping(MetaPathFinder):
    """Another package's hook: asks the import system for the spec and replaces exec_module."""

    def __init__(self, *, is_first: bool) -> None:
        self.executed: list[str] = []
        self._busy = False
        sys.meta_path.insert(0 if is_first else 1, self)

    def find_spec(self, name: str, path: Any, target: Any = None) -> ModuleSpec | None:
        if name != NAME or self._busy:
            return None
        self._busy = True
        try:
            spec = importlib.util.find_spec(name) or PathFinder.find_spec(name, path)
        finally:
            self._busy = False
        assert spec is not None
        assert isinstance(spec.loader, Loader) or hasattr(spec.loader, "exec_module")
        loader: Any = spec.loader
        original = loader.exec_module

        def exec_module(module: ModuleType) -> None:
            original(module)
            self.executed.append(module.__name__)

        loader.exec_module = exec_module
        return spec


@pytest.mark.parametrize("is_first", [True, False])
@pytest.mark.usefixtures("module_file")
def test_works_beside_another_hook(is_first: bool) -> None:
    seen: list[str] = []
    hooks.on_import(NAME, lambda module: seen.append(module.__name__))
    other = _Wrapping(is_first=is_first)
    assert importlib.import_module(NAME).Thing.value == 1
    assert seen == [NAME]
    assert other.executed == [NAME]
