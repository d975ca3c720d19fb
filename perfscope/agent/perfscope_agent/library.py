"""The recorder library's functions in Python, by the part of `ctypes` that is compiled.

The package around it defines some forty classes, a fifth of what starting the agent takes. What is
used here of the compiled part is what that package itself is made of.
"""

from __future__ import annotations

from .kinds import Any

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Dict

    _ByName = Dict[str, Any]
else:
    _ByName = dict

_CODES = {
    "int": "i",
    "i32": "i",
    "i64": "q",
    "u32": "I",
    "u64": "Q",
    "f64": "d",
    "text": "z",
    "pointer": "P",
    "object": "O",
}
"""The kinds of values, as `struct` has them, but for the last three."""


def _compiled() -> Any:
    import _ctypes

    return _ctypes


class _Types(_ByName):
    """What stands for each kind of value; "-" for none. Each is made when it is asked for."""

    def __missing__(self, kind: str) -> Any:
        simple = _compiled()._SimpleCData
        found = None if kind == "-" else type(simple)(kind, (simple,), {"_type_": _CODES[kind]})
        self[kind] = found
        return found


types = _Types()


class Library:
    """A shared library, loaded.

    Raises:
        OSError: it cannot be.
    """

    def __init__(self, path: str | None) -> None:
        compiled = _compiled()
        self._handle = compiled.dlopen(path, 0)  # by this name a function looks for it
        # Giving the interpreter's lock away for a call of 50 ns would invite a thread switch.
        self._held = _kind_of_function(compiled.FUNCFLAG_CDECL | compiled.FUNCFLAG_PYTHONAPI)
        self._free = _kind_of_function(compiled.FUNCFLAG_CDECL)

    def has(self, name: str) -> bool:
        """Whether it has something of a name."""
        try:
            return bool(_compiled().dlsym(self._handle, name))
        except OSError:
            return False

    def function(self, name: str, signature: str, *, keeps_lock: bool = True) -> Any:
        """A function of the library.

        Args:
            name: in the library.
            signature: the kinds of its result and its arguments, with blanks between them.
            keeps_lock: whether it runs under the interpreter's lock.

        Raises:
            AttributeError: the library has none of that name.
        """
        found = (self._held if keeps_lock else self._free)((name, self))
        result, *arguments = (types[word] for word in signature.split())
        found.restype, found.argtypes = result, arguments
        return found


def _kind_of_function(flags: int) -> Any:
    function = _compiled().CFuncPtr
    return type(function)("_FuncPtr", (function,), {"_flags_": flags, "_restype_": types["int"]})
