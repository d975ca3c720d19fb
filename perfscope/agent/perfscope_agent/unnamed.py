"""Types of C that name no module: Python tells them to be its own.

Their module of C has them under their name, as in `scipy.sparse.linalg._dsolve._superlu.SuperLU`.
"""

from __future__ import annotations

import sys
from _weakref import ref

from .kinds import Any, Callable

_MOST_KNOWN = 1000
_FILES = (".so", ".pyd")

_Module = type(sys)
_contents: Callable[[Any], dict[str, Any]] = vars(_Module)["__dict__"].__get__
_builtins = _contents(sys.modules["builtins"])
_known: dict[int, tuple[Any, str]] = {}
"""By identity, as its hash may be code of the program, with a weak reference to the type."""


def module_of(kind: type, name: str) -> str:
    """The module of a type that Python tells to be its own; "" where nobody knows.

    Names that begin with a large letter are none of Python's own, but for those that it has there.
    """
    if _builtins.get(name) is kind:
        return "builtins"
    found = _known.get(id(kind))
    if found is None or found[0]() is not kind:
        if len(_known) >= _MOST_KNOWN:
            _known.clear()
        found = _known[id(kind)] = (ref(kind), _searched(kind, name))
    return found[1]


def _searched(kind: type, name: str) -> str:
    for module_name, module in list(sys.modules.items()):
        contents = _contents(module) if issubclass(type(module), _Module) else {}
        file = contents.get("__file__") if contents.get(name) is kind else None
        if type(file) is str and file.endswith(_FILES) and type(module_name) is str:
            return module_name
    return "" if name[:1].isupper() else "builtins"
