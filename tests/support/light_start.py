"""Run at the start of processes of tests: PyTorch and TensorFlow load less of themselves.

Loading PyTorch takes some 2 s of a CPU, a quarter of them for what tensors without values compute,
and its first optimizer loads the compiler for 1 s more, only to be left alone by it. What else is
asked of the compiler loads all of both. TensorFlow compiles the names of the same types 18,000
times.
"""

import builtins
import functools
import importlib
import importlib.abc
import sys
import typing
from importlib.machinery import ModuleSpec
from types import ModuleType, SimpleNamespace

_COMPILER, _WITHOUT_VALUES = "torch._dynamo", "torch._meta_registrations"


class Later(ModuleType):
    """PyTorch's compiler, as far as it is asked for where nothing is compiled."""

    def __init__(self) -> None:
        super().__init__(_COMPILER)
        self.disable = lambda function, *_, **__: function
        self.graph_break = lambda: None
        self.utils = SimpleNamespace(get_optimize_ddp_mode=lambda: "ddp_optimizer")
        self.trace_rules = SimpleNamespace(clear_lru_cache=lambda: None)

    def __getattr__(self, name: str) -> object:
        """What it has not got is of the compiler itself."""
        is_asked = sys.modules.get(_COMPILER) is self
        if name.startswith("__") and not (is_asked and name == "__path__"):
            raise AttributeError(name)  # to who looks through all modules
        if is_asked:
            sys.meta_path.remove(_finder)
            del sys.modules[_COMPILER], sys.modules[_WITHOUT_VALUES]
            vars(sys.modules["torch"]).pop("_dynamo", None)
            importlib.import_module(_WITHOUT_VALUES)
        return getattr(importlib.import_module(_COMPILER), name)


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds a small module in the place of each of the two."""

    def find_spec(self, name: str, *_: object) -> "ModuleSpec | None":
        return ModuleSpec(name, self) if name in {_COMPILER, _WITHOUT_VALUES} else None

    def create_module(self, spec: ModuleSpec) -> "ModuleType | None":
        return Later() if spec.name == _COMPILER else None

    def exec_module(self, module: ModuleType) -> None:
        """The little that a program needs of it."""
        if module.__name__ == _WITHOUT_VALUES:
            base = importlib.import_module("torch._opaque_base").OpaqueBaseMeta
            sys.modules["torch._C"]._set_generator_metaclass(base)


_finder = _Finder()
sys.meta_path.insert(0, _finder)
typing.compile = functools.lru_cache(None)(builtins.compile)  # type: ignore[attr-defined]
