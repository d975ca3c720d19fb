"""What the functions that samples met hand on to each other, and the short ones that they call.

A method that puts a sample into a buffer is over before a look meets it. So what is given to a
function of the same files is followed by its name. Nothing of the program is run or asked: codes
are taken from the dictionaries of its modules and classes.
"""

from __future__ import annotations

import os
import sys

from . import files, flows

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import CodeType, FunctionType
    from typing import Any, Callable, Iterable, Iterator, List, Tuple, Union

    Met = Tuple[CodeType, str, str]
    Loops = Callable[[CodeType], List[Tuple[int, int]]]
    Handed = List[Tuple[Union[int, str], Union[int, str]]]

_MOST = 400
"""Codes that are looked through."""

MOST_WRAPPERS = 32
"""Decorators around one function that are looked behind."""

_function: Any = type(lambda: None)


def handed_on(met: list[Met], loops: Loops) -> list[tuple[Met, Handed]]:
    """Each function with what it passes on; of those that were not met such as hand on anything.

    `loops` finds the first and last instructions of a function's loops.
    """
    found = [(one, flows.Flows(one[0], loops(one[0]))) for one in met]
    named: dict[str, list[Met]] = {}
    for one in _others({one[0] for one in met}):
        named.setdefault(one[0].co_name, []).append(one)
    wanted = [name for one in met for name in one[0].co_names]
    while wanted:
        for one in named.pop(wanted.pop(), ()):
            found.append((one, flows.Flows(one[0], loops(one[0]))))
            wanted += one[0].co_names
    edges = [edge for _, flow in found for edge in flow.edges]
    put = {str(key).lstrip("?") for line, key in edges if isinstance(line, int)}
    read = {str(key) for key, line in edges if isinstance(line, int)} | {flows.RETURNED}
    told: list[tuple[Met, Handed]] = []
    for place, (one, flow) in enumerate(found):
        own = [edge for edge in flow.edges if edge[0] in put or str(edge[1]).lstrip("?") in read]
        if place < len(met) or own:
            told.append((one, [*flow.pairs, *own[: flows.MOST]]))
    return told


def codes() -> tuple[list[CodeType], bool]:
    """The functions of the program's files, and whether these are all of them."""
    found = [code for code, _, _ in _others(set())]
    return found, len(found) < _MOST


def _others(known: set[CodeType]) -> Iterator[Met]:
    """All further functions of the program's files."""
    left = _MOST
    for name, module in list(sys.modules.items()):
        inside = module.__dict__ if type(module) is type(sys) else {}
        file = inside.get("__file__")
        # Python takes the file of the main module away when that has ended
        if name != "__main__" and (type(file) is not str or not files.is_program(file)):
            continue
        for code in _codes(inside.values()):
            if code not in known and left and files.is_program(code.co_filename):
                left -= 1
                known.add(code)
                function = getattr(code, "co_qualname", code.co_name)
                yield code, function, os.path.abspath(code.co_filename)


def _codes(values: Iterable[object]) -> Iterator[CodeType]:
    """The codes of functions, of the methods of classes, and of what is defined in these."""
    for value in list(values):
        if issubclass(type(value), type):
            members = list(type.__dict__["__dict__"].__get__(value).values())
        else:
            members = [value]
        for one in members:
            function = _function_of(one)
            if function is not None:
                yield from _nested(function.__code__)


def _function_of(one: Any) -> FunctionType | None:
    """The function that a member of a class or a decorator has wrapped.

    Types are told by identity: `in` would ask a metaclass of the program whether they are equal.
    """
    for _ in range(MOST_WRAPPERS):  # what wraps itself has no end
        if type(one) is staticmethod or type(one) is classmethod:
            one = one.__func__
        elif type(one) is _function and "__wrapped__" in one.__dict__:
            one = one.__dict__["__wrapped__"]
        else:
            break
    return one if type(one) is _function else None


def _nested(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if type(constant) is type(code):
            yield from _nested(constant)
