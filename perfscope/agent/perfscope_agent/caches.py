"""What the caches of the program's functions held at the end: hits, misses, and how many fit in.

`functools.lru_cache` counts by itself: asking costs nothing while the program runs. Asked are
caches that modules of the program, and classes of these, hold by a name: no code of it runs for
that.
"""

from __future__ import annotations

import os
import sys

from . import files, own_threads, recorder
from .kinds import Any, CodeType, Iterator

_MOST_CACHES = 64
_MOST_LOOKED_AT = 100000
"""Values of modules and classes: with more of them no others are looked at."""

_MAIN = "__main__"
_wrappers = staticmethod, classmethod


def told() -> list[dict[str, Any]]:
    """What each of them counted, for the metadata: of those with most misses."""
    kind = own_threads.contents("functools").get("_lru_cache_wrapper")
    if type(kind) is not type:  # a Python whose caches are functions
        return []
    found = sorted(_counted(kind), key=lambda one: -int(one["misses"]))
    return found[:_MOST_CACHES]


def _counted(kind: type) -> Iterator[dict[str, Any]]:
    seen = set()
    for value in _values(kind):
        code = None if id(value) in seen else _code_of(value)
        seen.add(id(value))
        if code is None:
            continue
        hits, misses, most, size = value.cache_info()
        if misses:
            function = getattr(code, "co_qualname", code.co_name)
            yield {
                "place": recorder.place_text(
                    function, os.path.abspath(code.co_filename), code.co_firstlineno
                ),
                "hits": hits,
                "misses": misses,
                "most": -1 if most is None else most,
                "size": size,
            }


def _values(kind: type) -> Iterator[Any]:
    """Caches that the program's modules, and classes that are made there, hold."""
    left = _MOST_LOOKED_AT
    for name in list(sys.modules):
        held = own_threads.contents(name)
        file = _MAIN if name == _MAIN else held.get("__file__")  # Python takes it from the script
        if type(file) is not str or not files.is_program(file):
            continue
        for value in list(held.values()):
            inside = _of_class(value, name) if isinstance(value, type) else [value]
            left -= len(inside)
            if left < 0:
                return
            for one in inside:
                held_by_class = one.__func__ if type(one) in _wrappers else one
                if type(held_by_class) is kind:
                    yield held_by_class


def _of_class(value: type, module: str) -> list[Any]:
    """What a class holds that a module made; nothing of one that only came into it."""
    held = type.__dict__["__dict__"].__get__(value)
    return list(held.values()) if held.get("__module__") == module else []


def _code_of(cache: Any) -> CodeType | None:
    """The code of the function whose results are kept; None where it is none of Python."""
    function = cache.__dict__.get("__wrapped__")
    if type(function) is not type(told):
        return None
    code: CodeType = function.__code__
    return code if files.is_program(code.co_filename) else None
