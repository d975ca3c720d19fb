"""What a function passes on: lines of calls whose result is an argument of another call.

Read from the bytecode, as names: what an object keeps that a method changed is not seen.
"""

from __future__ import annotations

import bisect
import opcode

from . import branches, bytecode, places

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import CodeType
    from typing import Dict, List, Tuple

    _Lines = Tuple[int, int]
    _Made = Dict[str, List[Tuple[int, int]]]
    """By variable where something is put into it, and the call that has made that."""

_MOST = 64
"""Pairs of lines that are kept of a function."""

_WRITERS = 4

_GLOBAL = {"STORE_NAME", "STORE_GLOBAL"}

_VARIABLES = (bytecode.LOCAL, bytecode.GLOBAL)
_PUTS = frozenset(
    "append appendleft extend extendleft insert add put put_nowait push store remember".split()
)
"""Methods that put what they are given into what they are of; others may do anything with it."""
_DROPS = bytes([opcode.opmap["POP_TOP"]])

_names = opcode.opname


def of_code(code: CodeType, loops: list[_Lines]) -> list[_Lines]:
    """Lines of a call and of one that takes its result: by a variable, or at once (one line).

    What a method is given whose own result nobody takes, as `list.append`, its variable holds.
    `loops` are the first and last instructions of the function's: what comes behind in the source
    comes before in the next turn.
    """
    if not bytecode.is_known() or len(code.co_code) > bytecode.LONGEST:
        return []
    calls = [place for place in range(0, len(code.co_code), 2) if _is_call(code, place)]
    lines = dict(zip(calls, places.lines_of(code, calls)))
    made: _Made = {}
    for place in calls:
        for name in stored(code, place):
            made.setdefault(name, []).append((place, place))
    given = {place: owner for place in calls for owner in _given(code, place)}
    for place, owner in given.items():
        for begin in _taken(code, place, made, -1):
            bisect.insort(made.setdefault(owner, []), (place, begin))
    found: dict[_Lines, bool] = {}
    for place in calls:
        end = max([end for start, end in loops if start <= place], default=-1)
        for begin in _taken(code, place, made, end):
            pair = lines[begin], lines[place]
            found[pair] = found.get(pair, False) or place <= end
    # what comes once is left out before what goes round
    return sorted(sorted(found, key=lambda pair: not found[pair])[:_MOST])


def _is_call(code: CodeType, place: int) -> bool:
    name, argument = _names[code.co_code[place]], branches.argument(code.co_code, place)
    return name != "PRECALL" and bool(bytecode.call_shape(name, argument)[1])


def _given(code: CodeType, place: int) -> list[str]:
    """The variable that something is put into at an offset, as `list.append` does."""
    raw = code.co_code
    behind = bytecode.behind(raw, place + 2, bytecode.NO_OPERATION)
    called = bytecode.called(code, place) if raw[behind : behind + 1] == _DROPS else None
    if called is None or called.root[0] not in _VARIABLES:
        return []
    if not called.attributes or called.attributes[-1] not in _PUTS:
        return []
    return [bytecode.name(code, (called.root[1], *called.attributes[:-1]))]


def _taken(code: CodeType, place: int, made: _Made, end: int) -> set[int]:
    """The calls whose results a call takes; itself, where it takes one at once.

    Of those that put something into the same variable the last few before it count, as branches
    have one each, and of those behind it the last few in the loop around it, which ends at `end`.
    """
    instructions = bytecode.taken(code, place) or []
    is_nested = any(bytecode.call_shape(name, argument)[1] for name, argument in instructions)
    found = {place} if is_nested else set()
    for path in bytecode.paths(code, instructions):
        parts = bytecode.name(code, path).split(".")
        for count in range(1, len(parts) + 1):
            writers = made.get(".".join(parts[:count]), [])
            behind = bisect.bisect_right(writers, (place, place))
            later = writers[behind : bisect.bisect_right(writers, (end, end))]
            few = writers[max(0, behind - _WRITERS) : behind] + later[-_WRITERS:]
            found.update([begin for _, begin in few])
    return found


def stored(code: CodeType, place: int) -> list[str]:
    """The variables that the result of a call is put into at once: all that it is split into."""
    raw, wanted = code.co_code, 1
    owner: list[tuple[str, int]] = []
    found: list[str] = []
    for at in range(place + 2, len(raw), 2):
        name, argument = _names[raw[at]], branches.argument(raw, at)
        if name in bytecode.NO_OPERATION:
            continue
        if name == "UNPACK_SEQUENCE":
            wanted = argument
            continue
        if name.startswith("LOAD_"):
            owner.append((name, argument))
            continue
        names, owner = _put(code, name, argument, owner)
        found += names
        if len(found) >= wanted or not names:
            break
    return found


def _put(
    code: CodeType, name: str, argument: int, owner: list[tuple[str, int]]
) -> tuple[list[str], list[tuple[str, int]]]:
    """What an instruction puts a value into, and whose attribute the next one may be."""
    if name == "STORE_ATTR":
        owners = bytecode.paths(code, owner)[-1:]
        return [f"{bytecode.name(code, one)}.{code.co_names[argument]}" for one in owners], []
    if name in _GLOBAL:
        return [code.co_names[argument]], []
    if name == "STORE_FAST_LOAD_FAST":
        return [code.co_varnames[argument >> 4]], [("LOAD_FAST", argument & 15)]
    numbers = {
        "STORE_FAST": [("LOAD_FAST", argument)],
        "STORE_FAST_STORE_FAST": [("LOAD_FAST", argument >> 4), ("LOAD_FAST", argument & 15)],
        "STORE_DEREF": [("LOAD_DEREF", argument)],
    }
    return [bytecode.name(code, path) for path in bytecode.paths(code, numbers.get(name, []))], []
